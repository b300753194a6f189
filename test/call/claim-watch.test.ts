/** Calls whose session another process takes: over SQLite, on a clock that the test moves. */
import { setTimeout as wait } from "node:timers/promises";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFile } from "../store/temporary-file.ts";
import { tool } from "../runtime/bench-runtime.ts";

function world() {
  const path = temporaryFile();
  const clock = new FakeClock();
  const aborted: string[] = [];
  const begun: string[] = [];
  const hang = (name: string, signal: AbortSignal): Promise<never> => {
    begun.push(name);
    return new Promise((_, reject) =>
      signal.addEventListener("abort", () => {
        aborted.push(name);
        reject(signal.reason as Error);
      }),
    );
  };
  const tools = [
    tool("hang", (_input, { signal }) => hang("hang", signal)),
    tool("ask", async (_input, context) => (begun.push("ask"), await context.ask({ message: "Who?" })).action),
    tool("outer", async (_input, context) => (await context.execute({ name: "hang" })).output, {
      composite: true,
      effects: undefined as never,
    }),
  ];
  const open = (ports = {}): Runtime => {
    const runtime = createRuntime({
      store: sqliteStore({ path, busyTimeoutMs: 1_000 }),
      tools,
      ports,
      timeoutMs: 0,
      ask: () => new Promise(() => {}),
    });
    onTestFinished(async () => void (await runtime.close()));
    return runtime;
  };
  const first = open({ clock });
  /** Moves on until it holds, which it never does after so many steps: a busy machine takes long for what the store does. */
  const until = async (holds: () => boolean): Promise<void> => {
    for (let second = 0; second < 4_000 && !holds(); second++) {
      await clock.advance(1_000);
      await wait(5); // the store works in real time
    }
    expect(holds()).toBe(true);
  };
  return { first, second: open(), clock, aborted, begun, until };
}

test.each(["hang", "outer"])(
  "issue 19.4 the signal of %s, which does not wait for a person, aborts when its session is taken over",
  async (name) => {
    const { first, second, aborted, until, begun } = world();
    const session = first.session("s");
    const running = session.execute({ name });
    running.catch(() => {});
    await until(() => begun.length > 0);
    await session.eventLog?.whenDurable();
    await second.resume("s", { takeOver: true, interrupted: "settle" });
    await until(() => aborted.length > 0);
    await expect(running).rejects.toMatchObject({ code: "conflict" });
  },
);

test("issue 19.4 one check asks about each log once, however many calls run in its session, and skips ended calls", async () => {
  const { first, clock, begun } = world();
  const sessions = [first.session("a"), first.session("b")];
  const asked: string[] = [];
  for (const { id, eventLog } of sessions) {
    await eventLog?.whenDurable();
    const confirm = eventLog?.confirm?.bind(eventLog);
    Object.assign(eventLog ?? {}, { confirm: () => (asked.push(id), confirm?.()) });
    void first.sessions
      .get(id)
      ?.execute(Array.from({ length: 10 }, () => ({ name: "ask" })))
      .catch(() => {});
  }
  while (begun.length < 20) await wait(5);
  const before = clock.pending;
  await clock.advance(1_000);
  expect([asked.toSorted(), clock.pending]).toEqual([["a", "b"], before]);
  for (const { callId } of first.running) first.cancel(callId);
  await clock.advance(10_000);
  expect(asked.length).toBe(2);
});

test("issue 19.4 a log that never answers is asked again, and does not keep another log from being found lost", async () => {
  const { first, second, aborted, begun, until } = world();
  for (const id of ["silent", "other"]) {
    const session = first.session(id);
    session.execute({ name: "hang" }).catch(() => {});
    while (begun.length < (id === "silent" ? 1 : 2)) await wait(5);
    await session.eventLog?.whenDurable();
  }
  const log = first.sessions.get("silent")?.eventLog;
  const confirm = log?.confirm?.bind(log);
  let asked = 0;
  Object.assign(log ?? {}, { confirm: () => (asked++ === 0 ? new Promise(() => {}) : confirm?.()) });
  await second.resume("other", { takeOver: true, interrupted: "settle" });
  await until(() => aborted.length === 1);
  expect(asked).toBe(1);
  await second.resume("silent", { takeOver: true, interrupted: "settle" });
  await until(() => aborted.length === 2);
});
