/** Alternating messages of user and assistant, the user first and last, as Anthropic and Bedrock require. */
import type { JsonObject } from "../core/base/json.ts";

type Side = "user" | "assistant";

export interface AskOptions {
  /** Whether the messages are a request for the next one, so that the last may not be the assistant's. @default false */
  readonly asks?: boolean;
}

/** How a provider's blocks are read and written. */
export interface TurnRules {
  /** Returns a text block of the user. */
  text(text: string): JsonObject;
  /** Whether an assistant message that ends with this block is paused: the provider continues it when it is sent back. */
  isPause(block: JsonObject): boolean;
  /** Returns the blocks without the provider-executed calls that have no result in them or in `behind`, the blocks after them. */
  answered(blocks: readonly JsonObject[], behind: readonly JsonObject[]): readonly JsonObject[];
  /** Whether this is a block of reasoning, with which an assistant message may not end. */
  isThought(block: JsonObject): boolean;
}

/**
 * Merges consecutive messages of the user, and leaves out messages without blocks.
 *
 * Providers refuse a request whose last message is the assistant's, unless that message is paused. So a user message that asks to continue is put
 * before each assistant message that follows another, in the request for it and in all later requests, which then have the same prefix.
 */
export class AlternatingTurns {
  readonly written: { readonly role: Side; readonly content: JsonObject[] }[] = [];
  readonly #rules: TurnRules;

  constructor(rules: TurnRules) {
    this.#rules = rules;
  }

  /** Whether the last message is the assistant's and is not paused. */
  get isAnswered(): boolean {
    const last = this.written.at(-1);
    const block = last?.content.at(-1);
    return last?.role === "assistant" && block !== undefined && !this.#rules.isPause(block);
  }

  /** Whether a system message is written as the user's: adding it to the system prompt would invalidate the cache of everything after it. */
  get takesNotes(): boolean {
    return this.written.at(-1)?.role === "user" || this.isAnswered;
  }

  answer(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.askToContinue();
    this.#keep((content) => this.#rules.answered(content, blocks));
    this.#add("assistant", blocks);
  }

  /** Adds the results of the calls of the last answer. */
  results(blocks: readonly JsonObject[]): void {
    if (blocks.length > 0) this.#add("user", blocks);
  }

  /** Adds a message of the user. It ends a pause: provider-executed calls without a result are removed. */
  say(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.#end();
    this.#add("user", blocks);
  }

  /** Adds a user message that asks the assistant to continue if its message is the last, or to begin if there is no message yet. */
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

  /** Removes the blocks with which the assistant's message may not end. */
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
/** Text of the user message between two messages of the assistant. */
export const CONTINUE_TEXT = "(Continue.)";
