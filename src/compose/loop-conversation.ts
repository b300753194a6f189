/** The conversation of a loop as its model is shown it. Only new messages are added, so the cost of a round does not grow with the conversation. */
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage } from "../core/message.ts";
import { DEFAULT_MAX_TURNS, turnStarts } from "../history/limit-turns.ts";
import { holdsFiles } from "../policy/results/sendable-content.ts";
import { pairMessages } from "../history/pair-messages.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { conversationOf, type MessagesOptions } from "../runtime/session-messages.ts";

/**
 * The messages of `session.messages`, kept between rounds and runs. Events that the session has recorded since, from any source, are added. If these
 * change earlier messages, or a turn has to be dropped, the list is built again from the session.
 */
export class LoopConversation {
  readonly #session: RuntimeSession;
  readonly #options: MessagesOptions;
  /** Whether limits depend on all messages, so that the list is computed again for each round. */
  readonly #limited: boolean;
  #messages: ModelMessage[] = [];
  /** Number of session events that the list includes; below 0 before the list was first built. */
  #length = -1;
  /** How many more turns the list may hold. */
  #turnsLeft = 0;
  /** Whether there is a message of a user. If so, turns begin at such messages. */
  #hasUsers = false;
  #hasFiles = false;

  constructor(session: RuntimeSession, options: MessagesOptions) {
    this.#session = session;
    this.#options = options;
    this.#limited = options.trim !== undefined || (options.maxBytes ?? 0) > 0;
  }

  /** Whether message content may hold a file or the address of one. */
  get hasFiles(): boolean {
    return this.#limited || this.#hasFiles;
  }

  /** Returns the messages for the next request. Later messages do not change the array. */
  messages(): readonly ModelMessage[] {
    if (this.#limited) return this.#session.messages(this.#options);
    if (this.#length !== this.#session.length && !this.#grow()) this.#read();
    return this.#messages.slice();
  }

  /** Adds the new messages. False if the list must be built again. */
  #grow(): boolean {
    const events = this.#length < 0 ? undefined : this.#session.logSince(this.#length);
    if (events === undefined || !standsAlone(events)) return false;
    const added = pairMessages(conversationOf(events));
    if (added.some((message) => message.role === "result" && message.result.sameAs !== undefined)) return false;
    if (added[0]?.role === "call" && this.#messages.at(-1)?.role === "assistant") return false; // the message that has this call is in earlier events
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

/** Whether these events leave all earlier messages unchanged. */
function standsAlone(events: readonly SessionEvent[]): boolean {
  const begun = new Set<string>();
  for (const event of events) {
    const parent = "parentCallId" in event ? event.parentCallId : undefined;
    if (parent !== undefined && !begun.has(parent)) return false; // the parent may have been voided in an earlier event
    if (event.type === "call-start") begun.add(event.callId);
    else if (event.type === "job-start" && !begun.has(event.callId)) return false; // its call already has a place in the list
    else if (event.type === "call-end") {
      if (!begun.has(event.callId)) return false;
    } else if ((event.type === "round-end" || event.type === "batch-rollback") && !event.callIds.every((callId) => begun.has(callId)))
      return false;
  }
  return true;
}
