/** The conversation of a loop as its model is shown it, grown message by message: a round costs the same however long it is. */
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage } from "../core/message.ts";
import { DEFAULT_MAX_TURNS, turnStarts } from "../history/limit-turns.ts";
import { holdsFiles } from "../policy/results/sendable-content.ts";
import { pairMessages } from "../history/pair-messages.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { conversationOf, type MessagesOptions } from "../runtime/session-messages.ts";

/**
 * The messages of `session.messages`, kept from round to round and from run to run. Whatever the session has recorded since is added, from any
 * source. Where that changes earlier messages, or a turn has to go, the list is built again from the session.
 */
export class LoopConversation {
  readonly #session: RuntimeSession;
  readonly #options: MessagesOptions;
  /** Whether limits depend on the whole, so that it is computed again for each round. */
  readonly #limited: boolean;
  #messages: ModelMessage[] = [];
  /** How many events the session had when the list was what it would show; below 0 while it never was. */
  #length = -1;
  /** How many more turns the list may hold. */
  #turnsLeft = 0;
  /** There is a message of a user, so turns begin there. */
  #hasUsers = false;
  #hasFiles = false;

  constructor(session: RuntimeSession, options: MessagesOptions) {
    this.#session = session;
    this.#options = options;
    this.#limited = options.trim !== undefined || (options.maxBytes ?? 0) > 0;
  }

  /** Whether the content of a message may hold a file, or the address of one. */
  get hasFiles(): boolean {
    return this.#limited || this.#hasFiles;
  }

  /** For the next request; later messages do not change it. */
  messages(): readonly ModelMessage[] {
    if (this.#limited) return this.#session.messages(this.#options);
    if (this.#length !== this.#session.length && !this.#grow()) this.#read();
    return this.#messages.slice();
  }

  /** Adds what is new; false when that is not enough. */
  #grow(): boolean {
    const events = this.#length < 0 ? undefined : this.#session.logSince(this.#length);
    if (events === undefined || !standsAlone(events)) return false;
    const added = pairMessages(conversationOf(events));
    if (added.some((message) => message.role === "result" && message.result.sameAs !== undefined)) return false;
    if (added[0]?.role === "call" && this.#messages.at(-1)?.role === "assistant") return false; // whose calls they are is in earlier events
    this.#turnsLeft -= this.#countTurns(added);
    if (this.#turnsLeft < 0) return false;
    for (const message of added) this.#messages.push(message);
    if (!this.#hasFiles) this.#hasFiles = added.some(holdsFiles);
    this.#length = this.#session.length;
    return true;
  }

  #countTurns(added: readonly ModelMessage[]): number {
    const users = added.reduce((count, { role }) => (role === "user" ? count + 1 : count), 0);
    if (users > 0) this.#hasUsers = true;
    if (this.#hasUsers) return users;
    const last = this.#messages.findLast(({ role }) => role === "call");
    return turnStarts(last === undefined ? added : [last, ...added]).length - (last === undefined ? 0 : 1);
  }

  #read(): void {
    const { maxTurns = DEFAULT_MAX_TURNS } = this.#options;
    this.#messages = [...this.#session.messages(this.#options)];
    this.#hasUsers = this.#messages.some(({ role }) => role === "user");
    this.#hasFiles = this.#messages.some(holdsFiles);
    this.#turnsLeft = maxTurns === 0 ? Infinity : maxTurns - turnStarts(this.#messages).length;
    this.#length = this.#session.length;
  }
}

/** Whether these events change nothing of what was said before them. */
function standsAlone(events: readonly SessionEvent[]): boolean {
  const begun = new Set<string>();
  for (const event of events) {
    const parent = "parentCallId" in event ? event.parentCallId : undefined;
    if (parent !== undefined && !begun.has(parent)) return false; // it may have been taken back before
    if (event.type === "call-start") begun.add(event.callId);
    else if (event.type === "job-start" && !begun.has(event.callId)) return false; // its call has a place already
    else if (event.type === "call-end") {
      if (!begun.has(event.callId)) return false;
    } else if ((event.type === "round-end" || event.type === "batch-rollback") && !event.callIds.every((callId) => begun.has(callId)))
      return false;
  }
  return true;
}
