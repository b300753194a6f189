/** Distinguishes events of a model from other values: a model may be third-party code without types. */
import { FINISH_REASONS, type ModelEvent } from "../core/model.ts";

const FINISHES: ReadonlySet<unknown> = new Set(FINISH_REASONS);

/** Whether the value has a type, and the fields of that type that a loop reads. An unknown type needs no fields. */
export function isModelEvent(value: unknown): value is ModelEvent {
  if (!isObject(value)) return false;
  switch (value["type"]) {
    case "text-delta":
    case "reasoning-delta":
      return typeof value["text"] === "string";
    case "call-open":
      return isIndex(value["index"]) && typeof value["name"] === "string";
    case "call-delta":
      return isIndex(value["index"]) && typeof value["text"] === "string";
    case "call-seal":
      return isIndex(value["index"]) && isCall(value["call"]);
    case "provider-call":
      return isCall(value["call"]);
    case "reply-void":
      return typeof value["reason"] === "string";
    case "reply-end":
      return isReply(value["reply"]);
    default:
      return typeof value["type"] === "string";
  }
}

function isReply(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { text, media, calls, finish } = value;
  return typeof text === "string" && Array.isArray(media) && Array.isArray(calls) && calls.every(isCall) && FINISHES.has(finish);
}

function isCall(value: unknown): boolean {
  return isObject(value) && typeof value["name"] === "string";
}

function isIndex(value: unknown): boolean {
  return typeof value === "number" && value >= 0;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
