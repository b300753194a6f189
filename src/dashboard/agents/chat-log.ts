/** A conversation with its calls in their place: below the message that made them. */
import type { LogEvent, LogEventOf } from "../server/log-event.ts";
import type { TimelineEntry } from "../timeline/timeline-entry.ts";
import { SessionLog, formatContent } from "../timeline/session-log.ts";

/** Maximum number of characters of a message that are shown. */
const MAX_TEXT = 100_000;

export class ChatLog {
  /** The calls and messages, as in a timeline. */
  readonly calls = new SessionLog({ maxText: MAX_TEXT });
  /** Messages that were received and are not part of the conversation yet, by their ids. */
  readonly inboxMessages = new Map<string, string>();
  /** The text of the message that is being written, with "…" in place of missed parts: the page may have been opened in the meantime. */
  partialText = "";
  /** Number of characters of that message that were written. */
  #writtenChars = 0;

  add(event: LogEvent): void {
    this.calls.add(event);
    if (event.type === "round-text") this.#appendText(event);
    // A message made inside a call is not part of this conversation. The next message replaces the text of one that was cut off.
    if ((event.type === "round-end" || event.type === "message-add") && event.parentCallId === undefined) this.#resetWriting();
    if (event.type === "inbox-add") this.inboxMessages.set(event.id, formatContent(event.message.content, MAX_TEXT));
    if (event.type === "message-add" && event.message.inboxId !== undefined) this.inboxMessages.delete(event.message.inboxId);
  }

  #appendText({ position, text, parentCallId }: LogEventOf<"round-text">): void {
    if (parentCallId !== undefined) return;
    // The text belongs to another message: the previous one was cut off and has no end.
    if (position < this.#writtenChars) this.#resetWriting();
    if (this.partialText.length < MAX_TEXT) this.partialText += position > this.#writtenChars ? `…${text}` : text;
    this.#writtenChars = position + text.length;
  }

  #resetWriting(): void {
    this.partialText = "";
    this.#writtenChars = 0;
  }

  get version(): number {
    return this.calls.version;
  }

  /** Returns top-level calls and messages. A message of the model is recorded after its calls, and is moved before them. */
  items(): readonly TimelineEntry[] {
    const entries = this.calls.entries();
    const messageBeforeCall = new Map<string, TimelineEntry>();
    for (const entry of entries)
      if (entry.kind === "message") {
        const first = entry.callIds?.find((id) => this.calls.calls.has(id));
        if (first !== undefined) messageBeforeCall.set(first, entry);
      }
    const moved = new Set(messageBeforeCall.values());
    return entries.flatMap((entry) => {
      if (moved.has(entry)) return [];
      if (entry.kind === "message") return [entry];
      if (entry.parentId !== undefined && this.calls.calls.has(entry.parentId)) return [];
      const message = messageBeforeCall.get(entry.id);
      return message === undefined ? [entry] : [message, entry];
    });
  }
}
