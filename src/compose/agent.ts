/** An agent: a loop that runs whenever a message arrives, and is idle in between. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ToolError, describeThrown, isToolError, operatorText } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { wrongKind, checkText } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { JobStatus } from "../core/job-status.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import { endedWell } from "../core/model.ts";
import { endsTurn } from "../call/admit/turn-rules.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { createLoop, type Loop, type ResumeDecisions } from "./loop.ts";
import type { LoopEvent } from "./loop-event.ts";
import type { LoopOptions } from "./loop-options.ts";
import type { LoopResult } from "./loop-result.ts";
import type { PendingCall } from "./pending-calls.ts";
import { tellSafely } from "../policy/tell-safely.ts";

/** An agent is made of the same parts as a loop. */
export interface AgentOptions extends Omit<LoopOptions, "recordHistory"> {
  /** Called with the result of each run. Throwing is logged and changes nothing. */
  readonly onResult?: (result: LoopResult) => void;
  /**
   * Called when a run failed in a way that has no result, such as a store that cannot be written, and with `duplicate` when the agent was started and the
   * store already has a session of its session's id. Throwing is logged. @default it is logged
   */
  readonly onError?: (error: ToolError) => void;
  /** Runs the triggers of the session while the agent is started: see `createTriggers` of `haft/triggers`. @default they rest */
  readonly triggers?: AgentTriggers;
}

/** The triggers that wake agents, as an agent uses them. */
export interface AgentTriggers {
  of(session: RuntimeSession): {
    /** @param onFire called when a message of a trigger is in the inbox */
    start(onFire: () => void): void;
    /** Resolves when no message of theirs is on its way any more. */
    stop(): Promise<void>;
  };
}

/** `stopped`: it takes no messages until `start`; `idle`: it waits for a message; `waiting`: it has a run, and a call of it, or of its delegates, waits for approval. */
export type AgentState = "stopped" | "idle" | "running" | "waiting";

/** Options of one message to an agent. */
export interface SendOptions {
  /** The sender, for those who look into the inbox. */
  readonly sender?: string;
  /** The id of the principal that sends it, as an authenticator gave it: kept with the message. */
  readonly principal?: string;
}

/** Options of an agent's start. */
export interface AgentStartOptions {
  /** Begin a run at once for messages that wait in the inbox, or were never answered before a crash. False: the next run takes them up. @default true */
  readonly goOn?: boolean;
}

/** A loop with an inbox, made by `createAgent`. It has one run at a time. */
export interface Agent {
  readonly session: RuntimeSession;
  readonly state: AgentState;
  /**
   * Puts a message into the inbox: the model receives it with its next request, or in the next run, in the order of arrival. Resolves when it
   * is durable: from then on it is received once, after a crash as well.
   *
   * @throws ToolError `invalid_argument`, `store_failed`. By rejecting
   */
  send(message: string | SessionMessage, options?: SendOptions): Promise<void>;
  /** Begins a run although there is no new message, or another one after the current run. */
  wake(): void;
  /**
   * Begins to listen. What waits in the inbox, or was never answered before a crash, begins a run at once. When the session cannot begin, as the store has one of its id
   * already, `onError` is called and the agent is stopped. Idempotent.
   *
   * @throws ToolError `invalid_argument`
   */
  start(options?: AgentStartOptions): void;
  /** Cancels the current run and keeps listening: a later message begins the next. False when there is none. */
  cancel(reason?: string): boolean;
  /** Cancels the current run and takes no more messages. Resolves when it has ended; waiting messages stay in the inbox. Idempotent. */
  stop(): Promise<void>;
  /** Resolves when no run is active and none is due, at once for an agent that is stopped. */
  whenIdle(): Promise<void>;
  /** The calls that wait for `decide`. */
  pending(): readonly PendingCall[];
  /** Decides calls that wait for approval, and continues; as `Loop.resume`. @throws ToolError `resource_busy` during a run. By rejecting */
  decide(decisions: ResumeDecisions): Promise<void>;
}

/**
 * Makes an agent of a session and a model. It is woken by messages (`send`), by the ends of background jobs whose tools do not say
 * `notify: false`, by what such jobs ask, and by the triggers of its session. Stopped at first.
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
  /** There is something that no request has had. */
  #isDue = false;
  #run: Promise<void> | undefined;
  #cancel: AbortController | undefined;
  /** Runs are made where the agent was started, and are no part of the call that woke it. */
  #whereStarted = AsyncLocalStorage.snapshot();
  /** The ids of inbox entries that the loop was given and has not said yet. */
  #handed: ReadonlySet<string> = new Set();

  constructor(options: AgentOptions) {
    if (!isOptionsObject(options)) throw wrongKind("The options of createAgent() are an object", options, "{ model, session }");
    const { onResult: _result, onError: _error, triggers, ...rest } = options;
    if (triggers !== undefined && typeof triggers.of !== "function")
      throw new ToolError("invalid_argument", 'The option "triggers" of createAgent() is made by createTriggers().');
    if (Reflect.get(rest, "recordHistory") === false)
      throw new ToolError("invalid_argument", "An agent records its history: what it has heard is in the log of its session.", {
        hint: "Use createLoop({ recordHistory: false }) for what shall leave nothing.",
      });
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
    this.#hearInbox();
  }

  wake(): void {
    this.#isDue = true;
    this.#begin();
  }

  cancel(reason: string = "The run was cancelled."): boolean {
    checkText(reason, "cancel() of an agent", "the reason");
    if (this.#run === undefined) return false;
    this.#isDue = false; // what comes from now on begins the next
    this.#cancel?.abort(new ToolError("cancelled", reason));
    return true;
  }

  start(options: AgentStartOptions = {}): void {
    checkKnownKeys(options, START_OPTIONS, "start() of an agent");
    if (this.#stopListening !== undefined) return;
    this.#whereStarted = AsyncLocalStorage.snapshot();
    this.#stopListening = this.session.onJob((job) => this.#wakeFor(job));
    this.#handOver();
    if (options.goOn !== false && (this.session.inbox.length > 0 || this.#wasCutOff())) this.wake();
    else this.#begin();
    this.#triggers?.start(() => this.#hearInbox());
    void this.session.ready?.catch(async (thrown: unknown) => {
      this.#report("An agent cannot run", thrown);
      await this.stop();
    });
  }

  async stop(): Promise<void> {
    this.#stopListening?.();
    this.#stopListening = undefined;
    if (this.#run !== undefined) this.#isDue = false;
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
      throw new ToolError("resource_busy", "The agent runs: decide when the run has ended.", {
        retryable: true,
        operatorHint: "Await agent.whenIdle().",
      });
    let wrong: ToolError | undefined;
    let wasDue = false;
    await this.#play((signal) =>
      this.#loop.resume(decisions, { signal }).catch((thrown: unknown) => {
        if (isToolError(thrown) && thrown.code === "invalid_argument") wrong = thrown;
        wasDue = this.#isDue;
        throw thrown;
      }),
    );
    if (wrong === undefined) return;
    if (wasDue) this.wake(); // no model was asked, so what came meanwhile is still to be heard
    throw wrong;
  }

  #wakeFor({ question, notify }: JobStatus): void {
    if (notify || question !== undefined) this.wake();
  }

  #hearInbox(): void {
    this.#handOver();
    this.wake();
  }

  /** Gives the loop each entry of the inbox, once, to be said before its next request. */
  #handOver(): void {
    if (this.#stopListening === undefined) return;
    const { inbox } = this.session;
    for (const { id, message } of inbox) if (!this.#handed.has(id)) this.#loop.steer(message);
    this.#handed = new Set(inbox.map(({ id }) => id)); // those that were said have left it
  }

  /** The last message is not the model's, or a call was answered, and the model has not replied. */
  #wasCutOff(): boolean {
    const said = this.session.messages().filter(({ role }) => role !== "system");
    const last = said.findLast((message) => !isQuiet(message));
    if (last === undefined || last.role === "assistant" || saidNothing(this.session)) return false;
    if (last.role === "result" && last.result.status === "pending" && last !== said.at(-1)) return false; // its job does not notify
    return !endsWithTurn(said, this.session) && this.#loop.pending().length === 0;
  }

  #begin(): void {
    if (!this.#isDue || this.#run !== undefined || this.#stopListening === undefined) return;
    if (this.#loop.pending().length > 0 || this.session.closed) return; // a decision continues it
    void this.#play((signal) => this.#loop.run(undefined, { signal }));
  }

  #play(work: (signal: AbortSignal) => Promise<LoopResult>): Promise<void> {
    const cancel = (this.#cancel = new AbortController());
    const run = this.#follow(
      this.#whereStarted(() => work(cancel.signal)),
      cancel.signal,
    ).finally(() => {
      this.#run = undefined;
      this.#begin();
    });
    this.#run = run;
    return run;
  }

  /** Never rejects. */
  async #follow(running: Promise<LoopResult>, signal: AbortSignal): Promise<void> {
    try {
      const result = await running;
      if (result.reason !== "answered" && !signal.aborted) this.#isDue &&= GOES_ON.has(result.reason);
      this.#tell("onResult", () => this.#options.onResult?.(result));
    } catch (thrown: unknown) {
      this.#isDue = false; // the same would fail again
      if (signal.aborted && this.session.broken !== undefined) return; // it was stopped, and its session is another's
      this.#report("A run of an agent failed", thrown);
    }
  }

  #report(what: string, thrown: unknown): void {
    const { onError } = this.#options;
    if (onError === undefined) this.#warn(`${what}: ${operatorText(thrown)}`);
    else this.#tell("onError", () => onError(ToolError.fromUnknown(thrown)));
  }

  /** Calls a function of the program, which ends neither the run nor the agent. */
  #tell(name: string, call: () => unknown): void {
    tellSafely(call, (thrown) => this.#warn(`${name} of an agent threw: ${describeThrown(thrown)}`));
  }

  #warn(message: string): void {
    this.session.ports.log.warn(message);
  }

  #onEvent(event: LoopEvent): unknown {
    if (event.type === "round-start") this.#isDue = false; // the request that is made now has it all
    return this.#options.onEvent?.(event);
  }
}

const START_OPTIONS: OptionNames<AgentStartOptions> = { goOn: true };

/** After these ends another run makes sense for what came meanwhile; after the others nothing could be said, or it would fail again. */
const GOES_ON: ReadonlySet<LoopResult["reason"]> = new Set([
  "tool-ended-turn",
  "one-action",
  "stop-condition",
  "timeout",
  "max-rounds",
  "length",
  "budget", // each run has a budget, and a count of repeated calls, of its own
  "repeated-calls",
  "content-filter",
  "refusal",
  "nothing-pending", // of a decision: no model was asked
]);

/** The end of a job whose tool has `notify: false`. */
function isQuiet(message: ModelMessage): boolean {
  return message.role === "job" && message.notify === false;
}

/** The model's last message was whole and empty, which leaves no message. */
function saidNothing({ log }: RuntimeSession): boolean {
  const last = log.findLast((event) => (event.type === "message-add" ? event.message.role !== "system" : CALLS_FOR_REPLY.has(event.type)));
  return last?.type === "round-end" && last.voided === undefined && last.callIds.length === 0 && endedWell(last.finish);
}

const CALLS_FOR_REPLY: ReadonlySet<SessionEvent["type"]> = new Set(["round-end", "call-end", "job-start", "job-output", "job-end"]);

/** The last calls are answered, and one of them has ended the turn: as where a loop ends with `tool-ended-turn`. */
function endsWithTurn(said: readonly ModelMessage[], { registry }: RuntimeSession): boolean {
  const results = said.slice(said.findLastIndex((message) => message.role !== "result" && !isQuiet(message)) + 1);
  return results.some((message) => {
    if (message.role !== "result") return false;
    const { name, status, error } = message.result;
    const tool = registry.get(name)?.tool;
    return (
      tool !== undefined && endsTurn(tool) && status !== "skipped" && error?.outcome !== "not_started" && error?.code !== "outcome_unknown"
    );
  });
}
