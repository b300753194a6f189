/** The conversation of a loop as its model is shown it. Only new messages are added, so the cost of a round does not grow with the conversation. */
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage } from "../core/message.ts";
import { DEFAULT_MAX_TURNS, findTurnStarts } from "../history/limit-turns.ts";
import { hasFiles } from "../policy/results/sendable-content.ts";
import { pairMessages } from "../history/pair-messages.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { buildConversation, type MessagesOptions } from "../runtime/session-messages.ts";

/**
 * The messages of `session.messages`, kept between rounds and runs. Events that the session has recorded since, from any source, are added. If these
 * change earlier messages, or a turn has to be dropped, the list is built again from the session.
 */
export class LoopConversation {
  readonly #session: RuntimeSession;
  readonly #options: MessagesOptions;
  /** Whether limits depend on all messages, so that the list is computed again for each round. */
  readonly #hasLimits: boolean;
  #messages: ModelMessage[] = [];
  /** Number of session events that the list includes; below 0 before the list was first built. */
  #includedEvents = -1;
  /** How many more turns the list may hold. */
  #turnsLeft = 0;
  /** Whether there is a message of a user. If so, turns begin at such messages. */
  #hasUserMessages = false;
  #hasFiles = false;

  constructor(session: RuntimeSession, options: MessagesOptions) {
    this.#session = session;
    this.#options = options;
    this.#hasLimits = options.trim !== undefined || (options.maxBytes ?? 0) > 0;
  }

  /** Whether message content may hold a file or the address of one. */
  get hasFiles(): boolean {
    return this.#hasLimits || this.#hasFiles;
  }

  /** Returns the messages for the next request. Later messages do not change the array. */
  messages(): readonly ModelMessage[] {
    if (this.#hasLimits) return this.#session.messages(this.#options);
    if (this.#includedEvents !== this.#session.length && !this.#appendNewMessages()) this.#rebuildMessages();
    return this.#messages.slice();
  }

  /** Adds the new messages. False if the list must be built again. */
  #appendNewMessages(): boolean {
    const events = this.#includedEvents < 0 ? undefined : this.#session.logSince(this.#includedEvents);
    if (events === undefined || !keepsEarlierMessages(events)) return false;
    const added = pairMessages(buildConversation(events));
    if (added.some((message) => message.role === "result" && message.result.sameAs !== undefined)) return false;
    if (added[0]?.role === "call" && this.#messages.at(-1)?.role === "assistant") return false; // the message that has this call is in earlier events
    this.#turnsLeft -= this.#countTurns(added);
    if (this.#turnsLeft < 0) return false;
    for (const message of added) this.#messages.push(message);
    if (!this.#hasFiles) this.#hasFiles = added.some(hasFiles);
    this.#includedEvents = this.#session.length;
    return true;
  }

  #countTurns(added: readonly ModelMessage[]): number {
    const users = added.reduce((count, { role }) => (role === "user" ? count + 1 : count), 0);
    if (users > 0) this.#hasUserMessages = true;
    if (this.#hasUserMessages) return users;
    const last = this.#messages.findLast(({ role }) => role === "call");
    return findTurnStarts(last === undefined ? added : [last, ...added]).length - (last === undefined ? 0 : 1);
  }

  #rebuildMessages(): void {
    const { maxTurns = DEFAULT_MAX_TURNS } = this.#options;
    this.#messages = [...this.#session.messages(this.#options)];
    this.#hasUserMessages = this.#messages.some(({ role }) => role === "user");
    this.#hasFiles = this.#messages.some(hasFiles);
    this.#turnsLeft = maxTurns === 0 ? Infinity : maxTurns - findTurnStarts(this.#messages).length;
    this.#includedEvents = this.#session.length;
  }
}

/** Whether these events leave all earlier messages unchanged. */
function keepsEarlierMessages(events: readonly SessionEvent[]): boolean {
  const startedCalls = new Set<string>();
  for (const event of events) {
    const parent = "parentCallId" in event ? event.parentCallId : undefined;
    if (parent !== undefined && !startedCalls.has(parent)) return false; // the parent may have been voided in an earlier event
    if (event.type === "call-start") startedCalls.add(event.callId);
    else if (event.type === "job-start" && !startedCalls.has(event.callId)) return false; // its call already has a place in the list
    else if (event.type === "call-end") {
      if (!startedCalls.has(event.callId)) return false;
    } else if (
      (event.type === "round-end" || event.type === "batch-rollback") &&
      !event.callIds.every((callId) => startedCalls.has(callId))
    )
      return false;
  }
  return true;
}
