/** The texts of a run's messages for clients: piece by piece while they are written, with missed pieces added at the end of the message. */
import type { ContentPart } from "../core/content.ts";
import type { RuntimeEvent } from "../core/event.ts";
import { partText } from "../core/result.ts";

/** The start of a text, a piece of it, or its end. */
export type TextUpdate =
  | { readonly type: "text-start"; readonly id: string }
  | { readonly type: "text-delta"; readonly id: string; readonly delta: string }
  | { readonly type: "text-end"; readonly id: string };

export class ChatTexts {
  /** Number of characters sent so far of the message being written, by turn. */
  readonly #sent = new Map<string, number>();
  /** The ids of the texts that have begun in this stream, by turn. */
  readonly #open = new Map<string, string>();

  /** Yields the text events that follow from an event of the session. @param cursor of the latest stored event */
  *updatesFor(event: RuntimeEvent, cursor: string): Generator<TextUpdate> {
    if (event.type === "round-text") {
      // if a piece was missed, the pieces after it come with the end of the message
      if (event.position === (this.#sent.get(event.turnId) ?? 0)) yield* this.#add(event.turnId, event.text, cursor);
    } else if (event.type === "round-end") {
      const { turnId, message, voided } = event;
      if (voided === undefined) yield* this.#add(turnId, textOf(message.content).slice(this.#sent.get(turnId) ?? 0), cursor);
      this.#sent.delete(turnId);
      yield* this.#end(turnId);
    }
  }

  /** Ends all texts, as the stream ends; another stream continues them. */
  *endAll(): Generator<TextUpdate> {
    for (const turnId of this.#open.keys()) yield* this.#end(turnId);
  }

  /** Starts a new stream, without open texts. */
  reset(): void {
    this.#open.clear();
  }

  *#add(turnId: string, delta: string, cursor: string): Generator<TextUpdate> {
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

  *#end(turnId: string): Generator<TextUpdate> {
    const id = this.#open.get(turnId);
    if (id === undefined) return;
    this.#open.delete(turnId);
    yield { type: "text-end", id };
  }
}

/** The text of a message's content. Descriptions of its images and files come last, after the text that was streamed. */
function textOf(content: string | readonly ContentPart[]): string {
  if (typeof content === "string") return content;
  const text = content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  const files = content.flatMap((part) => (part.type === "text" ? [] : [partText(part)]));
  return [...(text === "" ? [] : [text]), ...files].join("\n");
}
