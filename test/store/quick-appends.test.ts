import { expect, test } from "vitest";
import { messageEvents } from "../../src/testing/store-case.ts";
import { localStore } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";

const OPTIONS = { at: 1, durability: "sync" } as const;

/** What may be found changed in the record of a session that is written again, and what is said of it. */
const CHANGES: Readonly<Record<string, string>> = {
  "created_at = 5": "corrupt_record",
  "updated_at = updated_at + 1": "corrupt_record",
  "durability = 'async'": "corrupt_record",
  "length = length - 1": "corrupt_record",
  "parent_length = 1": "corrupt_record",
  "head = 'x'": "corrupt_record",
  "checksum = 'x'": "corrupt_record",
  "owner = null": "conflict",
  "owner = 'another'": "conflict",
};

test.each(Object.entries(CHANGES))(
  "a session record with %s since its last write fails its session (%s), and no other of the group",
  async (change, code) => {
    const { store, file } = localStore(temporaryFile());
    const [one, other] = [store.create("one", OPTIONS), store.create("other", OPTIONS)];
    one.append(messageEvents("one", 1, 2));
    other.append(messageEvents("other", 1, 2));
    await other.whenDurable();
    one.append(messageEvents("one", 3, 3));
    await one.whenDurable();
    file.exec(`update haft_session set ${change} where id = '"one"'`);
    one.append(messageEvents("one", 4, 5));
    other.append(messageEvents("other", 3, 5));
    await Promise.all([expect(one.whenDurable()).rejects.toMatchObject({ code }), other.whenDurable()]);
    expect((await store.read("other")).events).toEqual(messageEvents("other", 1, 5));
    expect(file.prepare(`select count(*) as count from haft_event where session = '"one"'`).get()).toEqual({ count: 3 });
    await store.close();
  },
);

test("one group writes all events of existing sessions, new sessions and a branch", async () => {
  const { store } = localStore(temporaryFile());
  const known = store.create("known", OPTIONS);
  known.append(messageEvents("known", 1, 3));
  await known.whenDurable();
  known.append(messageEvents("known", 4, 5));
  const branch = store.create("branch", { ...OPTIONS, parent: { sessionId: "known", length: 5 } });
  const added = store.create("added", OPTIONS);
  for (const log of [branch, added]) log.append(messageEvents(log.sessionId, log.length + 1, log.length + 2));
  known.append(messageEvents("known", 6, 6));
  for (const log of [known, branch, added]) await log.whenDurable();
  expect((await store.read("known")).events).toEqual(messageEvents("known", 1, 6));
  expect((await store.read("branch")).events).toEqual([...messageEvents("known", 1, 5), ...messageEvents("branch", 6, 7)]);
  expect((await store.read("added")).events).toEqual(messageEvents("added", 1, 2));
  await store.close();
});

test("a failed commit leaves nothing behind, and is repeated together with later events", async () => {
  const { store, file } = localStore(temporaryFile());
  const log = store.create("one", OPTIONS);
  log.append(messageEvents("one", 1, 2));
  await log.whenDurable();
  file.exec("PRAGMA max_page_count = 1"); // no more than there are
  log.append(messageEvents("one", 3, 400));
  await expect(log.whenDurable()).rejects.toMatchObject({ code: "store_failed", message: expect.stringContaining("SQLITE_FULL") });
  expect((await store.read("one")).events).toEqual(messageEvents("one", 1, 2));
  file.exec("PRAGMA max_page_count = 100000");
  log.append(messageEvents("one", 401, 401));
  await log.whenDurable();
  expect((await store.read("one")).events).toEqual(messageEvents("one", 1, 401));
  await store.close();
});

test("logs that are confirmed together take one read-only statement, which detects the lost one", async () => {
  const { store, file } = localStore(temporaryFile());
  const logs = ["lost", ...Array.from({ length: 99 }, (_, index) => `kept ${index}`)].map((id) => store.create(id, OPTIONS));
  for (const log of logs) log.append(messageEvents(log.sessionId, 1, 1));
  await Promise.all(logs.map(async (log) => log.whenDurable()));
  const texts: string[] = [];
  const prepare = file.prepare.bind(file);
  file.prepare = (text) => {
    texts.push(text);
    return prepare(text);
  };
  await Promise.all(logs.map(async (log) => log.confirm?.()));
  expect(texts.map((text) => text.slice(0, 6))).toEqual(["select"]);
  file.exec(`update haft_session set owner = 'another', epoch = epoch + 1 where id = '"lost"'`);
  const ends = await Promise.allSettled(logs.map(async (log) => log.confirm?.()));
  expect(ends.filter(({ status }) => status === "rejected")).toEqual([
    { status: "rejected", reason: expect.objectContaining({ code: "conflict" }) },
  ]);
  expect(logs.filter(({ failure }) => failure !== undefined).map(({ sessionId }) => sessionId)).toEqual(["lost"]);
  await store.close();
});
