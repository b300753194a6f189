/** The newest turns of a conversation that grows. */
import type { ModelMessage, ResultMessage } from "../core/message.ts";
import { checkMaxTurns, keepFrom } from "./limit-turns.ts";
import { showTurns, type ModelHistoryOptions } from "./model-history.ts";
import { firstResults } from "./replace-results.ts";
import { isReference } from "./restate-results.ts";

export interface RecentTurnsOptions extends ModelHistoryOptions {
  readonly maxTurns: number;
}

/**
 * Keeps what `modelHistory` shows of a conversation while it grows. Adding messages takes time linear in the messages that are kept and added, however
 * many turns were dropped before.
 */
export class RecentTurns {
  readonly #options: RecentTurnsOptions;
  /** The newest turns, and the system messages of dropped ones. */
  #recent: ModelMessage[] = [];
  /** Where each kept turn begins in `#recent`, the oldest first. */
  #starts: number[] = [];
  /** How many turns were dropped. */
  #oldTurns = 0;
  /** Whether there is a message of a user. If so, turns begin at such messages. */
  #hasUserMessages = false;
  /** Without user messages: the turns that have begun, those that were dropped included. */
  #turnIds = new Set<string>();
  /** Dropped results that kept ones refer to. */
  #sources: readonly ResultMessage[] = [];
  #shown: ModelMessage[] | undefined;

  /** @param messages the whole conversation so far, paired @throws ToolError `invalid_argument` */
  constructor(messages: readonly ModelMessage[], options: RecentTurnsOptions) {
    checkMaxTurns(options.maxTurns);
    this.#options = options;
    this.#append(messages);
  }

  /** The newest turns, and the system messages of dropped ones, before `trim` and `maxBytes`. */
  get kept(): readonly ModelMessage[] {
    return this.#recent;
  }

  /** The messages for the model. With `trim`, they are computed at each access, because its functions may return something else than before. */
  get messages(): readonly ModelMessage[] {
    if (this.#options.trim !== undefined) this.#shown = undefined;
    return (this.#shown ??= this.#show());
  }

  #show(): ModelMessage[] {
    const all = [...this.#sources, ...this.#recent];
    return [...showTurns({ recent: this.#recent, all, oldTurns: this.#oldTurns }, this.#options)];
  }

  /** Returns the same turns, to which other messages can be added. */
  copy(options: RecentTurnsOptions): RecentTurns {
    const copy = new RecentTurns([], options);
    copy.#recent = this.#recent.slice();
    copy.#starts = this.#starts.slice();
    copy.#oldTurns = this.#oldTurns;
    copy.#hasUserMessages = this.#hasUserMessages;
    copy.#turnIds = new Set(this.#turnIds);
    copy.#sources = this.#sources;
    return copy;
  }

  /**
   * Adds messages, paired among themselves. Returns false and adds nothing if dropped messages are needed: for a first user message, after which
   * turns begin at other places, or for a result that refers to a dropped one.
   */
  add(messages: readonly ModelMessage[]): boolean {
    if (this.#oldTurns > 0 && !this.#hasUserMessages && messages.some(isUserMessage)) return false;
    if (!this.#hasSourcesOf(messages)) return false;
    this.#append(messages);
    return true;
  }

  #hasSourcesOf(messages: readonly ModelMessage[]): boolean {
    const references = messages.filter(isReference);
    if (references.length === 0) return true;
    const known = firstResults([...this.#sources, ...this.#recent, ...messages]);
    return references.every(({ result }) => known.has(result.sameAs));
  }

  #append(messages: readonly ModelMessage[]): void {
    if (!this.#hasUserMessages && messages.some(isUserMessage)) {
      this.#hasUserMessages = true;
      this.#starts = [];
    }
    for (const message of messages) {
      this.#noteStart(message);
      this.#recent.push(message);
    }
    const { maxTurns, maxBytes = 0 } = this.#options;
    if (maxTurns > 0 && this.#starts.length > maxTurns) this.#dropTurns(this.#starts.length - maxTurns);
    else if (maxBytes > 0 || messages.some(isReference)) this.#shown = undefined; // a reference may have to be replaced by what it refers to
    else for (const message of messages) this.#shown?.push(message);
  }

  /** Notes the place of a message that is to be added, or of the message of the model before it, if a turn begins there. */
  #noteStart(message: ModelMessage): void {
    const place = this.#recent.length;
    if (this.#hasUserMessages) {
      if (isUserMessage(message)) this.#starts.push(place);
    } else if (message.role === "call" && !this.#turnIds.has(message.turnId)) {
      this.#turnIds.add(message.turnId);
      this.#starts.push(this.#recent.at(-1)?.role === "assistant" ? place - 1 : place);
    }
  }

  #dropTurns(count: number): void {
    const before = this.#recent;
    const recent = [...keepFrom(before, this.#starts[count] ?? before.length)];
    const removed = before.length - recent.length;
    this.#starts = this.#starts.slice(count).map((start) => start - removed);
    this.#oldTurns += count;
    this.#sources = findSources(recent, firstResults([...this.#sources, ...before]));
    this.#recent = recent;
    this.#shown = undefined;
  }
}

function isUserMessage({ role }: ModelMessage): boolean {
  return role === "user";
}

/** The results that those in `recent` refer to, directly or over others, and that are not in `recent` themselves. */
function findSources(recent: readonly ModelMessage[], results: ReadonlyMap<string, ResultMessage>): readonly ResultMessage[] {
  const kept = firstResults(recent);
  const sources = new Map<string, ResultMessage>();
  for (const { result } of kept.values()) {
    let callId = result.sameAs;
    while (callId !== undefined && !kept.has(callId) && !sources.has(callId)) {
      const source = results.get(callId);
      if (source !== undefined) sources.set(callId, source);
      callId = source?.result.sameAs;
    }
  }
  return [...sources.values()];
}
