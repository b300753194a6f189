/** Ending a branch costs as much as the branch itself, however long the session is. Shown by what is read, never by time. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { EventLog, Store } from "../../../src/core/store/store.ts";
import { sqliteStore } from "../../../src/store/sqlite-store.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { MemoryFeed } from "../../../src/store/memory/memory-feed.ts";
import { testRuntime, tool } from "../bench-runtime.ts";

const LEAF = tool("leaf", (_input, { state }) => state.update("count", (count) => Number(count ?? 0) + 1));
const CALL = { name: "leaf", input: {} };

/** A session with many calls, and the positions from which the logs that its store has claimed since are read. */
async function longSession(store: Store) {
  const claims: unknown[] = [];
  const reads: number[] = [];
  const claim = store.claim.bind(store);
  vi.spyOn(store, "claim").mockImplementation(async (sessionId, options) => {
    claims.push(options);
    const log: EventLog = await claim(sessionId, options);
    const read = log.read.bind(log);
    vi.spyOn(log, "read").mockImplementation((range = {}) => (reads.push(range.from ?? 1), read(range)));
    return log;
  });
  const { runtime } = testRuntime({ store, tools: [LEAF] });
  onTestFinished(async () => void (await runtime.close()));
  const session = runtime.session("s");
  for (let call = 0; call < 40; call++) await session.execute(CALL);
  return { runtime, session, claims, reads };
}

test.each<[string, () => Store]>([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore({ path: ":memory:" })],
])(
  "a branch that is discarded or committed in a store (%s) is claimed unverified, and none but its own events are read",
  async (_kind, make) => {
    const { runtime, session, claims, reads } = await longSession(make());
    const discarded = session.fork();
    await discarded.execute(CALL);
    await discarded.discard();
    const closed = session.fork();
    await closed.execute(CALL);
    await closed.close();
    await runtime.sessions.forget(closed.id);
    expect(reads).toEqual([session.length + 1]); // its calls may have begun sessions of their own
    const branch = session.fork();
    await branch.execute(CALL);
    await branch.commit();
    expect(claims).toEqual(Array.from({ length: 3 }, () => ({ unverified: true })));
    expect([session.state("default", "count"), reads.length]).toEqual([41, 1]);
  },
);

test("a commit without a store copies neither the log of the session nor that of the branch", async () => {
  const { runtime } = testRuntime({ tools: [LEAF] });
  const session = runtime.session("s");
  await session.execute(CALL);
  const branch = session.fork();
  await branch.execute(CALL);
  const copies = [vi.spyOn(session, "log", "get"), vi.spyOn(branch, "log", "get")];
  await branch.commit();
  expect(copies.map(({ mock }) => mock.calls.length)).toEqual([0, 0]);
  expect(session.history.map(({ result }) => result?.status)).toEqual(["ok", "ok"]);
});

test("the feed in memory forgets a session by its events and those after them", async () => {
  const feed = new MemoryFeed();
  const entries = async (after: string): Promise<readonly string[]> => {
    const page = await feed.read({ after, limit: 100 });
    return page.entries.map(({ sessionId, position }) => `${sessionId}${position}`);
  };
  const start = await feed.latest();
  for (let position = 1; position <= 50; position++) feed.add("a", position);
  const before = await feed.latest();
  feed.add("b", 1);
  feed.add("a", 51);
  feed.add("b", 2);
  const examined = vi.spyOn(Array.prototype, "splice");
  feed.removeSession("b");
  feed.removeSession("b");
  const [{ value = [] } = {}, ...others] = examined.mock.results;
  examined.mockRestore();
  expect([value.length, others.length]).toEqual([3, 0]);
  feed.add("b", 1);
  expect(await entries(before)).toEqual(["a51", "b1"]);
  feed.removeSession("a");
  expect(await entries(start)).toEqual(["b1"]);
});
