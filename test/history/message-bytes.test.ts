import { expect, test } from "vitest";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText } from "../../src/core/result.ts";
import { messageBytes } from "../../src/history/message-bytes.ts";
import { answered, called, says } from "./model-messages.ts";

const error = { code: "timeout", message: "late", retryable: true, outcome: "unknown", hint: "wait" } as const;

test.each<[string, ModelMessage, string]>([
  ["a text", says("user", "žluťoučký 🎉"), "žluťoučký 🎉"],
  ["a document with its title", { role: "document", at: 1, title: "Terms", content: "none" }, "Termsnone"],
  ["an input as JSON", called("c1", { path: "ž", lines: [1, 2] }), '{"path":"ž","lines":[1,2]}'],
  ["an input that is text", called("c1", "ž"), "ž"],
  ["no input", { ...called("c1"), call: { name: "files::read" } }, ""],
  ["a result as the model reads it", answered("c1", { n: [1, "ž"] }), '{"n":[1,"ž"]}'],
  ["an error", answered("c1", "half", { status: "error", error }), "Error (timeout): late\nHint: wait\nhalf"],
  [
    "content, with a picture by its mention",
    {
      role: "user",
      at: 1,
      content: [
        { type: "text", text: "see" },
        { type: "image", mediaType: "image/png", data: "A".repeat(1_000) },
        { type: "file", uri: "file:///a", text: "inside" },
      ],
    },
    "see[image image/png]inside",
  ],
])("F4.39 counts %s", (_what, message, text) => {
  if (message.role === "result") expect(resultText(message.result)).toBe(text);
  expect(messageBytes(message)).toBe(Buffer.byteLength(text));
});
