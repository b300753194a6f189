/** Sessions begin once, end once, and are refused before and after. */
import { expect, test } from "vitest";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate, testRuntime, tool } from "../bench-runtime.ts";
import { FailingStore } from "./failing-store.ts";

const echo = tool("echo", (input) => input);
const CLOSED = { code: "invalid_argument", message: 'The session "a" is closed.' };

test("F0.28 a second session with the same id is rejected and the first stays usable", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const first = runtime.session("a");
  expect(() => runtime.session("a")).toThrowError(
    expect.objectContaining({ code: "duplicate", message: 'The session "a" is open already, or is being resumed.' }),
  );
  expect((await first.execute({ name: "echo", input: { n: 1 } })).output).toEqual({ n: 1 });
  expect(() => first.fork({ id: "a" })).toThrowError(expect.objectContaining({ code: "duplicate" }));
  expect(first.history.map((entry) => entry.result?.output)).toEqual([{ n: 1 }]);
});

test("F0.28 of many concurrent creations of one session exactly one succeeds", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const begun = await Promise.allSettled(Array.from({ length: 50 }, async () => runtime.session("a")));
  expect(begun.filter((one) => one.status === "fulfilled")).toHaveLength(1);
  expect(new Set(begun.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : [])))).toEqual(new Set(["duplicate"]));
});

test("F0.28 a session that another process created first is rejected before anything runs", async () => {
  const store = new FailingStore();
  let ran = 0;
  const options = { tools: [tool("count", () => ++ran, { effects: { writes: ["n"] } })] };
  const first = createRuntime({ ...options, store }).session("a");
  await first.execute({ name: "count" });
  const second = createRuntime({ ...options, store: new FailingStore(store.disk) }).session("a");
  await expect(second.execute({ name: "count" })).rejects.toMatchObject({ code: "duplicate" });
  await expect(second.execute([{ name: "count" }])).rejects.toMatchObject({ code: "duplicate" });
  await expect(second.addMessage({ role: "user", content: "hi" })).rejects.toMatchObject({ code: "duplicate" });
  expect([ran, (await first.execute({ name: "count" })).output]).toEqual([1, 2]);
});

test("F0.28 of many concurrent resumes of one session exactly one succeeds, and the session stays open", async () => {
  const store = new FailingStore();
  const first = createRuntime({ tools: [echo], store }).session("a");
  await first.execute({ name: "echo", input: { n: 1 } });
  const runtime = createRuntime({ tools: [echo], store: store.crash() });
  const resumed = await Promise.allSettled(Array.from({ length: 10 }, () => runtime.resume("a")));
  const [winner, ...others] = resumed.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  expect(others).toEqual([]);
  expect(new Set(resumed.flatMap((one) => (one.status === "rejected" ? [one.reason.code] : [])))).toEqual(new Set(["duplicate"]));
  expect((await winner?.execute({ name: "echo", input: { n: 2 } }))?.output).toEqual({ n: 2 });
  expect(() => runtime.session("a")).toThrowError(expect.objectContaining({ code: "duplicate" }));
});

test("F0.29 closing a session repeatedly or concurrently is no error and closes its engines once", async () => {
  const ended: string[] = [];
  const engine = { kind: "own", call: () => 1, openSession: () => {}, closeSession: (id: string) => void ended.push(id) };
  const { runtime } = testRuntime({ toolsets: [{ name: "t", engine, tools: [{ name: "x", description: "", inputSchema: true }] }] });
  const session = runtime.session("a");
  await session.execute({ name: "t::x" });
  await Promise.all([session.close(), session.close()]);
  await session.close();
  await session[Symbol.asyncDispose]();
  expect([ended, session.closed]).toEqual([["a"], true]);
});

test("F0.29 a closed session's id is free again, but only after its engines have closed", async () => {
  const ending = gate();
  const said: string[] = [];
  const engine = {
    kind: "own",
    call: () => 1,
    openSession: ({ sessionId }: { readonly sessionId: string }) => void said.push(`open ${sessionId}`),
    closeSession: (id: string) => ending.promise.then(() => void said.push(`close ${id}`)),
  };
  const { runtime } = testRuntime({ toolsets: [{ name: "t", engine, tools: [{ name: "x", description: "", inputSchema: true }] }] });
  const first = runtime.session("a");
  await first.execute({ name: "t::x" });
  const closing = first.close();
  expect(() => runtime.session("a")).toThrowError(expect.objectContaining({ code: "duplicate" }));
  ending.open();
  await closing;
  await runtime.session("a").execute({ name: "t::x" });
  expect(said).toEqual(["open a", "close a", "open a"]);
});

test("F0.30 execute, simulate, fork, messages and commits of a closed session are rejected and run nothing", async () => {
  let ran = 0;
  const { runtime } = testRuntime({ tools: [tool("count", () => ++ran)] });
  const session = runtime.session("a");
  const branch = session.fork({ id: "b" });
  await branch.execute({ name: "count" });
  await session.close();
  await expect(session.execute({ name: "count" })).rejects.toMatchObject(CLOSED);
  await expect(session.execute([{ name: "count" }])).rejects.toMatchObject(CLOSED);
  await expect(session.execute({ name: "count" }, { idempotencyKey: "k" })).rejects.toMatchObject(CLOSED);
  await expect(session.simulate({ name: "count" })).rejects.toMatchObject(CLOSED);
  await expect(session.addMessage({ role: "user", content: "hi" })).rejects.toMatchObject(CLOSED);
  expect(() => session.fork()).toThrowError(expect.objectContaining(CLOSED));
  await expect(branch.commit()).rejects.toMatchObject({ code: "conflict" });
  expect([ran, session.history]).toEqual([1, []]);
});

test("F0.30 C07 resuming a session that the store does not have is not_found", async () => {
  const runtime = createRuntime({ store: new FailingStore() });
  await expect(runtime.resume("nobody's")).rejects.toMatchObject({ code: "not_found" });
  await expect(createRuntime().resume("nobody's")).rejects.toMatchObject({
    code: "invalid_argument",
    message: 'The session "nobody\'s" cannot be resumed: the runtime has no store.',
  });
});

test("F0.30 closing a runtime closes its sessions and their branches, and rejects their calls", async () => {
  const { runtime } = testRuntime({ tools: [echo] });
  const session = runtime.session("a");
  const branch = session.fork();
  await runtime.close();
  expect([session.closed, branch.closed]).toEqual([true, true]);
  await expect(session.execute({ name: "echo" })).rejects.toMatchObject(CLOSED);
});

test("F0.27 any string can be a session id, and strings that differ in anything are different sessions", async () => {
  const { runtime } = testRuntime({
    tools: [
      tool("count", (_, { state }) => {
        state.update("n", (before) => Number(before ?? 0) + 1);
        return state.get("n");
      }),
    ],
  });
  const ids = [" ", "\u0000", "\ud800", "__proto__", "constructor", "a/b", "a%2Fb", "A", "a", "é", "e\u0301", "\u2028", "x".repeat(1_024)];
  const outputs = await Promise.all(ids.map(async (id) => (await runtime.session(id).execute({ name: "count" })).output));
  expect(outputs).toEqual(ids.map(() => 1));
});

test("F0.27 an invalid session id is rejected at once", () => {
  const { runtime } = testRuntime();
  for (const id of ["", "x".repeat(1_025), 5, null, {}]) {
    expect(() => runtime.session(id as string)).toThrowError(expect.objectContaining({ code: "invalid_argument" }));
  }
});

test("F0.27 C07 a generated session id has 128 random bits per process, and is never repeated", () => {
  const runtime = createRuntime();
  const ids = Array.from({ length: 10_000 }, () => runtime.session().id);
  expect(new Set(ids).size).toBe(10_000);
  expect(ids.filter((id) => !/^session_[\w-]{22}_[0-9a-z]+$/u.test(id))).toEqual([]);
});

test("C07 a session id cannot be guessed from another one", () => {
  const runtime = createRuntime();
  const [first = "", second = ""] = Array.from({ length: 2 }, () => runtime.session().id);
  const common = first.split("").findIndex((character, at) => character !== second[at]);
  expect(first.length - common).toBeGreaterThanOrEqual(21);
});

test("F0.29 a session closed by its own handler ends with the handler's turn, and the turn's result is kept", async () => {
  const store = new FailingStore();
  const ended: string[] = [];
  const engine = {
    kind: "own",
    call: async () => (await Promise.all([session.close(), session.close()]), "done"),
    closeSession: () => void ended.push("ended"),
    openSession: () => {},
  };
  const runtime = createRuntime({
    store,
    toolsets: [{ name: "t", engine, tools: [{ name: "leave", description: "", inputSchema: true }] }],
  });
  const session = runtime.session("a");
  const result = await session.execute({ name: "t::leave" });
  expect([result.status, result.output]).toEqual(["ok", "done"]);
  await session.close();
  expect(store.disk.types("a")).toEqual(["session-start", "call-start", "call-intent", "call-end"]);
  expect(ended).toEqual(["ended"]);
  await expect(session.execute({ name: "t::leave" })).rejects.toMatchObject(CLOSED);
});

test("F0.29 closing waits for the running turn, and waiting turns are rejected", async () => {
  const going = gate();
  const { runtime } = testRuntime({ tools: [tool("slow", () => going.promise.then(() => "slow"))] });
  const session = runtime.session("a");
  const running = session.execute({ name: "slow" });
  const waiting = session.execute({ name: "slow" });
  const refused = expect(waiting).rejects.toMatchObject(CLOSED);
  let closed = false;
  const closing = session.close().then(() => (closed = true));
  await settle();
  expect(closed).toBe(false);
  going.open();
  await refused;
  await closing;
  expect([(await running).output, session.history.length]).toEqual(["slow", 1]);
});
