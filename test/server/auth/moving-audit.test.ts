/** The audit of a store in which others write while it is read. */
import { expect, test } from "vitest";
import type { SessionEvent } from "../../../src/core/event.ts";
import type { ListOptions } from "../../../src/core/store.ts";
import { readAudit } from "../../../src/server/auth/audit.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";

const AT = 1_700_000_000_000;
/** More than are listed at a time. */
const SESSIONS = 502;

function message(sessionId: string, at: number): SessionEvent {
  const content = [{ type: "text", text: "Hello." }] as const;
  return { type: "message-add", sessionId, at, principal: sessionId, message: { role: "user", content } };
}

test("a session that is written to while the audit is read is in it, and no other is in it twice", async () => {
  const store = memoryStore();
  const logs = Array.from({ length: SESSIONS }, (_, index) => {
    const [sessionId, at] = [`s${index}`, AT + index];
    const log = store.create(sessionId, { at, durability: "async" });
    log.append([{ type: "session-start", sessionId, at }, message(sessionId, at)]);
    return log;
  });
  const list = store.list.bind(store);
  store.list = async (options: ListOptions = {}) => {
    if (options.offset === 500) logs[0]?.append([message("s0", AT + SESSIONS)]);
    return list(options);
  };
  const damaged: string[] = [];
  const entries = await readAudit(store, {}, (sessionId) => damaged.push(sessionId));
  expect(damaged).toEqual([]);
  const expected = ["s0", ...logs.keys().map((index) => `s${index}`)];
  expect(entries.map(({ principal = "" }) => principal).toSorted()).toEqual(expected.toSorted());
});
