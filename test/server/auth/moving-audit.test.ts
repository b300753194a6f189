/** The audit of a store in which others write while it is read. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { ListOptions } from "../../../src/core/store/store.ts";
import { auditHandlers } from "../../../src/server/api/handlers/audit.ts";
import { readAudit } from "../../../src/server/auth/audit.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";

const AT = 1_700_000_000_000;
const BOSS = { id: "boss", name: "boss", scopes: new Set(["admin"]) };
/** More than are listed at a time. */
const SESSIONS = 502;

function message(sessionId: string, at: number): SessionEvent {
  const content = [{ type: "text", text: "Hello." }] as const;
  return { type: "message-add", sessionId, at, principal: sessionId, message: { role: "user", content } };
}

test("a session that is written to during a read of the audit is included, and no other is repeated", async () => {
  const store = memoryStore();
  const logs = Array.from({ length: SESSIONS }, (_, index) => {
    const [sessionId, at] = [`s${index}`, AT + index];
    const log = store.create(sessionId, { at, durability: "async" });
    log.append([{ type: "session-start", sessionId, at }, message(sessionId, at)]);
    return log;
  });
  const list = store.list.bind(store);
  store.list = async (options: ListOptions = {}) => {
    if ((options.offset ?? 0) > 0) logs[0]?.append([message("s0", AT + SESSIONS)]);
    return list(options);
  };
  const damaged: string[] = [];
  const entries = await readAudit(store, {}, (sessionId) => damaged.push(sessionId));
  expect(damaged).toEqual([]);
  const expected = ["s0", ...logs.keys().map((index) => `s${index}`)];
  expect(entries.map(({ principal = "" }) => principal).toSorted()).toEqual(expected.toSorted());
});

test("sessions that are removed during a read of the audit do not hide others", async () => {
  const store = memoryStore();
  for (let index = 0; index < SESSIONS; index++) {
    const [sessionId, at] = [`s${index}`, AT + index];
    const log = store.create(sessionId, { at, durability: "async" });
    log.append([{ type: "session-start", sessionId, at }, message(sessionId, at)]);
    await log.close();
  }
  const removed = [SESSIONS - 1, SESSIONS - 2];
  const read = store.read.bind(store);
  store.read = async (sessionId, options) => {
    // The last of the first page: the newest ones are in the audit by then.
    if (sessionId === `s${SESSIONS - 500}`) for (const index of removed) await store.remove(`s${index}`);
    return read(sessionId, options);
  };
  const entries = await readAudit(store, {}, () => {});
  expect(entries.map(({ principal = "" }) => principal).toSorted()).toEqual(
    Array.from({ length: SESSIONS }, (_, index) => `s${index}`).toSorted(),
  );
});

test("a session that is removed between two pages does not hide entries of the same time", async () => {
  const store = memoryStore();
  for (const sessionId of ["a", "b", "c"]) {
    const log = store.create(sessionId, { at: AT, durability: "async" });
    log.append([{ type: "session-start", sessionId, at: AT }, message(sessionId, AT), message(sessionId, AT)]);
    await log.close();
  }
  const found: (string | undefined)[] = [];
  const page = async (cursor?: string): Promise<string | undefined> => {
    const query = { limit: 3, ...(cursor === undefined ? {} : { cursor }) };
    const request = { principal: BOSS, query, signal: new AbortController().signal };
    const answer = await auditHandlers.listAudit(request as never, { store } as never); // all that it uses of a request and a server
    if (!("entries" in answer)) throw new Error("It answers with entries.");
    found.push(...answer.entries.map(({ principal }) => principal));
    return answer.next;
  };
  const next = await page();
  await store.remove("a");
  expect([await page(next), found]).toEqual([undefined, ["a", "a", "b", "b", "c", "c"]]);
});

test("a forged cursor gets no more entries than the limit, and reads no more of the store", async () => {
  const store = memoryStore();
  const calls = Array.from({ length: 1_200 }, (_, index) => ({ at: AT + index, toolName: "look", via: "api", outcome: "ok" }) as const);
  await store.access.addCalls({ calls, keep: 2_000 });
  let pages = 0;
  const read = store.access.calls.bind(store.access);
  store.access.calls = (query) => {
    pages++;
    return read(query);
  };
  const after = { at: AT * 2, sessionId: "", count: 999_999_999 };
  const entries = await readAudit(store, { limit: 2, after }, () => {});
  expect([entries.map(({ at }) => at), pages]).toEqual([[AT + 1_199, AT + 1_198], 1]);
});

test("a read of the audit stops within a long session when its signal aborts, which is no damage", async () => {
  const store = memoryStore();
  const log = store.create("long", { at: AT, durability: "async" });
  log.append([{ type: "session-start", sessionId: "long", at: AT }, message("long", AT)]);
  const stop = new AbortController();
  const read = store.read.bind(store);
  store.read = async (sessionId, options) => {
    stop.abort(new Error("enough"));
    const page = await read(sessionId, options);
    return { ...page, next: 2 };
  };
  const damaged: string[] = [];
  await expect(readAudit(store, { signal: stop.signal }, (sessionId) => damaged.push(sessionId))).rejects.toThrow("enough");
  expect(damaged).toEqual([]);
});

test("a read of the audit reports how many events it has read, over all sessions", async () => {
  const store = memoryStore();
  for (const [index, sessionId] of ["a", "b"].entries()) {
    const log = store.create(sessionId, { at: AT + index, durability: "async" });
    log.append([{ type: "session-start", sessionId, at: AT + index }, message(sessionId, AT + index), message(sessionId, AT + index)]);
  }
  const seen: number[] = [];
  await readAudit(store, { onProgress: (events) => seen.push(events) }, () => {});
  expect(seen).toEqual([3, 6]);
});
