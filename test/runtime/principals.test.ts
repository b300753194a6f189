/** Issue 19.5: the principal of calls, messages and inputs is in the durable events, however deep a call is made. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import type { ToolContext } from "../../src/core/context.ts";
import type { ExecuteOptions } from "../../src/call/execute-options.ts";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { sessionWithin } from "../../src/runtime/session-within.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { testRuntime, tool } from "./bench-runtime.ts";

const PRINCIPAL = "key:ada";

function starts(events: readonly { readonly type: string }[]): readonly (string | undefined)[] {
  return events.flatMap((event) => (isStart(event) ? [`${event.call.name} ${event.principal ?? "-"}`] : []));
}

function isStart(event: { readonly type: string }): event is SessionEvent & { readonly type: "call-start" } {
  return event.type === "call-start";
}

test("issue 19.5 a principal that is not a string of 1 to 1,024 characters is rejected before anything starts", async () => {
  const { runtime, events } = testRuntime({ tools: [tool("look", () => 1)] });
  const session = runtime.session("s");
  const wrong: readonly unknown[] = ["", "x".repeat(1_025), 7, {}];
  for (const principal of wrong) {
    const options = { principal } as { readonly principal: string };
    const refused = { code: "invalid_argument", message: expect.stringContaining('The option "principal"') };
    await expect(session.execute({ name: "look" }, options)).rejects.toMatchObject(refused);
    await expect(session.addMessage({ role: "user", content: "hi" }, options)).rejects.toMatchObject(refused);
    await expect(session.receive({ role: "user", content: "hi" }, options)).rejects.toMatchObject(refused);
    expect(() => runtime.jobs.send("none", 1, options)).toThrow('The option "principal" of jobs.send()');
  }
  expect(events).toEqual([]);
});

test("issue 19.5 nested calls have the principal of their outer call, in other sessions and through delegates too", async () => {
  const model = scriptedModel([{ calls: [{ name: "default::look", input: {} }] }, { text: "Done." }]);
  const tools = [
    tool("look", () => 1),
    tool("within", async (_input: unknown, context: ToolContext) => (await context.execute({ name: "look", input: {} })).output),
    tool("beside", async () => (await runtime.session("other").execute({ name: "look", input: {} })).output),
    tool("free", async () => (await runtime.execute({ name: "within", input: {} })).status),
    delegateTool({ name: "work", description: "Works.", model }),
  ];
  const { runtime, events } = testRuntime({ tools });
  const session = runtime.session("s");
  for (const name of ["within", "beside", "free"]) await session.execute({ name, input: {} }, { principal: PRINCIPAL });
  await session.execute({ name: "work", input: { task: "Look." } }, { principal: PRINCIPAL });
  await session.execute({ name: "within", input: {} });
  const named = starts(events);
  expect(named.slice(0, -2).every((start) => start?.endsWith(PRINCIPAL) === true)).toBe(true);
  expect(named.filter((start) => start === `look ${PRINCIPAL}`)).toHaveLength(3);
  expect(named.filter((start) => start === `default::look ${PRINCIPAL}`)).toHaveLength(1);
  expect(named.slice(-2)).toEqual(["within -", "look -"]);
});

test("issue 19.5 visibility rules of an outer call also apply to a nested call that has a principal and no rules", async () => {
  const tools = [
    tool("look", () => 1),
    tool("outer", async () => (await other.execute({ name: "inner", input: {} })).output),
    tool("inner", async () => (await session.execute({ name: "look", input: {} })).error?.code ?? "ran"),
  ];
  const { runtime } = testRuntime({ tools });
  const [session, other] = [runtime.session("s"), runtime.session("other")];
  const result = await session.execute({ name: "outer", input: {} }, { allow: { deny: ["default::look"] }, principal: PRINCIPAL });
  expect(result.output).toBe("permission_denied");
});

test.each([
  ["that are not stored", false, {}],
  ["that are stored", false, { store: memoryStore() }],
  ["and in their branches", true, {}],
] as const)(
  "issue 19.5 visibility rules of a call apply in the sessions that its handler begins, at any depth, %s",
  async (_, isForked, setup) => {
    const within = (name: string) => async (_input: unknown, context: ToolContext) => {
      const inner = await sessionWithin(context);
      try {
        const { output, error } = await (isForked ? inner.fork() : inner).execute({ name, input: {} });
        return output ?? error?.code;
      } finally {
        await inner.close();
      }
    };
    const tools = [tool("look", () => "ran"), tool("near", within("look")), tool("far", within("near"))];
    const session = testRuntime({ tools, ...setup }).runtime.session("s");
    const allow = { deny: ["default::look"] };
    const run = async (options: ExecuteOptions): Promise<unknown> =>
      [await session.execute({ name: "near", input: {} }, options), await session.execute({ name: "far", input: {} }, options)].map(
        ({ output }) => output,
      );
    expect(await run({ allow })).toEqual(["permission_denied", "permission_denied"]);
    expect(await run({})).toEqual(["ran", "ran"]);
  },
);

test("issue 19.5 an interrupted call and its nested calls run again with their original principal", async () => {
  const store = memoryStore();
  const { promise: hangs } = Promise.withResolvers<never>();
  let first = true;
  const begun = Promise.withResolvers<void>();
  const tools = [
    tool("look", () => 1),
    tool(
      "twice",
      async (_input: unknown, context: ToolContext) => {
        if (!first) return (await context.execute({ name: "look", input: {} })).output;
        first = false;
        begun.resolve();
        return await hangs;
      },
      { effects: { reads: ["a"] } },
    ),
  ];
  const before = testRuntime({ store, tools });
  void before.runtime
    .session("s")
    .execute({ name: "twice", input: {} }, { principal: PRINCIPAL })
    .catch(() => {});
  await begun.promise;
  const after = testRuntime({ store, tools, ports: before.ports });
  const session = await after.runtime.resume("s", { takeOver: true });
  expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
  const { events } = await store.read("s");
  expect(starts(events)).toEqual([`twice ${PRINCIPAL}`, `look ${PRINCIPAL}`]);
});

test("issue 19.5 an interrupted call and its nested calls run again with their original visibility rules", async () => {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  let ran = 0;
  const twice = async (_input: unknown, context: ToolContext): Promise<unknown> => {
    if (ran++ > 0) return (await context.execute({ name: "look", input: {} })).error?.code ?? "ran";
    begun.resolve();
    return await new Promise<never>(() => {});
  };
  const tools = [tool("look", () => 1), tool("twice", twice, { effects: { reads: ["a"] } })];
  const allow = { allow: ["*"], deny: ["default::look"] };
  const before = testRuntime({ store, tools });
  void before.runtime
    .session("s")
    .execute({ name: "twice", input: {} }, { principal: PRINCIPAL, allow })
    .catch(() => {});
  await begun.promise;
  const after = testRuntime({ store, tools, ports: before.ports });
  const session = await after.runtime.resume("s", { takeOver: true });
  expect(session.history.map(({ call, result }) => [call.name, result?.output ?? result?.error?.code])).toEqual([
    ["twice", "permission_denied"],
    ["look", "permission_denied"],
  ]);
});

test("issue 19.5 a resumed call has its original visibility rules once, not twice", async () => {
  const store = memoryStore();
  const begun = Promise.withResolvers<void>();
  const twice = async (_input: unknown, context: ToolContext): Promise<unknown> => {
    await context.execute({ name: "look", input: {} });
    begun.resolve();
    return await new Promise<never>(() => {});
  };
  const tools = [tool("look", () => 1), tool("twice", twice, { effects: { reads: ["a"] } })];
  const allow = { allow: ["*"] };
  const before = testRuntime({ store, tools });
  void before.runtime
    .session("s")
    .execute({ name: "twice", input: {} }, { allow })
    .catch(() => {});
  await begun.promise;
  const after = testRuntime({
    store,
    tools: [tool("look", () => 1), tool("twice", (_input, context) => context.execute({ name: "look", input: {} }))],
    ports: before.ports,
  });
  await after.runtime.resume("s", { takeOver: true, allow });
  const layers = [...before.events, ...after.events].flatMap((event) => (event.type === "call-start" ? [event.allow] : []));
  expect(layers).toEqual([[allow], [allow], [allow]]);
});

test("issue 19.5 messages that are added or received keep their principal", async () => {
  const { runtime, events } = testRuntime({ store: memoryStore(), tools: [tool("look", () => 1)] });
  const session = runtime.session("s");
  await session.addMessage({ role: "user", content: "hi" }, { principal: PRINCIPAL });
  await session.receive({ role: "user", content: "later" }, { sender: "Ada", principal: PRINCIPAL });
  const kept = events.flatMap((event) => ("principal" in event ? [[event.type, event.principal]] : []));
  expect(kept).toEqual([
    ["message-add", PRINCIPAL],
    ["inbox-add", PRINCIPAL],
  ]);
});
