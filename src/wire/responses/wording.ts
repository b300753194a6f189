/** Assembles the text and reasoning of a model from parts, so that a stream and a whole reply give the same text. */
import type { ReplyBuilder } from "../reply-builder.ts";

/** `text` is the answer; `summary` is the provider's summary of the reasoning, `thought` the reasoning itself. */
export type WordKind = "text" | "summary" | "thought";

const WORDS: Readonly<Record<WordKind, string>> = { text: "text", summary: "summary of reasoning", thought: "reasoning" };
const APART = "\n\n";

/** Passes text to a builder: separates messages and parts of reasoning, and skips repeated text of parts that are sent in pieces and whole. */
export class Wording {
  readonly #builder: ReplyBuilder;
  /** The text passed so far, by part. */
  readonly #said = new Map<string, string>();
  /** The last part of the text and of the reasoning. */
  readonly #last = new Map<"text" | "reasoning", string>();

  constructor(builder: ReplyBuilder) {
    this.#builder = builder;
  }

  /** Passes the next piece of a part; `place` is the item, and the part's index in it. */
  say(kind: WordKind, place: readonly [number, number], text: string): void {
    if (text === "") return;
    const channel = kind === "text" ? "text" : "reasoning";
    // Parts of one message are joined; parts of reasoning are separate paragraphs.
    const group = kind === "text" ? `${place[0]}` : `${kind} ${place.join(".")}`;
    const last = this.#last.get(channel);
    const piece = last === undefined || last === group ? text : APART + text;
    this.#last.set(channel, group);
    const key = `${kind} ${place.join(".")}`;
    this.#said.set(key, (this.#said.get(key) ?? "") + text);
    if (channel === "text") this.#builder.text(piece);
    else this.#builder.reasoning(piece);
  }

  /** Passes the rest of a part whose whole text is known. If it does not begin with the streamed text, that is kept, with a warning. */
  sayWhole(kind: WordKind, place: readonly [number, number], text: string): void {
    const said = this.#said.get(`${kind} ${place.join(".")}`) ?? "";
    if (text.startsWith(said)) this.say(kind, place, text.slice(said.length));
    else if (text !== "")
      this.#builder.warn(
        `At the end of a part, the provider sent a different ${WORDS[kind]} from the one it had streamed; the streamed one is kept.`,
      );
  }
}
