/** Builds the conversation that a model is shown from the events of a session. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { SessionEvent } from "../core/event.ts";
import { createJobMessage, createPendingResult } from "../core/jobs/job-message.ts";
import type { ModelMessage } from "../core/message.ts";
import { modelHistory, type ModelHistoryOptions } from "../history/model-history.ts";
import { mentionFiles } from "../policy/results/artifact-parts.ts";
import { findCalledTool } from "../registry/called-tool.ts";
import type { Registry } from "../registry/registry.ts";
import type { Session } from "../session/session.ts";

/** Which part of a conversation is shown. */
export interface MessagesOptions extends Omit<ModelHistoryOptions, "trim"> {
  /** Leave out results that newer calls supersede, above a share of a budget. @default they stay */
  readonly trim?: {
    /** Maximum size of the history, in bytes; three or four bytes are one token of English text. @default maxBytes */
    readonly budgetBytes?: number;
    /** The share of the budget above which results are left out. @default 0.75 */
    readonly threshold?: number;
    /** True for a call whose result must stay. */
    readonly pinned?: (callId: string) => boolean;
  };
}

const OPTIONS: OptionNames<MessagesOptions> = { maxTurns: true, maxBytes: true, trim: true };
const TRIM_OPTIONS: OptionNames<NonNullable<MessagesOptions["trim"]>> = { budgetBytes: true, threshold: true, pinned: true };

/** @throws ToolError `invalid_argument` for an unknown option */
export function checkMessagesOptions(options: MessagesOptions, owner: string): void {
  checkKnownKeys(options, OPTIONS, owner);
  if (options.trim !== undefined) checkKnownKeys(options.trim, TRIM_OPTIONS, `trim of ${owner}`);
}

type RoundEnd = SessionEvent & { readonly type: "round-end" };

type JobEvent = SessionEvent & { readonly type: "job-output" | "job-end" };

/** Facts about calls that are not in the given events. */
interface CallFacts {
  /** Whether, according to earlier events, a call was rolled back with its batch or voided with its message. */
  readonly wasRevoked: (callId: string) => boolean;
  /** Whether a job that has not ended runs in this session rather than in the one that it branched from. */
  readonly runsHere: (callId: string) => boolean;
}

/** The events that a conversation is made of. */
export const CONVERSATION_EVENTS: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "message-add",
  "call-start",
  "call-end",
  "round-end",
  "batch-rollback",
  "job-start",
  "job-output",
  "job-end",
]);

/**
 * All messages, calls and results, the oldest first; without rolled back batches, voided rounds, and messages and calls nested in either. Of
 * composite tools, the answer is included, but not the nested calls. The calls of a round follow the model's message directly, whenever they began.
 */
export function buildConversation(events: readonly SessionEvent[], known?: CallFacts): readonly ModelMessage[] {
  return new Conversation(events, known).messages;
}

class Conversation {
  readonly messages: ModelMessage[] = [];
  readonly #omitted = new Set<string>();
  readonly #rounds = new Map<string, RoundEnd>();
  readonly #calls = new Map<string, ModelMessage>();
  /** The ids of calls that became background jobs. */
  readonly #jobs = new Set<string>();
  #ended: (SessionEvent & { readonly type: "call-end" }) | undefined;
  /** Rounds that are in `messages` already. */
  readonly #written = new Set<RoundEnd>();
  /** The latest message of a model that has ended: later calls do not belong to it. */
  #lastMessage: ModelMessage | undefined;
  /** The ids of background jobs that have ended. */
  readonly #endedJobs = new Set<string>();
  readonly #facts: CallFacts | undefined;

  constructor(events: readonly SessionEvent[], known: CallFacts | undefined) {
    this.#facts = known;
    for (const event of events) this.#collect(event);
    for (const event of events) this.#write(event);
  }

  #collect(event: SessionEvent): void {
    if (event.type === "batch-rollback" || (event.type === "round-end" && event.voided !== undefined))
      for (const callId of event.callIds) this.#omitted.add(callId);
    else if (event.type === "round-end") for (const callId of event.callIds) this.#rounds.set(callId, event);
    else if (event.type === "job-end") this.#endedJobs.add(event.callId);
    else if (event.type === "call-start") {
      const { callId, turnId, at, call, overload } = event;
      if (event.ofComposite === true || this.#isOmitted(event.parentCallId)) this.#omitted.add(callId);
      this.#calls.set(callId, Object.freeze({ role: "call", at, callId, turnId, call, ...omitUndefined({ overload }) }));
    }
  }

  #write(event: SessionEvent): void {
    if ((event.type === "message-add" || event.type === "round-end") && this.#isOmitted(event.parentCallId)) return;
    if (event.type === "message-add") this.#add({ ...event.message, at: event.at });
    else if (event.type === "round-end") this.#writeRound(event);
    else if ("callId" in event && !this.#omitted.has(event.callId)) {
      const round = this.#rounds.get(event.callId);
      if (event.type === "job-start") this.#addPlaceholder(event);
      else if (event.type === "job-output" && event.asks === true) this.#addJob(event, { question: mentionFiles(event.text) });
      else if (event.type === "job-end" && this.#ended?.callId === event.callId) this.#addJob(event, this.#ended.result);
      else if (event.type === "call-end" && this.#isJob(event)) return;
      else if (event.type === "call-end") this.#add({ role: "result", at: event.at, callId: event.callId, result: event.result });
      else if (event.type !== "call-start") return;
      else if (round === undefined) this.#writeLoneCall(event);
      else this.#writeRound(round);
    }
  }

  /** Whether messages and calls nested in this call are left out with it. */
  #isOmitted(callId: string | undefined): boolean {
    return callId !== undefined && (this.#omitted.has(callId) || this.#facts?.wasRevoked(callId) === true);
  }

  #writeRound(round: RoundEnd): void {
    if (round.voided !== undefined || this.#written.has(round)) return;
    this.#written.add(round);
    const { message, at } = round;
    const calls = round.callIds.filter((callId) => !this.#omitted.has(callId));
    if (message.content.length > 0 || message.native !== undefined) this.#add({ ...message, at });
    else if (calls.length > 0) this.#startNewMessage(at);
    for (const callId of calls) this.#writeCall(callId);
    const last = this.messages.at(-1);
    if (last?.role === "assistant") this.#lastMessage = last;
  }

  #writeLoneCall({ at, callId }: SessionEvent & { readonly type: "call-start" }): void {
    this.#startNewMessage(at);
    this.#writeCall(callId);
  }

  /** Adds an empty message of the model if the next calls would otherwise join the previous message. */
  #startNewMessage(at: number): void {
    if (this.#lastMessage !== undefined && this.messages.at(-1) === this.#lastMessage) this.#add({ role: "assistant", at, content: "" });
  }

  /** Adds the placeholder, which stays the call's result, so that the history does not change. In a branch, it says that no other result follows. */
  #addPlaceholder({ at, callId, toolName, mode }: SessionEvent & { readonly type: "job-start" }): void {
    this.#jobs.add(callId);
    const call = this.#calls.get(callId);
    const id = call?.role === "call" ? call.call.id : undefined;
    const isElsewhere = !this.#endedJobs.has(callId) && this.#facts?.runsHere(callId) === false;
    this.#add({
      role: "result",
      at,
      callId,
      result: createPendingResult({ callId, id, name: toolName, mode: isElsewhere ? "elsewhere" : mode }),
    });
  }

  /** Notes a `call-end`, which directly precedes the `job-end`. Whether the call is a job; its `job-start` may be older than the events in memory. */
  #isJob(event: SessionEvent & { readonly type: "call-end" }): boolean {
    this.#ended = event;
    return this.#jobs.has(event.callId);
  }

  #addJob(event: JobEvent, content: Parameters<typeof createJobMessage>[1]): void {
    const { at, callId, toolName } = event;
    const quiet = event.type === "job-end" && !event.notify ? { notify: false as const } : {};
    this.#add({ ...createJobMessage({ callId, name: toolName }, content), ...quiet, at });
  }

  #add(message: ModelMessage): void {
    this.messages.push(Object.freeze(message));
  }

  #writeCall(callId: string): void {
    const call = this.#calls.get(callId);
    if (call !== undefined) this.messages.push(call);
  }
}

type MessagesSource = Session & { readonly jobs: readonly Pick<JobStatus, "id">[] };

/** The conversation as a model is shown it; see `modelHistory`. @throws ToolError `invalid_argument` */
export function buildMessages(session: MessagesSource, registry: Registry, options: MessagesOptions): readonly ModelMessage[] {
  const { trim, ...rest } = options;
  const conversation = wholeConversation(session);
  if (trim === undefined) return modelHistory(conversation, rest);
  return modelHistory(conversation, { ...rest, trim: trimOptions(trim, registry, readInputs(session.log)) });
}

/** The conversation of a session from all its events in memory, before anything is left out. */
export function wholeConversation(session: MessagesSource): readonly ModelMessage[] {
  const jobs = new Set(session.jobs.map(({ id }) => id));
  return buildConversation(session.conversationEvents, {
    wasRevoked: (callId) => session.wasRevoked(callId),
    runsHere: (callId) => jobs.has(callId),
  });
}

/** The inputs that ran, by the ids of calls. */
export function readInputs(events: readonly SessionEvent[]): Map<string, JsonObject> {
  return new Map(events.flatMap((event) => (event.type === "call-end" && event.input !== undefined ? [[event.callId, event.input]] : [])));
}

/** The options of `trimResults`, with the tools of a registry. */
export function trimOptions(
  trim: NonNullable<MessagesOptions["trim"]>,
  registry: Registry,
  inputs: ReadonlyMap<string, JsonObject>,
): NonNullable<ModelHistoryOptions["trim"]> {
  return { ...trim, toolOf: (name, input) => findCalledTool(registry, name, input)?.tool, inputOf: (callId) => inputs.get(callId) };
}
