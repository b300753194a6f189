/** How much of its caller's conversation a delegate is given: as one document, so that no call of it counts as its own. */
import { valueText, type ContentPart } from "../../core/content.ts";
import { SHARED_CONVERSATION, type ModelMessage, type SessionMessage } from "../../core/message.ts";
import { partText, resultText } from "../../core/result.ts";
import type { JsonValue } from "../../core/base/json.ts";

/** `task`: nothing but its task; `messages`: what was said as well; `conversation`: with the calls and their results. */
export type SharedContext = "task" | "messages" | "conversation";

export const SHARED_CONTEXTS: readonly SharedContext[] = ["task", "messages", "conversation"];

/** Longest text that is shared; of a longer conversation, the latest part. */
const MAX_CHARS = 65_536;
/** Longest text of one call or result. */
const MAX_CALL_CHARS = 4_096;

/** The document; undefined where nothing is shared. */
export function sharedContext(share: SharedContext, shown: readonly ModelMessage[]): SessionMessage | undefined {
  if (share === "task") return undefined;
  const texts: string[] = [];
  let room = MAX_CHARS;
  for (const message of shown.toReversed()) {
    const text = textOf(message, share);
    if (text === "") continue;
    room -= text.length + 2;
    if (room < 0) {
      texts.push("[what came before is left out]");
      break;
    }
    texts.push(text);
  }
  return texts.length === 0 ? undefined : { role: "document", title: SHARED_CONVERSATION, content: texts.reverse().join("\n\n") };
}

function textOf(message: ModelMessage, share: SharedContext): string {
  if (message.role === "call") {
    const { name, input } = message.call;
    return share === "messages" ? "" : `call ${name}: ${cut(valueText(input as JsonValue | undefined))}`; // a recorded call is JSON
  }
  if (message.role === "result") return share === "messages" ? "" : `result of ${message.result.name}: ${cut(resultText(message.result))}`;
  if (message.role === "system") return ""; // it steers the caller
  const said = contentText(message.content);
  return said === "" ? "" : `${message.role}: ${said}`;
}

function contentText(content: string | readonly ContentPart[]): string {
  return (typeof content === "string" ? content : content.map(partText).join("\n")).trim();
}

function cut(text: string): string {
  return text.length <= MAX_CALL_CHARS ? text : `${text.slice(0, MAX_CALL_CHARS)}… [${text.length - MAX_CALL_CHARS} more characters]`;
}
