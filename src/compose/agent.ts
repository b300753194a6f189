/** An agent: a loop that runs whenever a message arrives, and is idle in between. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ToolError, describeThrown, isToolError, formatForOperator } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { wrongTypeError, checkString } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import { endedWell } from "../core/model.ts";
import { endsTurn } from "../call/admit/turn-rules.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { latestEvents } from "../session/latest-events.ts";
import { toolOfResult } from "../runtime/tool-of-result.ts";
import { createLoop, type Loop, type ResumeDecisions } from "./loop.ts";
import type { LoopEvent } from "./loop-event.ts";
import { checkLoopOptionNames, type LoopOptions } from "./loop-options.ts";
import type { LoopResult } from "./loop-result.ts";
import type { PendingCall } from "./pending-calls.ts";
import { notifySafely } from "../policy/notify-safely.ts";

/** Options of `createAgent`: those of a loop, without `recordHistory`. */
export interface AgentOptions extends Omit<LoopOptions, "recordHistory"> {
  /** Called with the result of each run. If it throws, that is logged and has no other effect. */
  readonly onResult?: (result: LoopResult) => void;
  /**
   * Called when a run fails without a result, for example because the store cannot be written; and with `duplicate` if the agent is started and the
   * store already has a session with its session's id. If it throws, that is logged. @default the error is logged
   */
  readonly onError?: (error: ToolError) => void;
  /** Runs the triggers of the session while the agent is started: see `createTriggers` of `haft/triggers`. @default no triggers run */
  readonly triggers?: AgentTriggers;
}

/** The interface between an agent and the triggers that wake it. */
export interface AgentTriggers {
  of(session: RuntimeSession): {
    /** @param onFire called when a message of a trigger has been put into the inbox */
    start(onFire: () => void): void;
    /** Resolves when no message of the triggers is on its way any more. */
    stop(): Promise<void>;
  };
}

/** `stopped`: takes no messages until `start`; `idle`: waits for a message; `waiting`: a call of its run, or of its delegates, waits for approval. */
export type AgentState = "stopped" | "idle" | "running" | "waiting";

/** Options of one message to an agent. */
export interface SendOptions {
  /** The sender, for those who read the inbox. */
  readonly sender?: string;
  /** The id of the principal that sends the message, as an authenticator gave it. Kept with the message. */
  readonly principal?: string;
}

/** Options of an agent's start. */
export interface AgentStartOptions {
  /** Whether inbox messages, and those unanswered before a crash, begin a run at once. If false, the next run includes them. @default true */
  readonly runPending?: boolean;
}

/** A loop with an inbox, made by `createAgent`. It has one run at a time. */
export interface Agent {
  readonly session: RuntimeSession;
  readonly state: AgentState;
  /**
   * Puts a message into the inbox: the model receives it with its next request, or in the next run, in the order of arrival. Resolves when the
   * message is durable: from then on it is received exactly once, even after a crash.
   *
   * @throws ToolError `invalid_argument`, `store_failed`, as a rejection
   */
  send(message: string | SessionMessage, options?: SendOptions): Promise<void>;
  /** Begins a run without a new message. If a run is active, another one follows it. */
  wake(): void;
  /**
   * Starts listening. Messages that wait in the inbox, or were never answered before a crash, begin a run at once. If the session cannot begin
   * because the store already has one with its id, `onError` is called and the agent is stopped. Idempotent.
   *
   * @throws ToolError `invalid_argument`
   */
  start(options?: AgentStartOptions): void;
  /** Cancels the current run and keeps listening: a later message begins the next. False if there is no run. */
  cancel(reason?: string): boolean;
  /** Cancels the current run and takes no more messages. Resolves when it has ended; waiting messages stay in the inbox. Idempotent. */
  stop(): Promise<void>;
  /** Resolves when no run is active and none is due; at once for a stopped agent. */
  whenIdle(): Promise<void>;
  /** The calls that wait for approval, to be decided with `decide`. */
  pending(): readonly PendingCall[];
  /** Decides calls that wait for approval, and continues; like `Loop.resume`. @throws ToolError `resource_busy` during a run, as a rejection */
  decide(decisions: ResumeDecisions): Promise<void>;
}

/**
 * Makes an agent of a session and a model. It is woken by messages (`send`), by the end of a background job unless its tool has `notify: false`, by a
 * question of a background job, and by the triggers of its session. Not started yet: call `start`.
 *
 * @throws ToolError `invalid_argument`
 */
export function createAgent(options: AgentOptions): Agent {
  return new SessionAgent(options);
}

class SessionAgent implements Agent {
  readonly session: RuntimeSession;
  readonly #options: AgentOptions;
  readonly #loop: Loop;
  readonly #triggers: ReturnType<AgentTriggers["of"]> | undefined;
  #stopListening: (() => void) | undefined;
  /** Whether there is input that no request has included yet. */
  #hasNewInput = false;
  #run: Promise<void> | undefined;
  #cancel: AbortController | undefined;
  /** Runs are made in the async context of `start`, not in that of the call that woke the agent. */
  #runInStartContext = AsyncLocalStorage.snapshot();
  /** The ids of inbox entries that were passed to the loop and not yet added to the session. */
  #forwardedIds: ReadonlySet<string> = new Set();

  constructor(options: AgentOptions) {
    if (!isOptionsObject(options)) throw wrongTypeError("The options of createAgent() must be an object", options, "{ model, session }");
    const { onResult: _result, onError: _error, triggers, ...rest } = options;
    if (triggers !== undefined && typeof triggers.of !== "function")
      throw new ToolError("invalid_argument", 'The option "triggers" of createAgent() must come from createTriggers().');
    if (Reflect.get(rest, "recordHistory") === false)
      throw new ToolError("invalid_argument", "An agent records its history: its messages are in the log of its session.", {
        hint: "Use createLoop({ recordHistory: false }) for a run that must leave no record.",
      });
    checkLoopOptionNames(options, "createAgent()", AGENT_OPTIONS);
    this.#options = options;
    this.#loop = createLoop({ ...rest, onEvent: (event) => this.#onEvent(event) });
    this.session = options.session;
    this.#triggers = triggers?.of(options.session);
  }

  get state(): AgentState {
    if (this.#run !== undefined) return this.session.awaitingApproval > 0 ? "waiting" : "running";
    return this.#stopListening === undefined ? "stopped" : "idle";
  }

  async send(message: string | SessionMessage, options: SendOptions = {}): Promise<void> {
    await this.session.receive(typeof message === "string" ? { role: "user", content: message } : message, options);
    this.#onInboxMessage();
  }

  wake(): void {
    this.#hasNewInput = true;
    this.#startRunIfDue();
  }

  cancel(reason: string = "The run was cancelled."): boolean {
    checkString(reason, "cancel() of an agent", "the reason");
    if (this.#run === undefined) return false;
    this.#hasNewInput = false; // messages that arrive from now on begin the next run
    this.#cancel?.abort(new ToolError("cancelled", reason));
    return true;
  }

  start(options: AgentStartOptions = {}): void {
    checkKnownKeys(options, START_OPTIONS, "start() of an agent");
    if (this.#stopListening !== undefined) return;
    this.#runInStartContext = AsyncLocalStorage.snapshot();
    this.#stopListening = this.session.onJob((job) => this.#onJobUpdate(job));
    this.#forwardInbox();
    if (options.runPending !== false && (this.session.inbox.length > 0 || this.#owesReply())) this.wake();
    else this.#startRunIfDue();
    this.#triggers?.start(() => this.#onInboxMessage());
    void this.session.ready?.catch(async (thrown: unknown) => {
      this.#report("An agent cannot run", thrown);
      await this.stop();
    });
  }

  async stop(): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = undefined;
    if (this.#run !== undefined) this.#hasNewInput = false;
    this.#cancel?.abort(new ToolError("cancelled", "The agent was stopped."));
    await this.#triggers?.stop();
    await this.#run;
  }

  async whenIdle(): Promise<void> {
    while (this.#run !== undefined) await this.#run;
  }

  pending(): readonly PendingCall[] {
    return this.#loop.pending();
  }

  async decide(decisions: ResumeDecisions): Promise<void> {
    if (this.#run !== undefined)
      throw new ToolError("resource_busy", "The agent is running: decide after the run has ended.", {
        retryable: true,
        operatorHint: "Await agent.whenIdle().",
      });
    let wrong: ToolError | undefined;
    let hadNewInput = false;
    await this.#startRun((signal) =>
      this.#loop.resume(decisions, { signal }).catch((thrown: unknown) => {
        if (isToolError(thrown) && thrown.code === "invalid_argument") wrong = thrown;
        hadNewInput = this.#hasNewInput;
        throw thrown;
      }),
    );
    if (wrong === undefined) return;
    if (hadNewInput) this.wake(); // no model was asked, so messages that arrived meanwhile are still unread
    throw wrong;
  }

  #onJobUpdate({ question, notify }: JobStatus): void {
    if (notify || question !== undefined) this.wake();
  }

  #onInboxMessage(): void {
    this.#forwardInbox();
    this.wake();
  }

  /** Passes each entry of the inbox to the loop once, to be added before its next request. */
  #forwardInbox(): void {
    if (this.#stopListening === undefined) return;
    const { inbox } = this.session;
    for (const { id, message } of inbox) if (!this.#forwardedIds.has(id)) this.#loop.steer(message);
    this.#forwardedIds = new Set(inbox.map(({ id }) => id)); // drops the ids of entries that have left the inbox
  }

  /** Whether the model still owes a reply: the last message is not the model's, or a call was answered. */
  #owesReply(): boolean {
    const messages = this.session.messages().filter(({ role }) => role !== "system");
    const last = messages.findLast((message) => !isSilentJobEnd(message));
    if (last === undefined || last.role === "assistant" || isLastReplyEmpty(this.session)) return false;
    if (last.role === "result" && last.result.status === "pending" && last !== messages.at(-1)) return false; // its job does not notify
    return !hasEndedTurn(messages, this.session) && this.#loop.pending().length === 0;
  }

  #startRunIfDue(): void {
    if (!this.#hasNewInput || this.#run !== undefined || this.#stopListening === undefined) return;
    if (this.#loop.pending().length > 0 || this.session.closed) return; // the run continues with a decision
    void this.#startRun((signal) => this.#loop.run(undefined, { signal }));
  }

  #startRun(work: (signal: AbortSignal) => Promise<LoopResult>): Promise<void> {
    const cancel = (this.#cancel = new AbortController());
    const run = this.#awaitRun(
      this.#runInStartContext(() => work(cancel.signal)),
      cancel.signal,
    ).finally(() => {
      this.#run = undefined;
      this.#startRunIfDue();
    });
    this.#run = run;
    return run;
  }

  /** Never rejects. */
  async #awaitRun(running: Promise<LoopResult>, signal: AbortSignal): Promise<void> {
    try {
      const result = await running;
      if (result.reason !== "answered" && !signal.aborted) this.#hasNewInput &&= CONTINUABLE_REASONS.has(result.reason);
      this.#callListener("onResult", () => this.#options.onResult?.(result));
    } catch (thrown: unknown) {
      this.#hasNewInput = false; // another run would fail the same way
      if (signal.aborted && this.session.broken !== undefined) return; // the run was cancelled, and another process now has the session
      this.#report("A run of an agent failed", thrown);
    }
  }

  #report(what: string, thrown: unknown): void {
    const { onError } = this.#options;
    if (onError === undefined) this.#warn(`${what}: ${formatForOperator(thrown)}`);
    else this.#callListener("onError", () => onError(ToolError.fromUnknown(thrown)));
  }

  /** Calls a function of the program. If it throws, that is logged and ends neither the run nor the agent. */
  #callListener(name: string, call: () => unknown): void {
    notifySafely(call, (thrown) => this.#warn(`${name} of an agent threw: ${describeThrown(thrown)}`));
  }

  #warn(message: string): void {
    this.session.ports.log.warn(message);
  }

  #onEvent(event: LoopEvent): unknown {
    if (event.type === "round-start") this.#hasNewInput = false; // this request includes all input so far
    return this.#options.onEvent?.(event);
  }
}

const AGENT_OPTIONS = { onResult: "function", onError: "function", triggers: true } as const;
const START_OPTIONS: OptionNames<AgentStartOptions> = { runPending: true };

/** Reasons after which a run for messages that arrived meanwhile makes sense. After the others it could say nothing, or would fail again. */
const CONTINUABLE_REASONS: ReadonlySet<LoopResult["reason"]> = new Set([
  "tool-ended-turn",
  "one-action",
  "stop-condition",
  "timeout",
  "max-rounds",
  "length",
  "budget", // each run has its own budget and its own count of repeated calls
  "repeated-calls",
  "content-filter",
  "refusal",
  "nothing-pending", // from a decision: no model was asked
]);

/** Whether the message is the end of a job whose tool has `notify: false`. */
function isSilentJobEnd(message: ModelMessage): boolean {
  return message.role === "job" && message.notify === false;
}

/** Whether the model's last reply was complete and empty, which leaves no message. */
function isLastReplyEmpty(session: RuntimeSession): boolean {
  const last = latestEvents(session).find((event) =>
    event.type === "message-add" ? event.message.role !== "system" : REPLY_EVENTS.has(event.type),
  );
  return last?.type === "round-end" && last.voided === undefined && last.callIds.length === 0 && endedWell(last.finish);
}

const REPLY_EVENTS: ReadonlySet<SessionEvent["type"]> = new Set(["round-end", "call-end", "job-start", "job-output", "job-end"]);

/** Whether the last calls are answered and one of them ended the turn, as when a loop ends with `tool-ended-turn`. */
function hasEndedTurn(messages: readonly ModelMessage[], session: RuntimeSession): boolean {
  const results = messages.slice(messages.findLastIndex((message) => message.role !== "result" && !isSilentJobEnd(message)) + 1);
  return results.some((message) => {
    if (message.role !== "result") return false;
    const { status, error } = message.result;
    const tool = toolOfResult(session, message.result)?.tool;
    return (
      tool !== undefined && endsTurn(tool) && status !== "skipped" && error?.outcome !== "not_started" && error?.code !== "outcome_unknown"
    );
  });
}
