/** The conversation of a loop as its model is shown it. Only new messages are added, so the cost of a round does not grow with the conversation. */
import type { JsonObject } from "../core/base/json.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage } from "../core/message.ts";
import { DEFAULT_MAX_TURNS } from "../history/limit-turns.ts";
import { pairMessages } from "../history/pair-messages.ts";
import { RecentTurns, type RecentTurnsOptions } from "../history/recent-turns.ts";
import { hasFiles } from "../policy/results/sendable-content.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { buildConversation, readInputs, trimOptions, wholeConversation, type MessagesOptions } from "../runtime/session-messages.ts";

/**
 * The messages of `session.messages`, kept between rounds and runs. Events that the session has recorded since, from any source, are added. If these
 * change earlier messages, the list is built again from the session. Messages stay even if a stored session no longer has their events in memory.
 */
export class LoopConversation {
  readonly #session: RuntimeSession;
  readonly #options: MessagesOptions;
  /** Undefined before it was first built. */
  #turns: RecentTurns | undefined;
  /** Number of session events that the list includes. */
  #includedEvents = 0;
  /** Background jobs whose placeholder is in the conversation and that have not ended. */
  readonly #jobs = new Set<string>();
  /** The inputs that ran of the kept calls, if results are trimmed. */
  readonly #inputs = new Map<string, JsonObject>();
  #hasFiles = false;

  constructor(session: RuntimeSession, options: MessagesOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** Whether message content may hold a file or the address of one. */
  get hasFiles(): boolean {
    return this.#hasFiles;
  }

  /** Returns the messages for the next request. Later messages do not change the array. */
  messages(): readonly ModelMessage[] {
    return this.#currentTurns().messages.slice();
  }

  /** Returns the conversation of a new branch of the session. It is not built from the log if the branch has the same messages. */
  branch(branch: RuntimeSession): LoopConversation {
    const conversation = new LoopConversation(branch, this.#options);
    const base = branch.length - branch.ownLog.length;
    // A branch shows the jobs that run here as jobs that run elsewhere, and begins before a turn that runs.
    if (this.#session.jobs.length > 0 || base !== this.#session.length) return conversation;
    const turns = this.#currentTurns();
    for (const [callId, input] of this.#inputs) conversation.#inputs.set(callId, input);
    conversation.#turns = turns.copy(conversation.#turnOptions());
    conversation.#includedEvents = base;
    conversation.#hasFiles = this.#hasFiles;
    return conversation;
  }

  #currentTurns(): RecentTurns {
    return this.#addNewMessages() ?? this.#rebuild();
  }

  /** Returns the turns with the new messages. Undefined if the list must be built again. */
  #addNewMessages(): RecentTurns | undefined {
    const turns = this.#turns;
    if (turns === undefined || this.#includedEvents === this.#session.length) return turns;
    const events = this.#session.logSince(this.#includedEvents);
    if (events === undefined || !keepsEarlierMessages(events, this.#jobs)) return undefined;
    const added = pairMessages(buildConversation(events));
    if (added[0]?.role === "call" && turns.kept.at(-1)?.role === "assistant") return undefined; // the message that has this call is in earlier events
    if (!turns.add(added)) return undefined;
    this.#include(added, events, turns);
    return turns;
  }

  #rebuild(): RecentTurns {
    const all = pairMessages(wholeConversation(this.#session));
    this.#jobs.clear();
    this.#inputs.clear();
    this.#hasFiles = false;
    const turns = new RecentTurns(all, this.#turnOptions());
    this.#include(all, this.#options.trim === undefined ? [] : this.#session.log, turns);
    const running = new Set(this.#session.jobs.map(({ id }) => id));
    for (const callId of this.#jobs) if (!running.has(callId)) this.#jobs.delete(callId);
    this.#turns = turns;
    return turns;
  }

  #turnOptions(): RecentTurnsOptions {
    const { maxTurns = DEFAULT_MAX_TURNS, maxBytes = 0, trim } = this.#options;
    return { maxTurns, maxBytes, ...(trim === undefined ? {} : { trim: trimOptions(trim, this.#session.registry, this.#inputs) }) };
  }

  #include(added: readonly ModelMessage[], events: readonly SessionEvent[], turns: RecentTurns): void {
    if (!this.#hasFiles) this.#hasFiles = added.some(hasFiles);
    for (const message of added) if (message.role === "result" && message.result.status === "pending") this.#jobs.add(message.callId);
    for (const event of events) if (event.type === "job-end") this.#jobs.delete(event.callId);
    if (this.#options.trim !== undefined) this.#noteInputs(events, turns.kept);
    this.#includedEvents = this.#session.length;
  }

  /** Forgets the inputs of dropped calls once they are the larger part. */
  #noteInputs(events: readonly SessionEvent[], kept: readonly ModelMessage[]): void {
    for (const [callId, input] of readInputs(events)) this.#inputs.set(callId, input);
    if (this.#inputs.size <= kept.length) return;
    const calls = new Set(kept.flatMap((message) => (message.role === "call" ? [message.callId] : [])));
    for (const callId of this.#inputs.keys()) if (!calls.has(callId)) this.#inputs.delete(callId);
  }
}

/** Whether these events leave all earlier messages unchanged. @param jobs calls that became background jobs in earlier events */
function keepsEarlierMessages(events: readonly SessionEvent[], jobs: ReadonlySet<string>): boolean {
  const startedCalls = new Set<string>();
  const endedJobs = new Set<string>();
  for (const event of events) {
    const parent = "parentCallId" in event ? event.parentCallId : undefined;
    if (parent !== undefined && !startedCalls.has(parent) && !jobs.has(parent)) return false; // the parent may have been voided in an earlier event
    if (event.type === "call-start") startedCalls.add(event.callId);
    else if (event.type === "job-start" && !startedCalls.has(event.callId)) return false; // its call already has a place in the list
    else if (event.type === "job-end" && !startedCalls.has(event.callId) && !endedJobs.has(event.callId)) return false; // its result is in earlier events
    else if (event.type === "call-end") {
      if (jobs.has(event.callId)) endedJobs.add(event.callId);
      else if (!startedCalls.has(event.callId)) return false;
    } else if (
      (event.type === "round-end" || event.type === "batch-rollback") &&
      !event.callIds.every((callId) => startedCalls.has(callId))
    )
      return false;
  }
  return true;
}
