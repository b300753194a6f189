/** A fork shares what came before and goes its own way; a commit makes its way the session's. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Engine } from "../../../src/core/engine.ts";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { JsonValue } from "../../../src/core/base/json.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const set = tool("set", ({ key, value }, { state }) => state.update(String(key), () => value as JsonValue), {
  effects: { writes: ["session:values"] },
});
const echo = tool("echo", (input) => input);
const put = (key: string, value: JsonValue) => ({ name: "set", input: { key, value } });
const said = (n: number) => ({ name: "echo", input: { n } });
const names = (session: RuntimeSession): readonly unknown[] => session.history.map((entry) => entry.call.input);

test("F0.32 forks share the past and diverge from then on, in history and state, at any depth", async () => {
  const { runtime } = testRuntime({ tools: [set, echo] });
  const session = runtime.session("s");
  await session.execute([said(1), put("k", [1])]);
  const left = session.fork({ id: "left" });
  await left.execute([said(2), put("k", [2])]);
  const leaf = left.fork();
  await Promise.all([left.execute(said(3)), leaf.execute(said(4)), session.execute([said(5), put("other", 5)])]);
  const shared = [said(1).input, put("k", [1]).input];
  expect([names(session), names(left), names(leaf)]).toEqual([
    [...shared, said(5).input, put("other", 5).input],
    [...shared, said(2).input, put("k", [2]).input, said(3).input],
    [...shared, said(2).input, put("k", [2]).input, said(4).input],
  ]);
  expect([session, left, leaf].map((one) => [one.state("default", "k"), one.state("default", "other")])).toEqual([
    [[1], 5],
    [[2], undefined],
    [[2], undefined],
  ]);
  expect(left.history.slice(0, 2)).toEqual(session.history.slice(0, 2));
  expect(left.diff()).toMatchObject({ state: [{ key: "k", before: [1], after: [2] }], calls: [{}, {}, {}], pretended: [] });
});

test("F0.32 a fork during a turn, also one taken by a handler, starts from before that turn", async () => {
  const going = gate();
  let inside: RuntimeSession | undefined;
  const slow = tool("slow", async (_, { state }) => {
    state.update("n", () => 1);
    inside = session.fork();
    await going.promise;
  });
  const { runtime } = testRuntime({ tools: [slow, echo] });
  const session: RuntimeSession = runtime.session();
  await session.execute(said(1));
  const running = session.execute({ name: "slow" });
  await settle();
  const outside = session.fork();
  going.open();
  await running;
  for (const branch of [inside, outside]) {
    expect([branch?.history.length, branch?.state("default", "n"), branch?.length]).toEqual([1, undefined, 2]);
  }
});

test("F0.32 a fork shares state values by reference until it changes them", async () => {
  const { runtime } = testRuntime({ tools: [set] });
  const session = runtime.session();
  const large = Array.from({ length: 1_000 }, (_, at) => ({ at }));
  await session.execute([put("large", large), put("small", { n: 1 })]);
  const branch = session.fork();
  expect(branch.stateMap).toBe(session.stateMap);
  await branch.execute(put("small", { n: 2 }));
  expect(branch.state("default", "large")).toBe(session.state("default", "large"));
  expect([session.state("default", "small"), branch.state("default", "small")]).toEqual([{ n: 1 }, { n: 2 }]);
});

/** Bytes in use once the garbage is gone. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

test("F0.32 a thousand forks of a long session copy nothing of it, and none retains another's memory", async () => {
  const { runtime } = testRuntime({ tools: [echo, set] });
  const session = runtime.session();
  await session.execute(
    put(
      "large",
      Array.from({ length: 10_000 }, (_, at) => at),
    ),
  );
  for (let round = 0; round < 50; round++) await session.execute(Array.from({ length: 100 }, (_, n) => said(n)));
  expect(session.length).toBeGreaterThan(10_000);
  const before = heapUsed();
  const forks = Array.from({ length: 1_000 }, () => session.fork());
  // A copy of the list of events alone would be 80 KB each.
  expect((heapUsed() - before) / forks.length).toBeLessThan(8_000);
  expect(new Set(forks.map((fork) => fork.stateMap))).toEqual(new Set([session.stateMap]));
  expect(forks.every((fork) => fork.ownLog.length === 0 && fork.length === session.length)).toBe(true);
  const [one, other] = [await forks[0]?.execute(said(-1)), forks[1]];
  expect([one?.output, other?.length, forks[0]?.length]).toEqual([{ n: -1 }, session.length, session.length + 2]);
  expect(forks[0]?.log[0]).toBe(session.log[0]);
});

test("F0.32 a chain of ten thousand forks, each of the one before, has its whole log", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  let session = runtime.session();
  for (let depth = 0; depth < 10_000; depth++) {
    await session.addMessage({ role: "user", content: String(depth) });
    session = session.fork();
  }
  await session.execute(said(1));
  expect([session.length, session.firstKept, session.log.length]).toEqual([10_002, 0, 10_002]);
  expect((await session.snapshot()).events.length).toBe(10_002);
});

test("F0.32 a fork survives the close of its parent", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const session = runtime.session();
  await session.execute(said(1));
  const branch = session.fork();
  await session.close();
  await branch.execute(said(2));
  expect(names(branch)).toEqual([{ n: 1 }, { n: 2 }]);
});

test("F0.32 a commit appends the branch with its ids and origins, runs nothing again, and closes the branch", async () => {
  const standIn: Engine = { kind: "stub", origin: "stub", call: () => "pretended" };
  let ran = 0;
  const pay = tool("pay", () => ++ran, { effects: { writes: ["money"] } });
  const { runtime, events } = testRuntime({ tools: [echo, set, pay], standIn });
  const session = runtime.session("s");
  await session.execute(said(1));
  const simulation = await session.simulate([said(2), put("k", 1), { name: "pay" }]);
  const heard = events.length;
  await simulation.commit();
  expect(session.history.map(({ callId, result }) => [callId === result?.callId, result?.output, result?.origin])).toEqual([
    [true, { n: 1 }, "live"],
    [true, { n: 2 }, "live"],
    [true, null, "live"],
    [true, "pretended", "stub"],
  ]);
  expect(session.history.slice(1)).toEqual(simulation.diff.calls);
  expect([ran, session.state("default", "k")]).toEqual([0, 1]);
  expect(events.slice(heard).map((event) => event.type)).toEqual(session.log.slice(2).map((event) => event.type));
  expect(session.log[2]).toMatchObject({ type: "branch-commit", branchId: "s~2.1", events: session.length - 3 });
  await expect(simulation.commit()).rejects.toMatchObject({ code: "invalid_argument" });
  const branch = session.fork();
  await branch.execute({ name: "pay" });
  await branch.commit();
  expect([branch.closed, ran, session.history.at(-1)?.result?.output]).toEqual([true, 1, 1]);
});

test("F0.32 a commit is rejected if the session has changed, is closed or is not the parent, and changes nothing", async () => {
  const { runtime } = testRuntime({ tools: [echo, set] });
  const session = runtime.session("s");
  const [one, two, three] = [session.fork({ id: "one" }), session.fork({ id: "two" }), session.fork({ id: "three" })];
  for (const [at, branch] of [one, two, three].entries()) await branch.execute(put("k", at));
  await one.commit();
  const { log } = session;
  await expect(two.commit()).rejects.toMatchObject({
    code: "conflict",
    message: 'The branch "two" cannot be committed: its session "s" has moved on since the branch was taken.',
  });
  expect([session.log, session.state("default", "k"), two.closed]).toEqual([log, 0, false]);
  expect((await two.execute(said(1))).output).toEqual({ n: 1 });
  await session.close();
  await expect(three.commit()).rejects.toMatchObject({ code: "conflict" });
  await expect(session.commit()).rejects.toMatchObject({ code: "invalid_argument" });
  expect(() => session.diff()).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
});

test("F0.32 of two concurrent commits of one branch, or of two branches, one succeeds", async () => {
  const { runtime } = testRuntime({ tools: [set] });
  for (const ids of [
    ["a", "a"],
    ["b", "c"],
  ]) {
    const session = runtime.session();
    const forks = new Map([...new Set(ids)].map((id) => [id, session.fork({ id })]));
    for (const branch of forks.values()) await branch.execute(put("k", branch.id));
    const commits = await Promise.allSettled(ids.map(async (id) => forks.get(id)?.commit()));
    expect(commits.map((one) => one.status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect([session.history.length, session.state("default", "k")]).toEqual([
      1,
      ids[commits.findIndex((one) => one.status === "fulfilled")],
    ]);
  }
});

test("F0.32 a commit waits for the branch's turn, takes all of it or nothing, and is refused in the branch's own handler", async () => {
  const going = gate();
  let refused: unknown;
  const slow = tool("slow", async (_, { state }) => {
    await branch.commit().catch((thrown: unknown) => (refused = thrown));
    await going.promise;
    state.update("k", () => "slow");
  });
  const { runtime } = testRuntime({ tools: [slow, set] });
  const session = runtime.session();
  const branch: RuntimeSession = session.fork();
  const running = branch.execute({ name: "slow" });
  await settle();
  const commit = branch.commit();
  const late = branch.execute(put("k", "late"));
  going.open();
  await Promise.allSettled([running, commit, late]);
  expect(refused).toMatchObject({ code: "conflict" });
  await branch.commit().catch(() => {});
  expect(session.history.every((entry) => entry.result !== undefined)).toBe(true);
  const restored = runtime.session("r", { from: await session.snapshot() });
  expect([restored.state("default", "k"), restored.history.length]).toEqual([session.state("default", "k"), session.history.length]);
});

test("F0.32 a commit is rejected at once if a running turn of its session has changed the session", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("slow", () => going.promise), set] });
  const session = runtime.session();
  const branch = session.fork();
  await branch.execute(put("k", 1));
  const running = session.execute({ name: "slow" });
  await expect(branch.commit()).rejects.toMatchObject({ code: "conflict", message: expect.stringContaining("has moved on") });
  going.open();
  await running;
  expect(session.state("default", "k")).toBe(undefined);
});

test("F0.32 the signal of a commit ends its wait for calls of the branch or its session, and nothing is changed", async () => {
  let going = gate();
  const { runtime } = testRuntime({ tools: [tool("slow", () => going.promise), set] });
  const session = runtime.session();
  const branch = session.fork({ id: "b" });
  await branch.execute(put("k", 1));
  for (const busy of [session, branch]) {
    going = gate();
    const controller = new AbortController();
    const running = busy.execute({ name: "slow" }, { recordHistory: false });
    const commit = branch.commit({ signal: controller.signal });
    await settle();
    controller.abort(new Error("it took too long"));
    await expect(commit).rejects.toMatchObject({
      code: "cancelled",
      message: 'The branch "b" was not committed: the caller aborted: it took too long',
    });
    await expect(branch.commit({ signal: controller.signal })).rejects.toMatchObject({ code: "cancelled" });
    going.open();
    await running;
    expect([session.length, branch.closed]).toEqual([0, false]);
  }
  await branch.commit({ signal: new AbortController().signal });
  expect(session.state("default", "k")).toBe(1);
});

test("F0.32 a commit is rejected if the branch changed while it waited", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("slow", () => going.promise), set] });
  const session = runtime.session();
  const branch = session.fork();
  await branch.execute(put("k", 1));
  // A turn that leaves nothing in the log: the session has not moved on when it is over.
  const running = session.execute({ name: "slow" }, { recordHistory: false });
  const commit = expect(branch.commit()).rejects.toMatchObject({ code: "conflict", hint: "Commit it when they have ended." });
  await settle();
  await branch.execute(put("k", 2));
  going.open();
  await Promise.all([running, commit]);
  expect([session.length, session.state("default", "k")]).toEqual([0, undefined]);
  await branch.commit();
  expect([session.history.length, session.state("default", "k")]).toEqual([2, 2]);
});

test("F0.32 a commit into a session whose older events are only in the store loses nothing", async () => {
  const store = new FailingStore();
  const { runtime } = testRuntime({ tools: [echo, set], store, keepEvents: 2 });
  const session = runtime.session("s");
  for (let n = 0; n < 10; n++) await session.execute(said(n));
  expect(session.firstKept).toBeGreaterThan(0);
  const simulation = await session.simulate([...Array.from({ length: 10 }, (_, n) => said(10 + n)), put("k", 1)]);
  expect(simulation.diff.calls.length).toBe(11);
  await simulation.commit();
  const branch = session.fork();
  for (let n = 20; n < 30; n++) await branch.execute(said(n));
  await branch.commit();
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  const recorded = events.flatMap((event) => (event.type === "call-start" && event.call.name === "echo" ? [event.call.input] : []));
  expect(recorded).toEqual(Array.from({ length: 30 }, (_, n) => ({ n })));
  expect(store.disk.events("s")).toEqual(events);
});

test("F0.32 a commit that the store does not record rejects, and its changes stay in the session", async () => {
  const store = new FailingStore();
  const { runtime } = testRuntime({ tools: [set], store });
  const session = runtime.session("s");
  await session.execute(put("k", 0));
  const simulation = await session.simulate(put("k", 1));
  store.appendError = new ToolError("store_failed", "disk full");
  await expect(simulation.commit()).rejects.toMatchObject({ code: "store_failed" });
  expect([session.history.length, session.state("default", "k")]).toEqual([2, 1]);
  await expect(session.execute(put("k", 2))).rejects.toMatchObject({ code: "store_failed" });
});

test.each([
  ["no store", () => ({})],
  ["a store", () => ({ store: memoryStore() })],
])("with %s, changes of a discarded branch are committed neither by a waiting commit nor by a later one", async (_, options) => {
  const entered = gate();
  const wait = tool("wait", async (__, { signal }) => {
    entered.open();
    await new Promise((___, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  });
  const { runtime } = testRuntime({ tools: [wait], ...options() });
  const session = runtime.session("s");
  const branch = session.fork({ id: "b" });
  const waiting = branch.execute({ name: "wait" });
  await entered.promise;
  const committing = branch.commit();
  const refused = expect(committing).rejects.toMatchObject({ code: "invalid_argument", message: 'The branch "b" was discarded.' });
  await branch.discard();
  expect((await waiting).status).toBe("cancelled");
  await refused;
  await expect(branch.commit()).rejects.toMatchObject({ message: 'The branch "b" was discarded.' });
  expect(session.history).toEqual([]);
});

test("a handler may discard its own branch: its result is returned, and the store forgets the branch when the call has ended", async () => {
  const store = memoryStore();
  const drop = tool("drop", async () => (await branch.discard(), "dropped"));
  const { runtime } = testRuntime({ tools: [drop], store });
  const branch = runtime.session("s").fork({ id: "b" });
  expect((await branch.execute({ name: "drop" })).output).toBe("dropped");
  await expect
    .poll(() =>
      store.read("b").then(
        () => "kept",
        (error: unknown) => ToolError.fromUnknown(error).code,
      ),
    )
    .toBe("not_found");
});
