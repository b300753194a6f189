/** The turns of a session run one after the other, and those of its handlers inside their own. */
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test } from "vitest";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";

const numbers = { effects: { writes: ["session:n"] } };
const add = tool(
  "add",
  async (_, { state }) => {
    const before = Number(state.get("n") ?? 0);
    await settle();
    state.update("n", () => before + 1);
    return before + 1;
  },
  numbers,
);

test("F0.36 two executes of one session never interleave, and two sessions run concurrently", async () => {
  const { runtime } = testRuntime({ tools: [add] });
  const [one, two] = [runtime.session(), runtime.session()];
  const results = await Promise.all([one, two, one, two, one].map((session) => session.execute({ name: "add" })));
  expect(results.map((result) => result.output)).toEqual([1, 1, 2, 2, 3]);
});

test("F0.36 locks on session keys delay calls of the same session, not of another", async () => {
  const going = gate();
  let together = 0;
  let most = 0;
  const meet = tool(
    "meet",
    async () => {
      most = Math.max(most, ++together);
      await going.promise;
      together--;
    },
    numbers,
  );
  const { runtime } = testRuntime({ tools: [meet] });
  const [one, two] = [runtime.session("a/b"), runtime.session("a")];
  const pair = one.execute([{ name: "meet" }, { name: "meet" }]);
  await settle();
  expect(together).toBe(1);
  const other = two.execute({ name: "meet" });
  await settle();
  expect(together).toBe(2);
  going.open();
  await Promise.all([pair, other]);
  expect(most).toBe(2);
});

test("F0.36 a fork's session keys are its own: it runs concurrently with its parent", async () => {
  const going = gate();
  let together = 0;
  const { runtime } = testRuntime({ tools: [tool("meet", () => (together++, going.promise), numbers)] });
  const session = runtime.session();
  const both = [session.execute({ name: "meet" }), session.fork().execute({ name: "meet" })];
  await settle();
  expect(together).toBe(2);
  going.open();
  await Promise.all(both);
});

test("F0.36 turns run in the order of their requests, including messages, snapshots and single calls", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("say", ({ text }) => (text === "first" ? going.promise.then(() => text) : text))] });
  const session = runtime.session();
  const said = (text: string): Promise<unknown> => session.execute({ name: "say", input: { text } });
  const all = [
    said("first"),
    session.addMessage({ role: "user", content: "second" }),
    session.snapshot(),
    session.execute([{ name: "say", input: { text: "third" } }]),
    session.addMessage({ role: "assistant", content: "fourth" }),
  ] as const;
  going.open();
  const snapshot = await all[2];
  await Promise.all(all);
  const order = session.log.flatMap((event) => {
    if (event.type === "message-add") return [event.message.content];
    return event.type === "call-start" ? [(event.call.input as { readonly text: string }).text] : [];
  });
  expect(order).toEqual(["first", "second", "third", "fourth"]);
  expect(snapshot.events.map((event) => event.type)).toEqual(["call-start", "call-end", "message-add"]);
});

test("F0.36 ten thousand waiting turns do not overflow the stack", async () => {
  const going = gate();
  let ran = 0;
  const { runtime } = testRuntime({ tools: [tool("wait", () => going.promise), tool("count", () => ++ran)] });
  const session = runtime.session();
  const first = session.execute({ name: "wait" });
  const rest = Array.from({ length: 10_000 }, () => session.execute({ name: "count" }));
  going.open();
  await first;
  const results = await Promise.all(rest);
  expect([results.at(0)?.output, results.at(-1)?.output, ran]).toEqual([1, 10_000, 10_000]);
});

test("F0.36 a turn that is aborted while it waits ends at once as cancelled, and starts nothing", async () => {
  const going = gate();
  let ran = 0;
  const { runtime } = testRuntime({ tools: [tool("wait", () => going.promise), tool("count", () => ++ran)] });
  const session = runtime.session();
  const first = session.execute({ name: "wait" });
  const [controller, aborted] = [new AbortController(), AbortSignal.abort()];
  const waiting = session.execute([{ name: "count" }, { name: "count" }], { signal: controller.signal });
  const last = session.execute({ name: "count" });
  controller.abort();
  const results = [...(await waiting), await session.execute({ name: "count" }, { signal: aborted })];
  expect(results.map((result) => [result.status, result.attempts, result.error?.outcome])).toEqual(
    results.map(() => ["cancelled", 0, "not_started"]),
  );
  going.open();
  await first;
  expect([(await last).output, ran]).toEqual([1, 1]);
  expect(session.history.map((entry) => entry.result?.status)).toEqual(["ok", "cancelled", "cancelled", "cancelled", "ok"]);
});

test("F0.36 a turn keeps the AsyncLocalStorage context of its caller, however long it waited", async () => {
  const user = new AsyncLocalStorage<string>();
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("wait", () => going.promise), tool("who", async () => user.getStore() ?? "nobody")] });
  const session = runtime.session();
  const first = user.run("ann", () => session.execute({ name: "wait" }));
  const asked = ["bob", "cat"].map((name) => user.run(name, () => session.execute({ name: "who" })));
  const nobody = session.execute({ name: "who" });
  going.open();
  await first;
  expect((await Promise.all([...asked, nobody])).map((result) => result.output)).toEqual(["bob", "cat", "nobody"]);
});

test("F0.36 calls of a handler in its own session join its turn instead of waiting for it", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("outer", async () => (await session.execute([{ name: "inner" }, { name: "inner" }])).map((result) => result.output)),
      tool("inner", () => "in"),
    ],
  });
  const session: RuntimeSession = runtime.session();
  const [result, later] = await Promise.all([session.execute({ name: "outer" }), session.execute({ name: "inner" })]);
  expect([result.output, later.output]).toEqual([["in", "in"], "in"]);
  expect(session.history.map((entry) => entry.call.name)).toEqual(["outer", "inner", "inner", "inner"]);
});

test("F0.36 F0.34 calls of a handler join its turn through another session or a fork; in a simulation real calls are refused", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("ask-other", async () => (await other.execute({ name: "ask-back" })).output),
      tool("ask-fork", async () => (await session.fork().execute({ name: "ask-back" })).output),
      tool("ask-simulation", async () => (await session.simulate({ name: "ask-back" })).results[0]?.error?.code ?? null),
      tool("ask-back", async () => (await session.execute({ name: "answer" })).output),
      tool("answer", () => 42),
    ],
  });
  const session: RuntimeSession = runtime.session();
  const other: RuntimeSession = runtime.session();
  const results = await session.execute(["ask-other", "ask-fork", "ask-simulation"].map((name) => ({ name })));
  expect(results.map((result) => result.output)).toEqual([42, 42, "not_simulatable"]);
  expect((await runtime.simulate({ name: "ask-back" })).results[0]?.error?.code).toBe("not_simulatable");
});

test("F0.36 a call that a handler leaves unawaited becomes its own turn once the handler's turn has ended", async () => {
  const going = gate();
  let left: Promise<unknown> | undefined;
  const { runtime } = testRuntime({
    tools: [
      tool("leave", () => {
        left = going.promise.then(() => session.execute({ name: "slow" }));
        return null;
      }),
      tool("slow", async () => (running.push("slow"), settle())),
      tool("next", () => running.push("next")),
    ],
  });
  const session: RuntimeSession = runtime.session();
  const running: string[] = [];
  await session.execute({ name: "leave" });
  going.open();
  await settle();
  await session.execute({ name: "next" });
  await left;
  expect(running).toEqual(["slow", "next"]);
  expect(new Set(session.history.map((entry) => entry.turnId)).size).toBe(3);
});

test("F0.36 a waiting turn runs its calls as they were when it was requested", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("wait", () => going.promise), tool("echo", (input) => input)] });
  const session = runtime.session();
  const first = session.execute({ name: "wait" });
  const input = { list: [1] };
  const calls = [{ name: "echo", input }, { name: "echo" }];
  const [batch, single] = [session.execute(calls), session.execute({ name: "echo", input })];
  input.list.push(2);
  calls.pop();
  going.open();
  await first;
  expect([(await batch).map((result) => result.output), (await single).output]).toEqual([[{ list: [1] }, {}], { list: [1] }]);
});

test("F0.33 a batch adds each call and its result to the history, in order", async () => {
  const { runtime } = testRuntime({ tools: [add, tool("echo", (input) => input)] });
  const session = runtime.session();
  await session.execute([{ name: "add" }, { name: "echo", input: { n: 1 } }, { name: "add" }]);
  await session.execute({ name: "nothing" });
  expect(session.history.map(({ call, result }) => [call.name, result?.status, result?.output])).toEqual([
    ["add", "ok", 1],
    ["echo", "ok", { n: 1 }],
    ["add", "ok", 2],
    ["nothing", "error", undefined],
  ]);
});

test("F0.38 in a batch, a call that throws has its error, its neighbours have their results, and all are recorded", async () => {
  const { runtime } = testRuntime({ tools: [add, tool("fail", () => Promise.reject(new Error("no")))] });
  const session = runtime.session();
  const results = await session.execute([{ name: "add" }, { name: "fail" }, { name: "add" }]);
  const expected = [
    ["ok", 1, undefined],
    ["error", undefined, "execution_failed"],
    ["ok", 2, undefined],
  ];
  expect(results.map((result) => [result.status, result.output, result.error?.code])).toEqual(expected);
  expect(session.history.map(({ result }) => [result?.status, result?.output, result?.error?.code])).toEqual(expected);
});

test("F0.59 calls of a toolset with maxConcurrent 1 do not overlap across sessions, forks and simulations", async () => {
  let together = 0;
  let most = 0;
  const work = tool("work", async () => {
    most = Math.max(most, ++together);
    await settle();
    together--;
  });
  const { runtime } = testRuntime({ toolsets: [{ name: "t", maxConcurrent: 1, tools: [work] }] });
  const [one, two] = [runtime.session(), runtime.session()];
  const call = { name: "t::work" };
  await Promise.all([one.execute([call, call]), two.execute([call, call]), one.fork().execute(call), two.simulate(call)]);
  expect(most).toBe(1);
});

test("F1.32 two sessions share the runtime's data, and nothing of their state or history", async () => {
  const register = new Map<string, unknown>();
  const { runtime } = testRuntime({
    data: { register },
    tools: [
      tool("note", ({ text }, { state, data, sessionId }) => {
        state.update("text", () => String(text));
        (data["register"] as typeof register).set(sessionId, text);
        return [...(data["register"] as typeof register).keys()].sort();
      }),
      tool("recall", (_, { state }) => state.get("text") ?? null),
    ],
  });
  const [one, two] = [runtime.session("one"), runtime.session("two")];
  await one.execute({ name: "note", input: { text: "a" } });
  const shared = await two.execute({ name: "note", input: { text: "b" } });
  expect(shared.output).toEqual(["one", "two"]);
  expect([(await one.execute({ name: "recall" })).output, (await two.execute({ name: "recall" })).output]).toEqual(["a", "b"]);
  expect([one.history.length, two.history.length]).toEqual([2, 2]);
});

test("F1.32 toolsets do not see each other's state, whatever its keys", async () => {
  const set = tool("set", ({ key, value }, { state }) => state.update(String(key), () => String(value)));
  const get = tool("get", ({ key }, { state }) => state.get(String(key)) ?? null);
  const { runtime } = testRuntime({ toolsets: ["a", "a\u2028b", "__proto__"].map((name) => ({ name, tools: [set, get] })) });
  const session = runtime.session();
  for (const key of ["b\u0000k", "k", "__proto__", "constructor", ""]) {
    await session.execute({ name: "a::set", input: { key, value: key } });
    const found = await session.execute(["a::get", "a\u2028b::get", "__proto__::get"].map((name) => ({ name, input: { key } })));
    expect(found.map((result) => result.output)).toEqual([key, null, null]);
  }
  expect(await session.snapshot()).toMatchObject({
    state: {
      a: Object.fromEntries([
        ["", ""],
        ["k", "k"],
      ]),
    },
  });
});

test("F1.30 messages are validated, frozen and kept in their place among the calls", async () => {
  const { runtime, events } = testRuntime({ tools: [add] });
  const session = runtime.session("s");
  const content = [{ type: "text" as const, text: "hello" }];
  await session.addMessage({ role: "user", content });
  content[0] = { type: "text", text: "changed" };
  await session.execute({ name: "add" });
  await session.addMessage({ role: "document", content: "…", title: "notes" });
  expect(session.log.map((event) => event.type)).toEqual(["message-add", "call-start", "state-change", "call-end", "message-add"]);
  expect(events.filter((event) => event.type === "message-add").map((event) => event.message)).toEqual([
    { role: "user", content: [{ type: "text", text: "hello" }] },
    { role: "document", content: "…", title: "notes" },
  ]);
  expect(Object.isFrozen(session.log[0])).toBe(true);
  for (const wrong of [null, "hi", {}, { role: "tool", content: "x" }, { role: "user" }, { role: "user", content: "x", title: 5 }]) {
    await expect(session.addMessage(wrong as never)).rejects.toMatchObject({ code: "invalid_argument" });
  }
  expect(session.length).toBe(5);
});
