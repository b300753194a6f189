import { expect, test } from "vitest";
import type { SessionEvent } from "../../src/core/event.ts";
import { SessionLog } from "../../src/session/session-log.ts";
import { buildConversation } from "../../src/runtime/session-messages.ts";

function message(role: "user" | "system", content: string): SessionEvent {
  return { type: "message-add", sessionId: "s", at: 0, message: { role, content } };
}

test("F3.40 a log that drops its oldest events retains the system messages, and a branch those before it", () => {
  const log = new SessionLog({ keep: 4 });
  log.push(message("system", "Be brief."));
  for (let index = 0; index < 4; index++) log.push(message("user", String(index)));
  const branch = log.branch(log.length);
  log.push(message("system", "Be kind."));
  for (let index = 4; index < 12; index++) log.push(message("user", String(index)));
  const said = (of: SessionLog): readonly unknown[] =>
    buildConversation([...of.droppedSystemMessages, ...of.events()]).map((one) => ("content" in one ? one.content : one));
  expect(log.firstKept).toBeGreaterThan(5);
  expect(said(log).slice(0, 2)).toEqual(["Be brief.", "Be kind."]);
  expect(said(branch)).toEqual(["Be brief."]);
});

test("a log knows which calls were rolled back after dropping those events, and a branch only those before it", () => {
  const log = new SessionLog({ keep: 4 });
  const rollback = (callId: string): SessionEvent => ({ type: "batch-rollback", sessionId: "s", turnId: "t", at: 0, callIds: [callId] });
  log.push(rollback("first"));
  const branch = log.branch(log.length);
  const inner = branch.branch(0);
  log.push(rollback("second"));
  branch.push(rollback("own"));
  for (let index = 0; index < 12; index++) log.push(message("user", String(index)));
  const takenBack = (of: SessionLog): readonly string[] => ["first", "second", "own", "other"].filter((id) => of.wasRevoked(id));
  expect(log.firstKept).toBeGreaterThan(2);
  expect([log, branch, inner].map(takenBack)).toEqual([["first", "second"], ["first", "own"], []]);
});
