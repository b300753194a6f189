/** Titles of sessions for lists: what is read for them, how often and how many at a time. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { Store } from "../../../src/core/store/store.ts";
import type { ApiSession } from "../../../src/server/api/openapi/component-types.ts";
import { SessionTitles } from "../../../src/server/api/sessions/session-titles.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { settle } from "../../../src/testing/fake-ports.ts";
import { gate } from "../../runtime/bench-runtime.ts";

const said = (sessionId: string, role: "user" | "system"): SessionEvent => ({
  type: "message-add",
  sessionId,
  at: 1,
  message: { role, content: "hello" },
});

const session = (id: string, length: number): ApiSession => ({ id, open: false, createdAt: 1, length });

/** A store of which reads are counted and can be held up. @param before called before each read */
function watched(before: () => Promise<void>): { readonly store: Store; readonly reads: string[] } {
  const store = memoryStore();
  const reads: string[] = [];
  const read = store.read.bind(store);
  store.read = async (id, options) => {
    reads.push(id);
    await before();
    return read(id, options);
  };
  return { store, reads };
}

test("issue 20.2 a session whose log could not be read once has its title in the next list", async () => {
  let isDown = true;
  const { store } = watched(async () => {
    if (isDown) throw new Error("down");
  });
  store.create("long", { at: 1, durability: "sync" }).append(Array.from({ length: 10 }, () => said("long", "user")));
  const titles = new SessionTitles(store);
  expect(await titles.withTitle(session("long", 10))).toEqual(session("long", 10));
  isDown = false;
  expect(await titles.withTitle(session("long", 10))).toEqual({ ...session("long", 10), title: "hello" });
});

test("issue 20.2 a short log without a title is read again only when it has become longer", async () => {
  const { store, reads } = watched(async () => {});
  const log = store.create("short", { at: 1, durability: "sync" });
  log.append([said("short", "system")]);
  const titles = new SessionTitles(store);
  for (const _ of [1, 2, 3]) expect(await titles.withTitle(session("short", 1))).toEqual(session("short", 1));
  expect(reads).toEqual(["short"]);
  log.append([said("short", "user")]);
  for (const _ of [1, 2, 3]) expect(await titles.withTitle(session("short", 2))).toMatchObject({ title: "hello" });
  expect(reads).toEqual(["short", "short"]);
});

test("issue 20.2 a log that is damaged near its beginning is read once for its title", async () => {
  const { store, reads } = watched(async () => {});
  store.create("damaged", { at: 1, durability: "sync" }).append([said("damaged", "system")]);
  const read = store.read.bind(store);
  store.read = async (id, options) => ({ ...(await read(id, options)), damage: { position: 2, reason: "its checksum is another" } });
  const titles = new SessionTitles(store);
  for (const _ of [1, 2]) expect(await titles.withTitle(session("damaged", 10))).toEqual(session("damaged", 10));
  expect(reads).toEqual(["damaged"]);
});

test("issue 20.2 at most 8 logs are read at a time for the titles of all lists together, and each once", async () => {
  const held = gate();
  let [now, most] = [0, 0];
  const { store, reads } = watched(async () => {
    most = Math.max(most, ++now);
    await held.promise;
    now--;
  });
  const ids = Array.from({ length: 40 }, (_, index) => `session ${index}`);
  for (const id of ids) store.create(id, { at: 1, durability: "sync" }).append([said(id, "user")]);
  const titles = new SessionTitles(store);
  const lists = [ids, ids.toReversed()].map((list) => Promise.all(list.map((id) => titles.withTitle(session(id, 1)))));
  await settle();
  expect(reads).toHaveLength(8);
  held.open();
  for (const list of await Promise.all(lists)) expect(new Set(list.map(({ title }) => title))).toEqual(new Set(["hello"]));
  expect([most, reads.toSorted()]).toEqual([8, ids.toSorted()]);
});
