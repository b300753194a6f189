/** After a crash: what was decided is not decided again, and what was not yet decided is not taken for allowed. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import type { Effects } from "../../../src/core/resources/effects.ts";
import type { Hook } from "../../../src/core/hook.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import type { RuntimeOptions } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

type Process = (session: () => RuntimeSession) => RuntimeOptions;

const never = (): Promise<never> => new Promise(() => {});
const always = ["*::burn"];
const composite = (name: string, execute: NonNullable<Tool["execute"]>): Tool => ({
  name,
  description: name,
  inputSchema: {},
  composite: true,
  execute,
});
const burning = { writes: ["db"], destructive: true } satisfies Effects;

/** Runs calls in a process that is killed once they go no further, and resumes the session in another one. */
async function killed(run: (session: RuntimeSession) => Promise<unknown>, first: Process, second: Process): Promise<RuntimeSession> {
  const store = new FailingStore();
  const before: RuntimeSession = testRuntime({ ...first(() => before), store }).runtime.session("s");
  await before.addMessage({ role: "user", content: "go" });
  void run(before).catch(() => {});
  await settle();
  await store.logs.get("s")?.whenDurable();
  let ids = 0;
  const ports = { ids: { next: (prefix: string) => `${prefix}_late${++ids}` } };
  return await testRuntime({ ...second(() => before), ports, store: store.crash() }).runtime.resume("s");
}

const outcomes = (session: RuntimeSession): readonly unknown[] =>
  session.history.map(({ call, result }) => [call.name, result?.status, result?.error?.code ?? result?.output]);

const single = (session: RuntimeSession): Promise<unknown> => session.execute({ name: "burn" });
const message = (session: RuntimeSession): Promise<unknown> =>
  session.turn(async (turn) => {
    const round = turn.round();
    round.add({ name: "burn", input: {} });
    await round.end({ content: "", finish: "calls", usage: { inputTokens: 1, outputTokens: 1 } });
  });

test.each(
  [false, true].flatMap((composite) =>
    [single, message].flatMap((run) => (["hook", "approver"] as const).map((caller) => ({ composite, run, how: run.name, caller }))),
  ),
)(
  "a call that was not approved is asked about again, even if its $caller made calls before ($how, composite: $composite)",
  async ({ composite: isComposite, run, caller }) => {
    const ran: string[] = [];
    const asked: string[] = [];
    const burn = (): number => ran.push("burn");
    const tools: readonly Tool[] = [
      tool("look", () => "seen"),
      isComposite ? composite("burn", burn) : tool("burn", burn, { effects: burning }),
    ];
    const judge =
      (session: () => RuntimeSession): NonNullable<Hook["beforeCall"]> =>
      async ({ name }) => {
        if (name === "burn") await session().execute({ name: "look" });
      };
    const session = await killed(
      run,
      (current) => ({
        tools,
        ...(caller === "hook" ? { hooks: [{ name: "judge", beforeCall: judge(current) }] } : {}),
        approval: {
          always,
          approve: async () => {
            if (caller === "approver") await current().execute({ name: "look" });
            return never();
          },
        },
      }),
      () => ({ tools, approval: { always, approve: ({ toolName }) => (asked.push(toolName), "deny") } }),
    );
    expect([outcomes(session)[0], ran, asked]).toEqual([["burn", "error", "approval_denied"], [], ["default::burn"]]);
  },
);

test("a composite call whose handler made calls had been approved, and is not asked about again", async () => {
  let asked = 0;
  const tools = (isBack: boolean): readonly Tool[] => [
    tool("look", () => (isBack ? "seen" : never())),
    composite("burn", async (_, { execute }) => (await execute({ name: "look" })).output),
  ];
  const approve = (): "allow-once" => (asked++, "allow-once");
  const options =
    (isBack: boolean): Process =>
    () => ({ tools: tools(isBack), approval: { always, approve } });
  const session = await killed(single, options(false), options(true));
  expect([outcomes(session)[0], asked]).toEqual([["burn", "ok", "seen"], 1]);
});

test.each([
  ["of its call", {}, 11],
  ["that its caller makes of it", { rewriteInput: () => ({ n: 2 }) }, 12],
])("hooks do not change a call dispatched with an intent, whose input was that %s", async (_, options, paid) => {
  const got: unknown[] = [];
  const fee = (added: number): Hook => ({
    name: "fee",
    beforeCall: (call) => ({ ...call, name: "charge", input: { n: amountOf(call) + added } }),
  });
  const amountOf = ({ input }: ToolCall): number => Number((input as JsonObject)["n"]);
  const charge = (isBack: boolean): Tool =>
    tool("charge", ({ n }, { idempotencyKey }) => (got.push([n, idempotencyKey]), isBack ? n : never()), {
      effects: {
        writes: ["bank"],
        reconcile: ({ input, idempotencyKey }) => (got.push([input["n"], idempotencyKey]), { happened: false }),
      },
    });
  const process =
    (isBack: boolean): Process =>
    () => ({ tools: [charge(isBack)], hooks: [fee(isBack ? 20 : 10)] });
  const session = await killed((one) => one.execute([{ name: "pay", input: { n: 1 } }], options), process(false), process(true));
  expect([outcomes(session), got]).toEqual([[["pay", "ok", paid]], [got[0], got[0], got[0]]]);
});

describe("resuming a strict batch", () => {
  const paying = (isBack: boolean, more: Partial<Tool> = {}): readonly Tool[] => [
    tool("book", () => "booked", { inputSchema: { type: "object", required: ["n"] } }),
    tool("pay", () => (isBack ? "paid" : never()), more),
  ];
  const slow: Hook = { name: "slow", beforeCall: ({ name }) => (name === "pay" ? never() : undefined) };
  const strictly =
    (book: object) =>
    (session: RuntimeSession): Promise<unknown> =>
      session.execute([{ name: "book", input: book }, { name: "pay" }], { strict: true });

  test("does not run a call that was not dispatched, as another was rejected or may have been", async () => {
    const run = (book: object): Promise<RuntimeSession> =>
      killed(
        strictly(book),
        () => ({ tools: paying(false), hooks: [slow] }),
        () => ({ tools: paying(true) }),
      );
    expect(outcomes(await run({}))).toEqual([
      ["book", "error", "invalid_input"],
      ["pay", "cancelled", "cancelled"],
    ]);
    expect(outcomes(await run({ n: 1 }))).toEqual([
      ["book", "cancelled", "cancelled"],
      ["pay", "cancelled", "cancelled"],
    ]);
  });

  test("continues a call whose batch had been validated: it has an intent, or waits for approval", async () => {
    const effects = { writes: ["bank"], reconcile: () => ({ happened: false }) } satisfies Effects;
    const run = (more: Partial<Tool>, options: RuntimeOptions = {}): Promise<RuntimeSession> =>
      killed(
        strictly({ n: 1 }),
        () => ({ tools: paying(false, more), ...options }),
        () => ({ tools: paying(true, more), approval: { approve: () => "allow-once" } }),
      );
    const sound = [
      ["book", "ok", "booked"],
      ["pay", "ok", "paid"],
    ];
    expect(outcomes(await run({ effects }))).toEqual(sound);
    expect(outcomes(await run({ effects: burning }, { approval: { approve: never } }))).toEqual(sound);
  });
});

describe("in a turn that a crash cut off", () => {
  test("a call of a message runs although another one of the message had ended the turn", async () => {
    const ran: string[] = [];
    const tools = (isBack: boolean): readonly Tool[] => [
      tool("stuck", () => (isBack ? ran.push("stuck") : never())),
      tool("finish", () => ran.push("finish"), { endsTurn: true }),
    ];
    const session = await killed(
      (one) => one.execute([{ name: "stuck" }, { name: "finish" }]),
      () => ({ tools: tools(false) }),
      () => ({ tools: tools(true) }),
    );
    expect([outcomes(session).length, ran]).toEqual([2, ["finish", "stuck"]]);
  });

  test("a handler does not repeat a once-per-turn tool that had run in its call", async () => {
    const ran: string[] = [];
    const tools = (isBack: boolean): readonly Tool[] => [
      tool("launch", () => ran.push("launch"), { oncePerTurn: true, effects: { writes: ["l"] } }),
      tool("wait", () => (isBack ? 1 : never())),
      composite("many", async (_, { execute }) => {
        const answers: unknown[] = [];
        for (const name of ["launch", "wait", "launch"]) answers.push((await execute({ name })).error?.code ?? "ok");
        return answers;
      }),
    ];
    const session = await killed(
      (one) => one.execute({ name: "many" }),
      () => ({ tools: tools(false) }),
      () => ({ tools: tools(true) }),
    );
    expect([session.history[0]?.result?.output, ran]).toEqual([["ok", "ok", "limit_exceeded"], ["launch"]]);
  });

  test.each(["a tool", "an overload"])(
    "F0.8 a handler does not repeat %s that runs once per turn and whose use is no longer in memory",
    async (which) => {
      const ran: string[] = [];
      const input = { rocket: "A" };
      const takes = (key: string): Tool["inputSchema"] => ({ type: "object", properties: { [key]: {} }, required: [key] });
      const launch = tool("launch", () => ran.push("launch"), {
        inputSchema: takes("rocket"),
        oncePerTurn: true,
        effects: { writes: ["l"] },
      });
      const toolsets = (isBack: boolean): readonly Toolset[] => {
        const look = which === "a tool" ? [] : [tool("launch", () => ran.push("look"), { inputSchema: takes("look") })];
        const wait = tool("wait", () => (isBack ? 1 : never()));
        const many = composite("many", async (_, { execute }) => {
          const answers: unknown[] = [];
          for (const name of ["pad::launch", "pad::wait", "pad::launch"])
            answers.push((await execute({ name, input })).error?.code ?? "ok");
          return answers;
        });
        return [{ name: "pad", overloads: true, tools: [...look, launch, wait, many] }];
      };
      const session = await killed(
        (one) => one.execute({ name: "pad::many" }),
        () => ({ keepEvents: 1, toolsets: toolsets(false) }),
        () => ({ keepEvents: 1, toolsets: toolsets(true) }),
      );
      const answers: unknown[] = [];
      for await (const event of session.events())
        if (event.type === "call-end" && event.result.name === "pad::many") answers.push(event.result.output);
      expect([answers, ran]).toEqual([[["ok", "ok", "limit_exceeded"]], ["launch"]]);
    },
  );

  test("F0.8 a handler does not repeat a once-per-turn overload that had run in its call", async () => {
    const ran: string[] = [];
    const takes = (key: string): Tool["inputSchema"] => ({ type: "object", properties: { [key]: {} }, required: [key] });
    const toolsets = (isBack: boolean): readonly Toolset[] => {
      const look = tool("launch", () => ran.push("look"), { inputSchema: takes("look") });
      const launch = tool("launch", () => ran.push("launch"), {
        inputSchema: takes("rocket"),
        oncePerTurn: true,
        effects: { writes: ["l"] },
      });
      const wait = tool("wait", () => (isBack ? 1 : never()));
      const many = composite("many", async (_, { execute }) => {
        const answers: unknown[] = [];
        for (const name of ["pad::launch", "pad::wait", "pad::launch"])
          answers.push((await execute({ name, input: { rocket: "A" } })).error?.code ?? "ok");
        return answers;
      });
      return [{ name: "pad", overloads: true, tools: [look, launch, wait, many] }];
    };
    const session = await killed(
      (one) => one.execute({ name: "pad::many" }),
      () => ({ toolsets: toolsets(false) }),
      () => ({ toolsets: toolsets(true) }),
    );
    expect([session.history[0]?.result?.output, ran]).toEqual([["ok", "ok", "limit_exceeded"], ["launch"]]);
  });
});

test("a resume that waits for an approval reports it, and continues with the answer", async () => {
  const store = new FailingStore();
  const tools = [tool("burn", () => "burnt", { effects: burning })];
  const before = testRuntime({ tools, store, approval: { approve: never } }).runtime.session("s");
  void single(before).catch(() => {});
  await settle();
  await store.logs.get("s")?.whenDurable();
  const {
    runtime,
    ports: { clock, log },
  } = testRuntime({ tools, store: store.crash(), approval: { approve: never } });
  const resumed = runtime.resume("s");
  await settle();
  expect(log.lines).toEqual([]);
  await clock.advance(1_000);
  expect(log.lines.map(({ message: said }) => said)).toEqual([
    'resume("s") waits: 1 interrupted call waits for approval. Answer with runtime.approvals.answer(), or through a running server.',
  ]);
  const [asked] = await runtime.approvals.pending();
  await runtime.approvals.answer({ callId: asked?.callId ?? "", digest: asked?.digest ?? "", answer: "allow" });
  expect(outcomes(await resumed)).toEqual([["burn", "ok", "burnt"]]);
});
