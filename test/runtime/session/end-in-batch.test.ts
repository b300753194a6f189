/** Sessions whose end is asked for while the calls of a long batch still begin: the event loop comes round between them. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { createRuntime, type Runtime } from "../../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { tool } from "../bench-runtime.ts";

const CALLS = 12;

interface World {
  readonly runtime: Runtime;
  readonly ended: SessionEvent[];
  /** How many handlers have started. */
  started(): number;
}

/** A runtime that takes a break after each call that begins. */
function world(): World {
  let now = 0;
  let started = 0;
  const ended: SessionEvent[] = [];
  const runtime = createRuntime({
    store: memoryStore(),
    ports: { clock: { ...systemPorts.clock, now: () => (now += 30) } },
    tools: [tool("t", () => void started++)],
    timeoutMs: 0,
    circuit: false,
    onEvent: (event) => void (event.type === "call-end" && ended.push(event)),
  });
  return { runtime, ended, started: () => started };
}

const calls = Array.from({ length: CALLS }, () => ({ name: "t" }));

type End = (world: World, session: RuntimeSession) => Promise<unknown>;

const ENDS: readonly (readonly [string, End])[] = [
  ["a branch is discarded", (_world, session) => session.discard()],
  ["a session is removed", ({ runtime }, session) => runtime.sessions.forget(session.id)],
  ["the runtime is closed", ({ runtime }) => runtime.close()],
];

test.each(ENDS)("F0.36 no call of a batch starts once %s, and each has one result", async (what, end) => {
  const made = world();
  const session = made.runtime.session("s");
  await session.execute({ name: "t" });
  const one = what.startsWith("a branch") ? session.fork() : session;
  await one.execute({ name: "t" });
  const before = { started: made.started(), ended: made.ended.length };
  const answer = one.execute(calls);
  const results = answer.catch((error: unknown) => error);
  await settle();
  const begun = made.runtime.running.length;
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(CALLS);
  await end(made, one);
  await results;
  expect(made.started()).toBe(before.started);
  expect(made.ended.length - before.ended).toBe(CALLS);
  expect(new Set(made.ended.map((event) => (event.type === "call-end" ? event.callId : ""))).size).toBe(made.ended.length);
  await made.runtime.close();
});

test("F0.36 no job of a batch starts once its session is handed over, and the next owner gives each started job its result", async () => {
  const made = world();
  const session = made.runtime.session("s");
  await session.execute({ name: "t" });
  const answer = session.execute(calls, { background: true }).catch((error: unknown) => error);
  await settle();
  const { store } = made.runtime;
  const begun = made.runtime.running.length;
  expect(begun).toBeGreaterThan(0);
  expect(begun).toBeLessThan(CALLS);
  const before = made.started();
  await made.runtime.sessions.handOver("s");
  expect(made.started()).toBe(before);
  expect(await answer).toMatchObject({ code: "conflict" });
  const resumed = await made.runtime.resume("s");
  await Promise.all(resumed.jobs.map(({ id }) => made.runtime.jobs.wait(id)));
  expect(resumed.history).toHaveLength(1 + begun);
  expect(resumed.history.map(({ result }) => result?.status)).toEqual(resumed.history.map(() => "ok"));
  expect(made.started()).toBe(1 + begun);
  expect(await store?.jobs.list({ states: ["queued", "running", "waiting"] })).toEqual([]);
  await made.runtime.close();
});
