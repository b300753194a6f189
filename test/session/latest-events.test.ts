import { expect, test, vi } from "vitest";
import { latestEvents } from "../../src/session/latest-events.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

async function sessionOf(messages: number): Promise<RuntimeSession> {
  const { runtime } = testRuntime();
  const session = runtime.session("s");
  for (let n = 0; n < messages; n++) await session.addMessage({ role: "user", content: `message ${n}` });
  return session;
}

test.each([0, 1, 31, 32, 33, 96, 97, 300])(
  "the latest events of a session of %d events are all of them, the newest first",
  async (count) => {
    const session = await sessionOf(count);
    expect([...latestEvents(session)]).toEqual(session.log.toReversed());
  },
);

test.each([0, 5, 40])("those of a branch with %d events of its own include the events before it", async (count) => {
  const session = await sessionOf(70);
  const branch = session.fork();
  for (let n = 0; n < count; n++) await branch.addMessage({ role: "user", content: `own ${n}` });
  await session.addMessage({ role: "user", content: "after the branch" });
  expect([...latestEvents(branch)]).toEqual(branch.log.toReversed());
});

test("only as many events are read as are taken", async () => {
  const session = await sessionOf(500);
  const reads = vi.spyOn(session, "logSince");
  const copies = vi.spyOn(session, "log", "get");
  const [latest] = latestEvents(session);
  expect([latest, reads.mock.calls, copies.mock.calls.length]).toEqual([session.logSince(499)?.[0], [[468, 500], [499]], 0]);
});
