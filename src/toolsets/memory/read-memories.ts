/** The entries of a session's log that can be searched. */
import type { SessionEvent } from "../../core/event.ts";
import { partText, resultText } from "../../core/result.ts";
import type { SessionMessage } from "../../core/message.ts";

/** A message, or a call with its result. */
export interface Memory {
  readonly id: string;
  readonly sessionId: string;
  readonly at: number;
  /** `user`, `assistant`, or the name of the tool. */
  readonly who: string;
  readonly text: string;
}

/** Maximum number of entries of one session; the latest are kept. */
const MAX_MEMORIES = 20_000;
/** Maximum length of one entry, in characters. */
export const MAX_TEXT_LENGTH = 8_000;
/** Results of this tool are not searched: they repeat earlier entries. */
const OWN_TOOL = /(?:^|::|__)search_memory$/u;

export interface MemorySource {
  readonly id: string;
  readonly events: AsyncIterable<SessionEvent>;
  /** Maximum number of characters of all entries together. */
  readonly maxChars: number;
}

/** Returns the latest entries, oldest first, without voided and rolled-back ones. */
export async function readMemories({ id: sessionId, events, maxChars }: MemorySource): Promise<readonly Memory[]> {
  const memories = new Map<string, Memory>();
  const calls = new Map<string, string>();
  let count = 0;
  let chars = 0;
  const drop = (id: string): void => {
    chars -= memories.get(id)?.text.length ?? 0;
    memories.delete(id);
  };
  const keep = (id: string, memory: Omit<Memory, "id" | "sessionId" | "text">, whole: string): void => {
    if (whole.trim() === "") return;
    drop(id);
    const text = whole.slice(0, MAX_TEXT_LENGTH).toWellFormed();
    memories.set(id, { id: `${sessionId}/${id}`, sessionId, ...memory, text });
    chars += text.length;
    for (const oldest of memories.keys()) {
      if (memories.size <= MAX_MEMORIES && chars <= maxChars) break;
      drop(oldest);
    }
  };
  for await (const event of events) {
    count++;
    if (event.type === "message-add") keep(`message_${count}`, { at: event.at, who: event.message.role }, messageText(event.message));
    if (event.type === "call-start" && !OWN_TOOL.test(event.call.name)) calls.set(event.callId, event.call.name);
    if (event.type === "call-end") {
      const name = calls.get(event.callId);
      if (name !== undefined) keep(event.callId, { at: event.at, who: name }, callText(event));
    }
    if (event.type === "round-end" && event.voided === undefined)
      keep(`message_${count}`, { at: event.at, who: "assistant" }, messageText(event.message));
    if (event.type === "batch-rollback" || (event.type === "round-end" && event.voided !== undefined))
      for (const callId of event.callIds) drop(callId);
  }
  return [...memories.values()];
}

function messageText({ content, title }: SessionMessage): string {
  const text = typeof content === "string" ? content : content.map(partText).join("\n");
  return title === undefined ? text : `${title}\n${text}`;
}

function callText({ input, result }: Extract<SessionEvent, { readonly type: "call-end" }>): string {
  return `${input === undefined ? "" : `${JSON.stringify(input)} → `}${resultText(result)}`;
}
