/** Answers that are valid for their own call only, because of what the handler did, and not because of what its tool declares. */
import { describe, expect, test } from "vitest";
import type { ApprovalAnswer } from "../../src/core/approvals/ask.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { readOnly } from "../../src/core/resources/effects.ts";
import type { Engine } from "../../src/core/engine.ts";
import type { CacheScope, Tool } from "../../src/core/tool.ts";
import type { ExecuteOptions } from "../../src/call/execute-options.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { settle } from "../../src/testing/fake-ports.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

type Handler = (input: unknown, context: ToolContext) => unknown;

const wide: readonly CacheScope[] = ["runtime", "persistent"];
const writeX = tool("write_x", ({ text }, { state }) => state.update("x", () => String(text)), { effects: { writes: ["session:x"] } });
const readX = tool("read_x", (_, { state }) => state.get("x") ?? null, { effects: readOnly("session:x") });

/** A cached tool that calls another one and gives its output, or the code of its error. */
function calls(name: string, more: Partial<Tool> = {}): Tool {
  const handler: Handler = async (_input, { execute }) => {
    const { output, error } = await execute({ name });
    return error?.code ?? output;
  };
  return tool("outer", handler, { effects: readOnly("a"), cache: "runtime", ...more });
}

/** Calls a tool in the sessions "ann" and "bob", then again in "ann", with what each session wrote before. */
async function askBoth(options: RuntimeOptions, name: string): Promise<readonly unknown[]> {
  const { runtime } = testRuntime({ store: memoryStore(), ...options, tools: [...(options.tools ?? []), writeX] });
  const [ann, bob] = [runtime.session("ann"), runtime.session("bob")];
  await ann.execute({ name: "write_x", input: { text: "of ann" } });
  await bob.execute({ name: "write_x", input: { text: "of bob" } });
  const results = [await ann.execute({ name }), await bob.execute({ name }), await ann.execute({ name })];
  await runtime.close();
  return results.map(({ output, error }) => error?.code ?? output);
}

describe.each(wide)("C01 with the scope %s, another session does not get an answer", (cache) => {
  const readsState: readonly (readonly [string, Handler])[] = [
    ["state", (_, { state }) => state.get("x") ?? null],
    ["the history", (_, { history }) => history.map(({ call }) => call.input)],
  ];
  test.each(readsState)("that the handler read from %s without declaring it", async (_, handler) => {
    const [ann, bob, again] = await askBoth({ tools: [tool("peek", handler, { effects: readOnly("a"), cache })] }, "peek");
    expect([
      JSON.stringify(ann).includes("of ann"),
      JSON.stringify(bob).includes("of ann"),
      JSON.stringify(again).includes("of ann"),
    ]).toEqual([true, false, true]);
  });

  test("that a call of the handler read from state", async () => {
    expect(await askBoth({ tools: [readX, calls("read_x", { cache })] }, "outer")).toEqual(["of ann", "of bob", "of ann"]);
  });

  test.each<readonly [string, readonly Tool[]]>([
    ["state", [tool("peek", (_, { state }) => state.get("x") ?? null, { effects: readOnly("a"), cache: "turn" })]],
    ["the history", [tool("peek", (_, { history }) => history.map(({ call }) => call.input), { effects: readOnly("a"), cache: "turn" })]],
    ["state through another call", [readX, calls("read_x", { name: "peek", cache: "turn" })]],
  ])("that a call of the handler got from an equal call of its turn, whose handler read it from %s", async (_, tools) => {
    const { runtime } = testRuntime({ store: memoryStore(), tools: [...tools, writeX, calls("peek", { cache })] });
    const seen: boolean[] = [];
    for (const who of ["ann", "bob"]) {
      const session = runtime.session(who);
      await session.execute({ name: "write_x", input: { text: `of ${who}` } });
      const results = await session.execute([{ name: "peek" }, { name: "outer" }]);
      seen.push(...results.map(({ output }) => JSON.stringify(output).includes("of ann")));
    }
    await runtime.close();
    expect(seen).toEqual([true, true, false, false]);
  });

  test("that a person gave, nor the lack of one, one after the other or at once", async () => {
    const asks = tool("asks", async (_, { ask }) => await ask({ message: "Who?" }), { effects: readOnly("a"), cache });
    const { runtime } = testRuntime({ store: memoryStore(), tools: [asks, calls("asks", { cache })] });
    const by = (who: string): ExecuteOptions => ({ ask: async () => ({ action: "accept", content: { who } }) });
    for (const name of ["asks", "outer"]) {
      const seen = [await runtime.session().execute({ name })];
      seen.push(...(await Promise.all(["ann", "bob"].map((who) => runtime.session().execute({ name }, by(who))))));
      expect(seen.map(({ output }) => output)).toEqual([
        { action: "cancel" },
        { action: "accept", content: { who: "ann" } },
        { action: "accept", content: { who: "bob" } },
      ]);
    }
    await runtime.close();
  });

  test("for which a call of the handler was approved", async () => {
    const asked: string[] = [];
    const approve = async ({ sessionId }: { readonly sessionId: string }): Promise<ApprovalAnswer> => {
      asked.push(sessionId);
      return sessionId === "ann" ? "allow-once" : "deny";
    };
    const tools = [tool("secret", () => "secret", { effects: readOnly("a") }), calls("secret", { cache })];
    expect(await askBoth({ tools, approval: { approve, always: ["secret"] } }, "outer")).toEqual(["secret", "approval_denied", "secret"]);
    expect(asked).toEqual(["ann", "bob", "ann"]);
  });
});

describe("C01 another principal does not get an answer", () => {
  const data = (id: string): ExecuteOptions => ({ data: { user: id, principal: { id, scopes: new Set(["execute"]) } } });
  const engine: Engine = { kind: "test", perUser: true, call: async (_, { data: of }) => of["user"] };
  const perUser = { name: "mail", engine, tools: [{ name: "who", description: "", inputSchema: {}, effects: readOnly("a") }] };
  const who = tool("who", (_, { data: of }) => of["user"], { effects: readOnly("a"), cache: { scope: "runtime", identity: ["user"] } });

  test.each([
    ["of an engine with perUser", { toolsets: [perUser], tools: [calls("mail::who")] }, ["ann", "bob", "live"]],
    ["that is kept apart by its identity", { tools: [who, calls("who")] }, ["ann", "bob", "live"]],
    [
      "unless its caller has the same identity",
      { tools: [who, calls("who", { cache: { scope: "runtime", identity: ["user"] } })] },
      ["ann", "bob", "cache"],
    ],
  ])("%s, through a cached tool that calls its tool", async (_, options, expected) => {
    const { runtime } = testRuntime(options);
    const results = [await runtime.execute({ name: "outer" }, data("ann")), await runtime.execute({ name: "outer" }, data("bob"))];
    expect([...results.map(({ output }) => output), (await runtime.execute({ name: "outer" }, data("bob"))).origin]).toEqual(expected);
  });
});

describe("F3.17 an answer is not cached", () => {
  test("C02 if a call of the handler failed, and the next one succeeds", async () => {
    let runs = 0;
    const flaky = tool("flaky", () => (++runs === 1 ? Promise.reject(new Error("down")) : runs), {
      effects: readOnly("a"),
      maxAttempts: 1,
    });
    const { runtime } = testRuntime({ tools: [flaky, calls("flaky")] });
    const results = [await runtime.execute({ name: "outer" }), await runtime.execute({ name: "outer" })];
    expect(results.map(({ origin, output }) => [origin, output])).toEqual([
      ["live", "execution_failed"],
      ["live", 2],
    ]);
  });

  test.each<CacheScope>(["session", "runtime", "persistent"])(
    "C02 with the scope %s, if a fault changed the answer to a call of its handler",
    async (cache) => {
      const faults = { rules: [{ tools: "*inner", type: "empty_result", probability: 1 }] };
      const store = memoryStore();
      const tools = [tool("inner", () => ["real"], { effects: readOnly("a") }), calls("inner", { cache })];
      const faulty = testRuntime({ tools, faults, store }).runtime.session("first");
      for (let round = 0; round < 2; round++) {
        expect(await faulty.execute({ name: "outer" })).toMatchObject({ output: [], origin: "live" });
        await settle();
      }
      const sound = testRuntime({ tools, store }).runtime.session("second");
      expect(await sound.execute({ name: "outer" })).toMatchObject({ output: ["real"], origin: "live" });
    },
  );

  test.each([false, true])(
    "if a call of the handler writes, which an answer from the cache would not repeat (as a job: %s)",
    async (isJob) => {
      let writes = 0;
      const messages: string[] = [];
      const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void messages.push(message) };
      const write = tool("write", () => ++writes, { effects: { writes: ["b"] }, mode: isJob ? "background" : "direct" });
      const { runtime } = testRuntime({ tools: [write, calls("write")], ports: { log } });
      const session = runtime.session();
      for (let round = 0; round < 3; round++) {
        await session.execute({ name: "outer" });
      }
      await settle();
      expect(writes).toBe(3);
      if (!isJob)
        expect(messages).toEqual(["A result of default::outer was not cached: its handler called default::write, which may write."]);
      await runtime.close();
    },
  );
});

describe("F3.17 a write drops an answer", () => {
  let value = 0;
  const write = tool("write", () => ++value, { effects: { writes: ["b/1"] } });
  const read = tool("read", () => value, { effects: readOnly("b") });

  test.each<readonly [string, readonly Tool[]]>([
    ["read", [read]],
    ["middle", [read, { ...calls("read"), name: "middle" }]],
    [
      "middle",
      [
        { ...read, cache: "runtime" },
        tool("middle", async (_, { execute }) => (await execute({ name: "read" })).output, { effects: readOnly("a") }),
      ],
    ],
  ])("that a call of the handler read from the written key, through %s", async (name, tools) => {
    const { runtime } = testRuntime({ tools: [...tools, write, calls(name)] });
    const ask = async () => {
      const { origin, output } = await runtime.execute({ name: "outer" });
      return [origin, output === value];
    };
    expect([await ask(), await ask()]).toEqual([
      ["live", true],
      ["cache", true],
    ]);
    await runtime.execute({ name: "write" });
    if (name === "middle") await runtime.execute({ name }); // a hit of it must still carry what it was read from
    expect([await ask(), await ask()]).toEqual([
      ["live", true],
      ["cache", true],
    ]);
    await runtime.execute({ name: "write" });
    expect(await ask()).toEqual(["live", true]);
  });

  test("which the store keeps only if its tool declares the key too", async () => {
    const messages: string[] = [];
    const log = { debug() {}, info() {}, error() {}, warn: (message: string) => void messages.push(message) };
    const seen: unknown[] = [];
    for (const reads of [readOnly("a"), readOnly("b")]) {
      const outer = calls("read", { cache: "persistent", effects: reads });
      const { runtime } = testRuntime({ store: memoryStore(), tools: [read, outer], ports: { log } });
      for (let round = 0; round < 2; round++) seen.push((await runtime.execute({ name: "outer" })).origin);
      await runtime.close();
    }
    expect([seen, messages]).toEqual([
      ["live", "live", "live", "cache"],
      ['A result of default::outer was not cached: its handler called default::read, which reads "b": declare that too.'],
    ]);
  });
});
