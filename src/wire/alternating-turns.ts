/** Alternating messages of user and assistant, the user first and last, as Anthropic and Bedrock require. */
import type { JsonObject } from "../core/base/json.ts";

type Side = "user" | "assistant";

export interface UserTurnOptions {
  /** Whether the messages are a request for the next one, so that the last may not be the assistant's. @default false */
  readonly mustEndWithUser?: boolean;
}

/** How a provider's blocks are read and written. */
export interface TurnRules {
  /** Returns a text block of the user. */
  toTextBlock(text: string): JsonObject;
  /** Whether an assistant message that ends with this block is paused: the provider continues it when it is sent back. */
  isPauseBlock(block: JsonObject): boolean;
  /** Returns the blocks without the provider-executed calls that have no result in them or in `behind`, the blocks after them. */
  withoutUnansweredCalls(blocks: readonly JsonObject[], behind: readonly JsonObject[]): readonly JsonObject[];
  /** Whether this is a block of reasoning, with which an assistant message may not end. */
  isReasoningBlock(block: JsonObject): boolean;
}

/**
 * Merges consecutive messages of the user, and leaves out messages without blocks.
 *
 * Providers refuse a request whose last message is the assistant's, unless that message is paused. So a user message that asks to continue is put
 * before each assistant message that follows another, in the request for it and in all later requests, which then have the same prefix.
 */
export class AlternatingTurns {
  readonly messages: { readonly role: Side; readonly content: JsonObject[] }[] = [];
  readonly #rules: TurnRules;

  constructor(rules: TurnRules) {
    this.#rules = rules;
  }

  /** Whether the last message is the assistant's and is not paused. */
  get endsWithAssistant(): boolean {
    const last = this.messages.at(-1);
    const block = last?.content.at(-1);
    return last?.role === "assistant" && block !== undefined && !this.#rules.isPauseBlock(block);
  }

  /** Whether a system message is written as the user's: adding it to the system prompt would invalidate the cache of everything after it. */
  get writesSystemAsUser(): boolean {
    return this.messages.at(-1)?.role === "user" || this.endsWithAssistant;
  }

  addAssistantBlocks(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.askToContinue();
    this.#replaceAssistantBlocks((content) => this.#rules.withoutUnansweredCalls(content, blocks));
    this.#add("assistant", blocks);
  }

  /** Adds the results of the calls of the last answer. */
  addResults(blocks: readonly JsonObject[]): void {
    if (blocks.length > 0) this.#add("user", blocks);
  }

  /** Adds a message of the user. It ends a pause: provider-executed calls without a result are removed. */
  addUserBlocks(blocks: readonly JsonObject[]): void {
    if (blocks.length === 0) return;
    this.#trimAssistantMessage();
    this.#add("user", blocks);
  }

  /** Adds a user message that asks the assistant to continue if its message is the last, or to begin if there is no message yet. */
  askToContinue(): void {
    if (this.messages.length === 0) this.#add("user", [this.#rules.toTextBlock(OPENING_TEXT)]);
    if (!this.endsWithAssistant) return;
    this.#trimAssistantMessage();
    if (this.messages.at(-1)?.role === "assistant") this.#add("user", [this.#rules.toTextBlock(CONTINUE_TEXT)]);
  }

  #add(role: Side, blocks: readonly JsonObject[]): void {
    const last = this.messages.at(-1);
    if (last?.role === role) for (const block of blocks) last.content.push(block);
    else this.messages.push({ role, content: [...blocks] });
  }

  /** Removes the blocks with which the assistant's message may not end. */
  #trimAssistantMessage(): void {
    this.#replaceAssistantBlocks((content) => {
      const blocks = this.#rules.withoutUnansweredCalls(content, []);
      return blocks.slice(0, blocks.findLastIndex((block) => !this.#rules.isReasoningBlock(block)) + 1);
    });
  }

  #replaceAssistantBlocks(choose: (content: readonly JsonObject[]) => readonly JsonObject[]): void {
    const last = this.messages.at(-1);
    if (last?.role !== "assistant") return;
    this.messages.pop();
    const kept = choose(last.content);
    if (kept.length > 0) this.#add("assistant", kept);
  }
}

const OPENING_TEXT = "(The conversation begins with the assistant.)";
/** Text of the user message between two messages of the assistant. */
export const CONTINUE_TEXT = "(Continue.)";
