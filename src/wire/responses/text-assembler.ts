/** Assembles the text and reasoning of a model from parts, so that a stream and a whole reply give the same text. */
import type { ReplyBuilder } from "../reply-builder.ts";

/** `text` is the answer; `summary` is the provider's summary of the reasoning, `thought` the reasoning itself. */
export type TextPartKind = "text" | "summary" | "thought";

const KIND_NAMES: Readonly<Record<TextPartKind, string>> = { text: "text", summary: "summary of reasoning", thought: "reasoning" };
const PARAGRAPH_BREAK = "\n\n";

/** Passes text to a builder: separates messages and parts of reasoning, and skips repeated text of parts that are sent in pieces and whole. */
export class TextAssembler {
  readonly #builder: ReplyBuilder;
  /** The text passed so far, by part. */
  readonly #textByPart = new Map<string, string>();
  /** The last part of the text and of the reasoning. */
  readonly #last = new Map<"text" | "reasoning", string>();

  constructor(builder: ReplyBuilder) {
    this.#builder = builder;
  }

  /** Passes the next piece of a part; `place` is the item, and the part's index in it. */
  append(kind: TextPartKind, place: readonly [number, number], text: string): void {
    if (text === "") return;
    const channel = kind === "text" ? "text" : "reasoning";
    // Parts of one message are joined; parts of reasoning are separate paragraphs.
    const group = kind === "text" ? `${place[0]}` : `${kind} ${place.join(".")}`;
    const last = this.#last.get(channel);
    const piece = last === undefined || last === group ? text : PARAGRAPH_BREAK + text;
    this.#last.set(channel, group);
    const key = `${kind} ${place.join(".")}`;
    this.#textByPart.set(key, (this.#textByPart.get(key) ?? "") + text);
    if (channel === "text") this.#builder.addText(piece);
    else this.#builder.addReasoning(piece);
  }

  /** Passes the rest of a part whose whole text is known. If it does not begin with the streamed text, that is kept, with a warning. */
  appendRest(kind: TextPartKind, place: readonly [number, number], text: string): void {
    const received = this.#textByPart.get(`${kind} ${place.join(".")}`) ?? "";
    if (text.startsWith(received)) this.append(kind, place, text.slice(received.length));
    else if (text !== "")
      this.#builder.addWarning(
        `At the end of a part, the provider sent a different ${KIND_NAMES[kind]} from the one it had streamed; the streamed one is kept.`,
      );
  }
}
