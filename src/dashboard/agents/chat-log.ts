/** A conversation with its calls in their place: those of a message stand below it. */
import type { LogEvent, LogEventOf } from "../server/log-event.ts";
import type { Entry } from "../timeline/entry.ts";
import { SessionLog, contentText } from "../timeline/session-log.ts";

/** Messages of a chat are shown whole, up to this. */
const MAX_TEXT = 100_000;

export class ChatLog {
  /** The calls as a timeline has them. */
  readonly calls = new SessionLog({ maxText: MAX_TEXT });
  /** Messages that were received and are not part of the conversation yet, by their ids. */
  readonly waiting = new Map<string, string>();
  /** The text of the message that is being written, with "…" in place of parts that were missed: the page may have been opened meanwhile. */
  writing = "";
  /** How many characters of that message were written. */
  #written = 0;

  add(event: LogEvent): void {
    this.calls.add(event);
    if (event.type === "round-text") this.#write(event);
    // One that is made in a call is no part of this conversation. What follows a message that was cut off takes its place.
    if ((event.type === "round-end" || event.type === "message-add") && event.parentCallId === undefined) this.#begin();
    if (event.type === "inbox-add") this.waiting.set(event.id, contentText(event.message.content, MAX_TEXT));
    if (event.type === "message-add" && event.message.inboxId !== undefined) this.waiting.delete(event.message.inboxId);
  }

  #write({ position, text, parentCallId }: LogEventOf<"round-text">): void {
    if (parentCallId !== undefined) return;
    // Of another message: the one before was cut off and has no end
    if (position < this.#written) this.#begin();
    if (this.writing.length < MAX_TEXT) this.writing += position > this.#written ? `…${text}` : text;
    this.#written = position + text.length;
  }

  #begin(): void {
    this.writing = "";
    this.#written = 0;
  }

  get version(): number {
    return this.calls.version;
  }

  /** Top-level calls and messages. A message of the model is recorded after its calls, and said before them. */
  items(): readonly Entry[] {
    const entries = this.calls.entries();
    const saidBefore = new Map<string, Entry>();
    for (const entry of entries)
      if (entry.kind === "message") {
        const first = entry.callIds?.find((id) => this.calls.calls.has(id));
        if (first !== undefined) saidBefore.set(first, entry);
      }
    const moved = new Set(saidBefore.values());
    return entries.flatMap((entry) => {
      if (moved.has(entry)) return [];
      if (entry.kind === "message") return [entry];
      if (entry.parentId !== undefined && this.calls.calls.has(entry.parentId)) return [];
      const said = saidBefore.get(entry.id);
      return said === undefined ? [entry] : [said, entry];
    });
  }
}
