/** Estimates how much of a model's context a conversation takes. */
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import { partText, resultText } from "../core/result.ts";

/**
 * The number of UTF-8 bytes of a message that a model reads: texts, the inputs of calls as JSON, results as `resultText` writes them.
 *
 * Images and audio count only as their placeholder text, because models charge for them differently. The names, ids and braces that a wire format
 * adds to each message are not counted. Takes time linear in the text.
 */
export function messageBytes(message: ModelMessage): number {
  switch (message.role) {
    case "call":
      return inputBytes(message.call.input);
    case "result":
      return Buffer.byteLength(resultText(message.result));
    case "job":
      return Buffer.byteLength(message.content);
    case "user":
    case "assistant":
    case "system":
    case "document":
      return contentBytes(message);
  }
}

function inputBytes(input: unknown): number {
  if (input === undefined) return 0;
  return Buffer.byteLength(typeof input === "string" ? input : JSON.stringify(input));
}

function contentBytes({ content, title }: SessionMessage): number {
  let bytes = title === undefined ? 0 : Buffer.byteLength(title);
  if (typeof content === "string") return bytes + Buffer.byteLength(content);
  for (const part of content) bytes += Buffer.byteLength(partText(part));
  return bytes;
}
