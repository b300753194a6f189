/** The texts of a run's messages for clients: as they are written, before the calls of their message; at its end what was missed. */
import type { ContentPart } from "../core/content.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { partText } from "../core/result.ts";

/** A piece of text, or the end of the text that has this id. */
export type TextNews =
  | { readonly type: "text-start"; readonly id: string }
  | { readonly type: "text-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "text-end"; readonly id: string };

export class ChatTexts {
  /** How many characters of the message that a turn is writing were sent. */
  readonly #sent = new Map<string, number>();
  /** The ids of the texts that have begun in the stream, by turn. */
  readonly #open = new Map<string, string>();

  /** Returns what the event adds to the texts. @param cursor of the latest event that is kept */
  *of(event: RuntimeEvent, cursor: string): Generator<TextNews> {
    if (event.type === "round-text") {
      // a piece behind one that was missed comes with the end
      if (event.position === (this.#sent.get(event.turnId) ?? 0)) yield* this.#add(event.turnId, event.text, cursor);
    } else if (event.type === "round-end") {
      const { turnId, message, voided } = event;
      if (voided === undefined) yield* this.#add(turnId, textOf(message.content).slice(this.#sent.get(turnId) ?? 0), cursor);
      this.#sent.delete(turnId);
      yield* this.#end(turnId);
    }
  }

  /** Ends all texts: the stream ends, and another one continues them. */
  *endAll(): Generator<TextNews> {
    for (const turnId of this.#open.keys()) yield* this.#end(turnId);
  }

  /** A new stream begins. */
  begin(): void {
    this.#open.clear();
  }

  *#add(turnId: string, delta: string, cursor: string): Generator<TextNews> {
    if (delta === "") return;
    const sent = this.#sent.get(turnId) ?? 0;
    let id = this.#open.get(turnId);
    if (id === undefined) {
      id = `${turnId}-${cursor}-${sent}`;
      this.#open.set(turnId, id);
      yield { type: "text-start", id };
    }
    this.#sent.set(turnId, sent + delta.length);
    yield { type: "text-delta", id, delta };
  }

  *#end(turnId: string): Generator<TextNews> {
    const id = this.#open.get(turnId);
    if (id === undefined) return;
    this.#open.delete(turnId);
    yield { type: "text-end", id };
  }
}

/** The text of a message's content: its images are mentioned, behind the text that was sent as it was written. */
function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const files = content.flatMap((part) => (part.type === "text" ? [] : [partText(part)]));
  return [...(text === "" ? [] : [text]), ...files].join("\n");
}
