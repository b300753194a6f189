/** Issue 20.2: what a chat with an agent makes of its session's events. */
import { expect, test } from "vitest";
import { ChatLog } from "../../src/dashboard/agents/chat-log.ts";
import type { LogEvent } from "../../src/dashboard/server/log-event.ts";

const place = { sessionId: "s", turnId: "t", at: 1 };

function text(position: number, words: string, more: object = {}): LogEvent {
  return { type: "round-text", ...place, position, text: words, ...more };
}

function end(content: string, more: object = {}): LogEvent {
  const usage = { inputTokens: 1, outputTokens: 1 };
  return { type: "round-end", ...place, callIds: [], message: { role: "assistant", content }, finish: "stop", usage, ...more };
}

function said(content: string, more: object = {}): LogEvent {
  return { type: "message-add", ...place, message: { role: "user", content }, ...more };
}

test("issue 20.2 streamed text grows, and is replaced by its complete message", () => {
  const log = new ChatLog();
  for (const event of [text(0, "A lamp "), text(7, "is 49")]) log.add(event);
  expect([log.partialText, log.items()]).toEqual(["A lamp is 49", []]);
  log.add(end("A lamp is 49.90 euros."));
  expect([log.partialText, log.items().length]).toEqual(["", 1]);
});

test("issue 20.2 text whose beginning was missed is marked, and text of other agents in a call is left out", () => {
  const log = new ChatLog();
  for (const event of [text(7, "is 49"), text(0, "I search", { parentCallId: "c" }), end("Found.", { parentCallId: "c" })]) log.add(event);
  expect(log.partialText).toBe("…is 49");
  log.add(end("A lamp is", { voided: "the model stopped" }));
  expect(log.partialText).toBe("");
});

test("issue 20.2 a message that was cut off is not joined with the next, and gaps are marked", () => {
  const log = new ChatLog();
  for (const event of [text(0, "An old half"), text(0, "A "), text(2, "new text")]) log.add(event);
  expect(log.partialText).toBe("A new text");
  log.add(text(20, "goes on"));
  expect(log.partialText).toBe("A new text…goes on");
  log.add(text(3, "another"));
  expect(log.partialText).toBe("…another");
});

test("issue 20.2 a message that was cut off is replaced by the user's next message", () => {
  const log = new ChatLog();
  for (const event of [text(0, "A lamp "), said("Again, please.", { parentCallId: "c" })]) log.add(event);
  expect(log.partialText).toBe("A lamp ");
  log.add(said("Again, please."));
  expect([log.partialText, log.items().length]).toEqual(["", 2]);
});
