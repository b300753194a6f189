/** The text and reasoning of a model, part by part, so that a stream and a whole reply give the same text. */
import type { ReplyBuilder } from "../reply-builder.ts";

/** `text` is said; `summary` and `thought` are reasoning as the provider tells it and as it is. */
export type WordKind = "text" | "summary" | "thought";

const WORDS: Readonly<Record<WordKind, string>> = { text: "text", summary: "summary of reasoning", thought: "reasoning" };
const APART = "\n\n";

/** Hands text to a builder: parts of reasoning and messages apart, and of what is said twice, piece by piece and whole, only the rest. */
export class Wording {
  readonly #builder: ReplyBuilder;
  /** By part, what of it was said. */
  readonly #said = new Map<string, string>();
  /** The last part of the text and of the reasoning. */
  readonly #last = new Map<"text" | "reasoning", string>();

  constructor(builder: ReplyBuilder) {
    this.#builder = builder;
  }

  /** The next piece of a part; `place` is the item and the part in it. */
  say(kind: WordKind, place: readonly [number, number], text: string): void {
    if (text === "") return;
    const channel = kind === "text" ? "text" : "reasoning";
    // Parts of one message belong together; those of reasoning are paragraphs of their own.
    const group = kind === "text" ? `${place[0]}` : `${kind} ${place.join(".")}`;
    const last = this.#last.get(channel);
    const piece = last === undefined || last === group ? text : APART + text;
    this.#last.set(channel, group);
    const key = `${kind} ${place.join(".")}`;
    this.#said.set(key, (this.#said.get(key) ?? "") + text);
    if (channel === "text") this.#builder.text(piece);
    else this.#builder.reasoning(piece);
  }

  /** The whole of a part: says what of it was not said yet. One that does not begin with what was said changes nothing: that was read already. */
  sayWhole(kind: WordKind, place: readonly [number, number], text: string): void {
    const said = this.#said.get(`${kind} ${place.join(".")}`) ?? "";
    if (text.startsWith(said)) this.say(kind, place, text.slice(said.length));
    else if (text !== "")
      this.#builder.warn(
        `The provider says at the end of a part that its ${WORDS[kind]} is other than what it streamed; the streamed one is kept.`,
      );
  }
}
