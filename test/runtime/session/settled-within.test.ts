/** Sessions that a call had begun before a crash, when nothing takes them up again: their calls get results, and nobody is asked about them. */
import { expect, onTestFinished, test, vi } from "vitest";
import { ToolError } from "../../../src/core/error.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { storedEvents } from "../../../src/session/read-events.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { useSqliteThreads } from "../../bundled-threads.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import { tool } from "../bench-runtime.ts";

useSqliteThreads();

/** Nothing here waits for a clock: after so long, it never comes. */
const PATIENT = { timeout: 30_000 };

const erase = tool("erase", () => "erased", { effects: { writes: ["notes"], destructive: true } });

const delegate: Tool = {
  name: "delegate",
  description: "Has others work.",
  inputSchema: { type: "object" },
  mode: "background",
  timeoutMs: 0,
  composite: true,
  async execute(_input, context) {
    const session = await sessionWithin(context);
    return (await session.execute({ name: "erase" })).status;
  },
};

const fail = (): never => {
  throw new Error("no");
};

const strict = { type: "object", properties: { whom: { type: "string" } }, required: ["whom"], additionalProperties: false };

/** Makes runtimes as processes over one file do, each with these tools or its own. */
function processes(tools: readonly Tool[] = []): (own?: readonly Tool[]) => Runtime {
  const path = temporaryFile();
  return (own = tools) => {
    const runtime = createRuntime({ store: sqliteStore({ path }), approval: { approve: "inbox" }, tools: own });
    onTestFinished(async () => void (await runtime.close()));
    return runtime;
  };
}

interface Fate {
  /** What the next process has in place of the tool. */
  readonly tools: readonly Tool[];
  /** Cancels the job while no process has it. */
  readonly cancelled?: true;
  readonly code: string;
}

test.each<[string, Fate]>([
  ["the job was cancelled", { tools: [erase, delegate], cancelled: true, code: "cancelled" }],
  ["its tool is gone", { tools: [erase], code: "not_found" }],
  ["its handler fails before it asks for the session", { tools: [erase, { ...delegate, execute: fail }], code: "execution_failed" }],
  ["its tool takes other arguments", { tools: [erase, { ...delegate, inputSchema: strict }], code: "invalid_input" }],
])("a session begun by a call that does not run again, as %s, is settled with it", async (_why, { tools, cancelled, code }) => {
  const open = processes();
  const first = open([erase, delegate]);
  const { id } = await first.session("s").submit({ name: "delegate" });
  await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(1), PATIENT);
  await first.sessions.handOver("s");
  const second = open(tools);
  if (cancelled === true) await second.store?.jobs.requestCancel({ id, sessionId: "s", reason: "it was cancelled" });
  const session = await second.resume("s");
  await vi.waitFor(() => expect(session.jobs).toEqual([]), PATIENT);
  expect(session.history.map(({ result }) => result?.error?.code)).toEqual([code]);
  await vi.waitFor(async () => expect(await second.approvals.pending()).toEqual([]), PATIENT);
  const types: string[] = [];
  if (second.store !== undefined) for await (const { type } of storedEvents(second.store, `s/${id}`)) types.push(type);
  expect(types).toEqual(["session-start", "call-start", "approval-ask", "call-end"]);
});

test.each([
  ["cancelled", (runtime: Runtime, id: string) => runtime.jobs.cancel(id)],
  ["ended with its session", (runtime: Runtime) => runtime.sessions.get("s")?.close()],
  ["ended with its runtime", (runtime: Runtime) => runtime.close()],
])("a session of a job that runs again and is %s before its handler opens it is settled before the runtime closes", async (_how, end) => {
  const open = processes();
  const first = open([erase, delegate]);
  const { id } = await first.session("s").submit({ name: "delegate" });
  await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(1), PATIENT);
  await first.sessions.handOver("s");
  const begun = Promise.withResolvers<void>();
  const late: Tool = {
    ...delegate,
    async execute(_input, { signal }) {
      begun.resolve();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "never";
    },
  };
  const second = open([erase, late]);
  await second.resume("s");
  await begun.promise;
  await end(second, id);
  await second.close();
  const third = open([erase, delegate]);
  const types: string[] = [];
  if (third.store !== undefined) for await (const { type } of storedEvents(third.store, `s/${id}`)) types.push(type);
  expect(types).toEqual(["session-start", "call-start", "approval-ask", "call-end"]);
});

const clean: Tool = { ...delegate, name: "clean", execute: (_input, context) => context.execute({ name: "erase" }) };

test.each<[string, Tool, string]>([
  ["in a session of its own", delegate, "session-start call-start approval-ask call-end"],
  [
    "in the session itself",
    clean,
    "session-start call-start job-start batch-start call-start approval-ask job-run call-end call-end job-end",
  ],
])("cancelling a job that no process has ends the calls of its handler %s, and withdraws their questions", async (_where, made, log) => {
  const open = processes([erase, made]);
  const first = open();
  const { id } = await first.session("s").submit({ name: made.name });
  await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(1), PATIENT);
  await first.sessions.handOver("s");
  const second = open();
  const [question] = await second.approvals.pending();
  expect(await second.jobs.cancelStored({ id })).toBe("ended");
  expect(await second.approvals.pending()).toEqual([]);
  const types: string[] = [];
  const { sessionId = "" } = question ?? {};
  if (second.store !== undefined) for await (const { type } of storedEvents(second.store, sessionId)) types.push(type);
  expect(types.join(" ")).toBe(log);
});

test("cancelling a job that no process has leaves the question of another job of its session open", async () => {
  const open = processes([erase, clean]);
  const first = open();
  const session = first.session("s");
  const [one] = [await session.submit({ name: "clean" }), await session.submit({ name: "clean" })];
  await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(2), PATIENT);
  await first.sessions.handOver("s");
  const second = open();
  await second.jobs.cancelStored({ id: one.id });
  for (const { id, digest } of await second.approvals.pending()) await second.approvals.answer({ id, digest, answer: "allow-once" });
  const resumed = await second.resume("s");
  await vi.waitFor(() => expect(resumed.jobs).toEqual([]), PATIENT);
  const ofJobs = resumed.history.filter(({ call }) => call.name === "clean");
  expect(ofJobs.map(({ result }) => result?.status)).toEqual(["cancelled", "ok"]);
});

test("if the store fails during a cancel, a second cancel withdraws the job's questions", async () => {
  const open = processes([erase, clean]);
  const first = open();
  const { id } = await first.session("s").submit({ name: "clean" });
  await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(1), PATIENT);
  await first.sessions.handOver("s");
  const second = open();
  const approvals = second.store?.approvals;
  const withdraw = vi.spyOn(approvals ?? expect.fail(), "withdrawAbandoned");
  withdraw.mockRejectedValueOnce(new ToolError("store_failed", "no"));
  await expect(second.jobs.cancelStored({ id })).rejects.toMatchObject({ code: "store_failed" });
  expect(await second.jobs.cancelStored({ id })).toBe("ended");
  expect(await second.approvals.pending()).toEqual([]);
});

test.each(["handed over", "taken over"])(
  "removing a session that was %s ends the calls of its handlers, and withdraws their questions",
  async (how) => {
    const open = processes([erase, delegate]);
    const first = open();
    const { id } = await first.session("s").submit({ name: "delegate" });
    await vi.waitFor(async () => expect(await first.approvals.pending()).toHaveLength(1), PATIENT);
    const second = open();
    if (how === "handed over") await first.sessions.handOver("s");
    else await second.store?.claim("s", { takeOver: true }).then((log) => log.close()); // the session of its call is open in the first still
    expect(await second.sessions.forget("s")).toBe(true);
    expect(await second.approvals.pending()).toEqual([]);
    const types: string[] = [];
    if (second.store !== undefined) for await (const { type } of storedEvents(second.store, `s/${id}`)) types.push(type);
    expect(types).toEqual(["session-start", "call-start", "approval-ask", "call-end"]);
  },
);
