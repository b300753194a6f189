/** A session that is closed while a call of it waits for something: the call, its caller and everyone who waits with it get one result each. */
import { expect, test } from "vitest";
import { readOnly } from "../../../src/core/resources/effects.ts";
import { ToolError } from "../../../src/core/error.ts";
import type { Tool } from "../../../src/core/tool.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { sessionWithin } from "../../../src/runtime/session-within.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { fakePorts, settle, type FakePorts } from "../../../src/testing/fake-ports.ts";
import { gate, tool } from "../bench-runtime.ts";

interface World {
  readonly runtime: Runtime;
  readonly ports: FakePorts;
  /** The session that is closed. */
  readonly session: RuntimeSession;
  /** Has what the closed one waits for, or waits for it. */
  readonly other: RuntimeSession;
  /** Lets every handler end. */
  readonly isReleased: ReturnType<typeof gate<void>>;
  /** By the id of a call, how often it has ended. */
  readonly ends: Map<string, number>;
}

function world(): World {
  const ports = fakePorts();
  const isReleased = gate();
  const ends = new Map<string, number>();
  let failures = 0;
  const held = (): Promise<string> => isReleased.promise.then(() => "done");
  const own: Partial<Tool> = { timeoutMs: 0, deadlineMs: 0 };
  const tools = [
    tool("run", held, own),
    tool("write", held, { ...own, effects: { reads: [], writes: ["file:/a"] } }),
    tool("one", held, { ...own, maxConcurrent: 1 }),
    tool("read", held, { ...own, effects: readOnly("file:/b"), cache: "runtime" }),
    tool("erase", () => "erased", { ...own, effects: { reads: [], writes: ["c"], destructive: true } }),
    // A call that is asked about becomes a job once it is allowed: this one asks as a job.
    tool("approve", async (_input, context) => (await context.execute({ name: "erase" })).output, {
      ...own,
      effects: undefined as never,
      composite: true,
    }),
    tool("elicit", async (_input, context) => (await context.ask({ message: "Who?" })).action, own),
    tool(
      "flaky",
      () => {
        if (failures++ === 0) throw new ToolError("rate_limited", "Too many.", { retryable: true, retryAfterMs: 5_000 });
        return "done";
      },
      { ...own, maxAttempts: 2 },
    ),
    tool(
      "delegate",
      async (_input, context) => {
        const inner = await sessionWithin(context);
        try {
          return (await inner.execute([{ name: "run" }, { name: "run" }], { signal: context.signal })).map(({ status }) => status).join();
        } finally {
          await inner.close();
        }
      },
      { ...own, effects: undefined as never, composite: true },
    ),
  ];
  const runtime = createRuntime({
    ports,
    store: memoryStore(),
    tools,
    approval: { approve: "inbox" },
    ask: () => isReleased.promise.then(() => ({ action: "decline" as const })),
    onEvent: (event) => void (event.type === "call-end" && ends.set(event.callId, (ends.get(event.callId) ?? 0) + 1)),
  });
  return { runtime, ports, session: runtime.session("closed"), other: runtime.session("other"), isReleased, ends };
}

async function release({ runtime, ports, isReleased }: World): Promise<void> {
  for (const { id, digest } of await runtime.approvals.pending()) await runtime.approvals.answer({ id, digest, answer: "allow-once" });
  isReleased.open();
  await ports.clock.advance(60_000);
}

/** What the session does when it is closed, what it answers when it may end, and what another session does before and behind it. */
interface Work {
  readonly calls: readonly string[];
  readonly output: string;
  readonly before?: string;
  readonly behind?: string;
}

const WORK: Readonly<Record<string, Work>> = {
  "a handler runs": { calls: ["run"], output: "done" },
  "a batch runs": { calls: ["run", "run", "run"], output: "done" },
  "a delegate's calls run": { calls: ["delegate"], output: "ok,ok" },
  "a call waits for an approval": { calls: ["approve"], output: "erased" },
  "a handler waits for an answer": { calls: ["elicit"], output: "decline" },
  "a call waits for its next attempt": { calls: ["flaky"], output: "done" },
  "a call waits for a lock": { calls: ["write"], output: "done", before: "write" },
  "a call has the lock that another waits for": { calls: ["write"], output: "done", behind: "write" },
  "a call waits for a slot": { calls: ["one"], output: "done", before: "one" },
  "a call has the slot that another waits for": { calls: ["one"], output: "done", behind: "one" },
  "a call waits for an equal one": { calls: ["read"], output: "done", before: "read" },
  "an equal call waits for its answer": { calls: ["read"], output: "done", behind: "read" },
};

const outcomes = (results: readonly { status: string; output?: unknown }[]): readonly unknown[] =>
  results.map(({ status, output }) => (status === "ok" ? output : status));

const each = <T>({ calls }: Work, value: T): readonly T[] => calls.map(() => value);

test.each(Object.entries(WORK))("F0.36 a session is closed while %s: its turn ends, and then the session", async (_what, work) => {
  const made = world();
  const before = work.before === undefined ? [] : [made.other.execute({ name: work.before })];
  await settle();
  const own = made.session.execute(work.calls.map((name) => ({ name })));
  await settle();
  const behind = work.behind === undefined ? [] : [made.other.execute({ name: work.behind })];
  await settle();
  let isClosed = false;
  const closing = made.session.close().then(() => (isClosed = true));
  await settle();
  expect([isClosed, made.ends.size]).toEqual([false, 0]);
  await expect(made.session.execute({ name: "run" })).rejects.toMatchObject({ code: "invalid_argument" });
  await release(made);
  expect(outcomes(await own)).toEqual(each(work, work.output));
  await closing;
  expect(outcomes(await Promise.all([...before, ...behind]))).toEqual([...before, ...behind].map(() => "done"));
  expect([...made.ends.values()].filter((count) => count !== 1)).toEqual([]);
  await made.runtime.close();
});

test.each(Object.entries(WORK))("F0.36 a session is closed while, in a job, %s: the job is cancelled at once", async (_what, work) => {
  const made = world();
  const before = work.before === undefined ? [] : [made.other.execute({ name: work.before })];
  await settle();
  const placeholders = await made.session.execute(
    work.calls.map((name) => ({ name })),
    { background: true },
  );
  await settle();
  const behind = work.behind === undefined ? [] : [made.other.execute({ name: work.behind })];
  await settle();
  const waits = placeholders.map(({ callId }) => made.runtime.jobs.wait(callId));
  await made.session.close();
  const ended = await Promise.all(waits);
  expect(ended.map(({ state }) => state)).toEqual(each(work, "cancelled"));
  expect(placeholders.map(({ callId }) => made.ends.get(callId))).toEqual(each(work, 1));
  expect(await made.runtime.approvals.pending()).toEqual([]);
  await release(made);
  expect(outcomes(await Promise.all([...before, ...behind]))).toEqual([...before, ...behind].map(() => "done"));
  expect([...made.ends.values()].filter((count) => count !== 1)).toEqual([]);
  expect(made.runtime.running).toEqual([]);
  await made.runtime.close();
});
