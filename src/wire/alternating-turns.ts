/** Messages of two sides that take turns, the user first and last, as Anthropic and Bedrock want them. */
import type { JsonObject } from "../core/base/json.ts";

type Side = "user" | "assistant";

/** Options of writing a conversation. */
export interface AskOptions {
  /** A request for the next message: the assistant's may not be the last. @default false */
  readonly asks?: boolean;
}

/** How a provider's blocks are read. */
export interface TurnRules {
  /** A block of the user's with this text. */
  text(text: string): JsonObject;
  /** Whether a turn of the assistant that ends with this block pauses: the provider continues it when it comes back. */
  isPause(block: JsonObject): boolean;
  /** Without the calls that the provider was to run and that have no result among these blocks or those behind them. */
  answered(blocks: readonly JsonObject[], behind: readonly JsonObject[]): readonly JsonObject[];
  /** A turn of the assistant may not end with this block. */
  isThought(block: JsonObject): boolean;
}

/**
 * Messages of the user that follow each other become one; those without blocks are left out.
 *
 * Providers refuse a request whose last message is the assistant's, unless that paused. So the user asks for each message of the assistant
 * that follows another, in the request for it and in all later ones, which then begin alike.
 */
export class AlternatingTurns {
  readonly written: { readonly role: Side; readonly content: JsonObject[] }[] = [];
  readonly #rules: TurnRules;

  constructor(rules: TurnRules) {
    this.#rules = rules;
  }

  /** The assistant has spoken last, and does not pause. */
  get isAnswered(): boolean {
    const last = this.written.at(-1);
    const block = last?.content.at(-1);
    return last?.role === "assistant" && block !== undefined && !this.#rules.isPause(block);
  }

  /** Whether a system message is the user's: added to the system prompt it would take away the cache of all that follows. */
  get takesNotes(): boolean {
    return this.written.at(-1)?.role === "user" || this.isAnswered;
  }

  answer(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.askToContinue();
    this.#keep((content) => this.#rules.answered(content, blocks));
    this.#add("assistant", blocks);
  }

  /** The results of the calls of the last answer. */
  results(blocks: readonly JsonObject[]): void {
    if (blocks.length > 0) this.#add("user", blocks);
  }

  /** The user speaks. A pause ends here: calls that the provider was to run have no result any more. */
  say(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.#end();
    this.#add("user", blocks);
  }

  /** The user asks the assistant to continue where it has spoken last, and to begin where nothing was said. */
  askToContinue(): void {
    if (this.written.length === 0) this.#add("user", [this.#rules.text(OPENING_TEXT)]);
    if (!this.isAnswered) return;
    this.#end();
    if (this.written.at(-1)?.role === "assistant") this.#add("user", [this.#rules.text(CONTINUE_TEXT)]);
  }

  #add(role: Side, blocks: readonly JsonObject[]): void {
    const last = this.written.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else this.written.push({ role, content: [...blocks] });
  }

  /** Takes from the assistant's turn what it may not end with. */
  #end(): void {
    this.#keep((content) => {
      const blocks = this.#rules.answered(content, []);
      return blocks.slice(0, blocks.findLastIndex((block) => !this.#rules.isThought(block)) + 1);
    });
  }

  #keep(choose: (content: readonly JsonObject[]) => readonly JsonObject[]): void {
    const last = this.written.at(-1);
    if (last?.role !== "assistant") return;
    this.written.pop();
    const kept = choose(last.content);
    if (kept.length > 0) this.#add("assistant", kept);
  }
}

const OPENING_TEXT = "(The conversation begins with the assistant.)";
/** Of the user, where the assistant has spoken and is to speak again. */
export const CONTINUE_TEXT = "(Continue.)";
