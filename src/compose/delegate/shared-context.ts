/** The part of its caller's conversation that a delegate gets. It is one document, so that none of its calls count as the delegate's own. */
import { valueText, type ContentPart } from "../../core/content.ts";
import { SHARED_CONVERSATION, type ModelMessage, type SessionMessage } from "../../core/message.ts";
import { partText, resultText } from "../../core/result.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** `task`: only the task; `messages`: also the messages; `conversation`: also the calls and their results. */
export type SharedContext = "task" | "messages" | "conversation";

export const SHARED_CONTEXTS: readonly SharedContext[] = ["task", "messages", "conversation"];

/** Maximum number of characters that are shared. Of a longer conversation, the latest part is kept. */
const MAX_CHARS = 65_536;
/** Maximum number of characters of one call or result. */
const MAX_CALL_CHARS = 4_096;

/** Returns the document; undefined if nothing is shared. */
export function sharedContext(share: SharedContext, shown: readonly ModelMessage[]): SessionMessage | undefined {
  if (share === "task") return undefined;
  const texts: string[] = [];
  let room = MAX_CHARS;
  for (const message of shown.toReversed()) {
    const text = textOf(message, share);
    if (text === "") continue;
    room -= text.length + 2;
    if (room < 0) {
      texts.push("[earlier messages are left out]");
      break;
    }
    texts.push(text);
  }
  return texts.length === 0 ? undefined : { role: "document", title: SHARED_CONVERSATION, content: texts.reverse().join("\n\n") };
}

function textOf(message: ModelMessage, share: SharedContext): string {
  if (message.role === "call") {
    const { name, input } = message.call;
    return share === "messages" ? "" : `call ${name}: ${truncate(valueText(input as JsonValue | undefined))}`; // a recorded call is JSON
  }
  if (message.role === "result")
    return share === "messages" ? "" : `result of ${message.result.name}: ${truncate(resultText(message.result))}`;
  if (message.role === "system") return ""; // it instructs the caller
  const text = contentText(message.content);
  return text === "" ? "" : `${message.role}: ${text}`;
}

function contentText(content: string | readonly ContentPart[]): string {
  return (typeof content === "string" ? content : content.map(partText).join("\n")).trim();
}

function truncate(text: string): string {
  return text.length <= MAX_CALL_CHARS ? text : `${text.slice(0, MAX_CALL_CHARS)}… [${text.length - MAX_CALL_CHARS} more characters]`;
}
