/** The state of one call on its way through the pipeline, and the parts of the runtime it uses. */
import type { ApprovalPreview } from "../core/approval-preview.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { CoveredCall } from "../core/approval-store.ts";
import type { Approvals } from "../core/approvals.ts";
import type { ToolCall } from "../core/call.ts";
import type { ResolvedEffects, LockKeys } from "../core/effects.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../core/event.ts";
import type { Hook } from "../core/hook.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { LockTicket, Locks } from "../core/locks.ts";
import type { Clock, Ports } from "../core/ports.ts";
import type { EventLog } from "../core/store.ts";
import type { Tool } from "../core/tool.ts";
import type { Repair, ToolResult } from "../core/result.ts";
import type { Tracing } from "../core/tracing.ts";
import type { Interrupt, Interruptible } from "../policy/attempts/deadline.ts";
import type { Limit } from "../policy/locks/limit.ts";
import type { ResultCache } from "../policy/cache/result-cache.ts";
import type { LargeResultStore } from "../policy/results/large-result-store.ts";
import type { RetrySettings } from "../policy/attempts/retry.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import type { CallOptions } from "./call-options.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import type { CallCounters, OrphanCount } from "./call-counters.ts";
import type { CallAnswer } from "./finish/call-answer.ts";
import type { CallTiming } from "./finish/call-timing.ts";
import type { EarlierRun, ResumedCall } from "./admit/earlier-calls.ts";
import type { FallbackChains } from "./fallback-chains.ts";
import { idempotencyKey } from "./attempt/idempotency-key.ts";
import type { CallJob } from "./jobs/job.ts";
import type { JobOutputBuffer } from "./jobs/job-output.ts";
import type { JobTable } from "./jobs/job-table.ts";
import type { BeginningAttempt, ExecuteWithin } from "./context/execute-within.ts";
import type { CachedRead } from "./cache/cache-plan.ts";
import type { CallFaults, Faults } from "./attempt/faults.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { Registry } from "../registry/registry.ts";
import type { HeldSlot } from "./attempt/lent-hold.ts";
import { lockKeysIn } from "./admit/resolve-effects.ts";
import type { RunningCall, RunningCalls } from "./running-calls.ts";
import type { Route } from "./route.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { RunningTurn } from "../session/turn-queue.ts";
import type { ToolPlan } from "./tool-plan.ts";

/** The parts of the runtime that the pipeline uses. */
export interface CallParts {
  readonly ports: Ports;
  readonly registry: Registry;
  readonly locks: Locks;
  /** Those of shared toolsets, of all processes that use the store; undefined without a store. */
  readonly leases: Locks | undefined;
  readonly limit: Limit | undefined;
  readonly approvals: Approvals;
  readonly beforeHooks: readonly Hook[];
  readonly afterHooks: readonly Hook[];
  /** Name of a hook that does not say what becomes of it in a simulation: none of a simulation's calls can be run. */
  readonly undecidedHook: string | undefined;
  readonly largeResults: LargeResultStore;
  /** Where the files of answers are kept; false = nowhere, they are left out; undefined = in the log itself. */
  readonly artifacts: ArtifactStore | false | undefined;
  readonly cache: ResultCache;
  readonly retry: RetrySettings;
  readonly faults: Faults;
  readonly inputLimits: JsonLimits;
  readonly orphanHoldMs: number;
  readonly agentName: string | undefined;
  /** Absolute; undefined = the folder of the process, whichever it is. */
  readonly workingFolder: string | undefined;
  readonly running: RunningCalls<CallRun>;
  readonly claims: ClaimWatch<CallRun>;
  /** Calls made inside others that wait for locks or slots. */
  readonly nestedWaits: Set<CallRun>;
  readonly jobs: JobTable;
  /** Abandoned handlers that still run and hold something, by call id. */
  readonly orphans: Map<string, OrphanCount>;
  readonly counters: CallCounters;
  readonly chains: FallbackChains;
  /** For engines that use earlier calls. */
  readonly toolNamed: (qualifiedName: string) => Tool | undefined;
  /** The log keeps debug lines, so that each decision of a model is worth writing down. */
  readonly logsDecisions: boolean;
  /** Whether there are listeners; changes when listeners come and go. */
  listening: boolean;
  /** Makes traces of calls; undefined while there are none. */
  tracing: Tracing | undefined;
  planOf(registered: RegisteredTool): ToolPlan;
  readonly executeWithin: ExecuteWithin<AdmittedCall>;
  /** Begins a session that belongs to the call. @param allow narrows what its interrupted calls may still be of */
  beginWithin(run: AdmittedCall, allow: VisibilityRules | undefined, attempt: BeginningAttempt): Promise<Session>;
  /** Simulates the call. Never rejects. */
  simulate(run: AdmittedCall): Promise<SimulatedCall>;
  /** Set where its calls may not be put to anybody: each that needs approval ends `approval_required`. */
  readonly asksNobody?: true;
  emit(event: RuntimeEvent): void;
}

/** The result of a call, without a promise where nothing has to be waited for. */
export type Answer = ToolResult | Promise<ToolResult>;

/** A call as a simulation of it went. */
export interface SimulatedCall {
  readonly preview: ApprovalPreview;
  /** Those that it made, whole and in their order. */
  readonly calls: readonly CoveredCall[];
}

export const NO_REPAIRS: readonly Repair[] = Object.freeze([]);
export const NO_WARNINGS: readonly string[] = Object.freeze([]);

/**
 * One call between its arrival and its result. Steps take the phase that they need, `ResolvedCall` or `AdmittedCall`, which hold what is known
 * by then. A field that is undefined here either is not known before a phase, or need not happen at all. One that few calls set is declared
 * only: it takes no room in the others.
 */
export class CallRun implements Interruptible, RunningCall<CallRun> {
  readonly parts: CallParts;
  readonly turn: Turn;
  readonly options: CallOptions;
  readonly clock: Clock;
  readonly callId: string;
  readonly startedAt: number;

  // The call as it came, and as hooks left it.
  call: ToolCall;
  isRewritten = false; // a hook or its caller made another input of the one that it came with
  declare isProviderQuestion: true | undefined; // its answer goes to the model's provider, which makes the call
  declare background: boolean | undefined; // its caller said whether it goes to the background, in place of its options
  declare resumed: ResumedCall | undefined; // set for a call that had begun before a crash
  /** Why it is not to be admitted: it cannot be read, its round refuses it, or it may not be run again after a crash. It ends with this. */
  declare refusal: ToolError | undefined;

  // From `ResolvedCall` on.
  plan: ToolPlan | undefined;
  /** On the clock; `Infinity` until the tool is known. */
  deadlineAt = Infinity;

  // From `FittedCall` on.
  input: JsonObject | undefined;
  parsed: unknown;
  declare safetyChecks: JsonObject | undefined; // the fields of its input that the model's provider wants confirmed

  // From `AdmittedCall` on.
  effects: ResolvedEffects | undefined;
  route: Route | undefined;
  declare enteredTurn: string | undefined; // its tool, where a rule of its turn has noted it
  declare awaiting: number | undefined; // how many calls wait for approval: it, and those made in it, of any session

  // While it is attempted.
  ticket: LockTicket | undefined;
  slots: readonly HeldSlot[] | undefined;
  declare awaitedSlot: HeldSlot | undefined; // set while it waits for a slot of this limit
  declare read: CachedRead | undefined; // set while it may be answered from the cache, or may answer others
  declare faults: CallFaults | undefined; // set where calls may meet faults on purpose
  attempts = 0;
  attemptAt = -Infinity; // when the latest of them began, on the clock
  declare timing: CallTiming | undefined; // set once it has waited, or is tried again
  wait: Interrupt | undefined;
  /** The promise of the latest attempt whose handler was waited for. */
  awaited: { readonly promise: Promise<unknown>; readonly resolve: (answer: never) => void } | undefined;

  // Its end.
  readonly answer: CallAnswer = { raw: undefined, output: undefined, outputBound: undefined };
  repairs: readonly Repair[] = NO_REPAIRS;
  warnings: readonly string[] = NO_WARNINGS;
  declare cancelled: ToolError | undefined; // what every later step ends with
  failure: ToolError | undefined; // the error that it ended with, with its cause, which no result has
  result: ToolResult | undefined;
  declare atEnd: (() => void) | undefined; // called when it has its result

  // As a background job.
  /** The promise that its caller waits for; set while it may still become one. */
  pendingAnswer: { readonly resolve: (answer: ToolResult) => void } | undefined;
  declare job: CallJob | undefined;
  declare jobSlot: HeldSlot | undefined;
  declare beside: RunningTurn | undefined; // where its handler's own calls belong: outside the turns of its session

  // Among other calls.
  earlier: CallRun | undefined = undefined;
  later: CallRun | undefined = undefined;
  /** The call whose handler made it, of any session, which lends it its locks and slots. `turn.madeIn` is of the same session only. */
  declare madeBy: CallRun | undefined;
  declare unanswered: number | undefined; // how many `context.execute` in it have not come back with answers to all their calls
  /** Why its message was voided, or its batch rolled back; the calls that its handler makes from then on are not run. */
  declare takenBack: string | undefined;
  isSettled = false; // nothing takes it back any more, as its batch or message is over

  #outputBuffer: JobOutputBuffer | undefined;
  #idempotencyKey: string | undefined;
  #holdsProcess = false;

  constructor(parts: CallParts, turn: Turn, options: CallOptions, call: ToolCall, earlier?: EarlierRun) {
    this.parts = parts;
    this.turn = turn;
    this.options = options;
    this.clock = parts.ports.clock;
    this.callId = earlier?.callId ?? parts.ports.ids.next("call");
    this.#idempotencyKey = earlier?.idempotencyKey;
    this.startedAt = this.clock.now();
    this.call = call;
  }

  /** The qualified name once the tool is known, the name as asked before. */
  get toolName(): string {
    return this.plan === undefined ? this.call.name : this.plan.qualifiedName;
  }

  /** Its events have listeners, or are in a log. */
  get hasObservers(): boolean {
    return this.parts.listening || this.isLogged;
  }

  /** Its events are in the log of its session. */
  get isLogged(): boolean {
    return this.turn.session.recorded && this.options.recordHistory;
  }

  /** It had its effect before a crash, and its answer is known. */
  get isAnswered(): boolean {
    return this.resumed?.isAnswered === true;
  }

  /** It holds locks, or a slot. */
  get holdsAnything(): boolean {
    return this.ticket !== undefined || this.slots !== undefined || this.jobSlot !== undefined;
  }

  get simulated(): boolean {
    return this.turn.session.simulation !== undefined;
  }

  /** Whether the outcome counts for the tool itself; false for stand-ins. */
  get isReal(): boolean {
    return !this.simulated && this.route?.rules.isPretended !== true;
  }

  /** The session that its engine knows: a branch reads what an engine keeps elsewhere for the session it comes from. */
  get sessionForEngine(): Session {
    const { session } = this.turn;
    const { route } = this;
    if (route?.engine.state !== "remote" || route.engine.forkSession !== undefined || !route.rules.sharesParent) return session;
    let root = session;
    while (root.parent !== undefined) root = root.parent;
    // A session that the engine was never asked about is left alone: a branch leaves no trace in it.
    return root.closed || root.engagedEngines?.has(route.engine) === true ? root : session;
  }

  /** Bound to the branch, the call, its tool and its input: the same over all attempts and after a crash, new in a fork. */
  get idempotencyKey(): string {
    this.#idempotencyKey ??= idempotencyKey([this.turn.session.id, this.callId, this.toolName], this.input ?? {});
    return this.#idempotencyKey;
  }

  /** Ends the call with `cancelled` as soon as it can be; a call that has its result keeps it. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.result !== undefined) return;
    this.cancelled = new ToolError("cancelled", `${this.toolName} was cancelled: ${reason}`, {
      outcome: this.attempts === 0 ? "not_started" : "unknown",
    });
    this.wait?.interrupt(this.cancelled);
  }

  /** Cancels the call, and whatever its handler still calls; what it pretended to write was not written. */
  takeBack(reason: string): void {
    this.takenBack ??= reason;
    this.turn.session.simulation?.forget(this.callId);
    this.cancel(reason);
  }

  /** Passes on what its handler has written: to its job, which keeps it, or to listeners only. */
  writeOutput(text: string): void {
    if (text === "") return;
    if (this.job !== undefined) return this.job.write(text);
    const position = this.outputBuffer.written.chars;
    this.outputBuffer.write(text);
    this.emit({ ...this.eventBase, type: "job-output", toolName: this.toolName, position, text });
  }

  /** The output of its handler, as far as it is kept. */
  get outputBuffer(): JobOutputBuffer {
    return (this.#outputBuffer ??= this.parts.jobs.newOutput(this.turn.session.recorded && !this.turn.session.isEphemeral));
  }

  /** Keeps the process alive until `releaseProcess`: a caller waits for the result. */
  holdProcess(): void {
    if (this.#holdsProcess) return;
    this.#holdsProcess = true;
    this.clock.hold?.();
  }

  releaseProcess(): void {
    if (!this.#holdsProcess) return;
    this.#holdsProcess = false;
    this.clock.release?.();
  }

  emit(event: RuntimeEvent): void {
    if (this.parts.listening) this.parts.emit(event);
  }

  /** Passes an event to listeners and, by default, to the session's log. */
  record(event: SessionEvent): void {
    this.logEvent(event);
    this.emit(event);
  }

  /** Passes an event to the session's log only. */
  logEvent(event: SessionEvent): void {
    if (this.isLogged) this.turn.session.record(Object.freeze(event));
  }

  /** The log that its events are written to; undefined where no caller waits for that. */
  get written(): Pick<EventLog, "whenDurable"> | undefined {
    const { eventLog } = this.turn.session;
    return this.isLogged && eventLog?.options.durability === "sync" ? eventLog : undefined;
  }

  /** As `record`, of events that belong together: a store keeps all of them or none. */
  recordAll(events: readonly SessionEvent[]): void {
    for (const event of events) Object.freeze(event);
    if (this.isLogged) this.turn.session.recordAll(events);
    for (const event of events) this.emit(event);
  }

  /** Logs the end of a call that continues in another process, which calls its own listeners. */
  leave(events: readonly SessionEvent[]): void {
    for (const event of events) this.logEvent(event);
    this.parts.tracing?.leaveCall?.(this.callId);
  }

  get eventBase(): { readonly callId: string; readonly sessionId: string; readonly turnId: string; readonly at: number } {
    return { callId: this.callId, sessionId: this.turn.session.id, turnId: this.turn.id, at: this.clock.wallTime() };
  }
}

/** Its tool is known. */
export interface ResolvedCall extends CallRun {
  plan: ToolPlan;
}

/** Its input fits its tool. */
export interface FittedCall extends ResolvedCall {
  input: JsonObject;
}

/** It may run: what it touches is known, and who answers. */
export interface AdmittedCall extends FittedCall {
  effects: ResolvedEffects;
  route: Route;
}

/** Hands a call on to the phase in which its tool is known. */
export function resolved(run: CallRun, plan: ToolPlan): ResolvedCall {
  run.plan = plan;
  if (plan.settings.deadlineMs > 0) run.deadlineAt = run.startedAt + plan.settings.deadlineMs;
  return run as ResolvedCall; // what is new in this phase was set above; so below
}

/** Hands a call on to the phase in which its input is known. */
export function fitted(run: ResolvedCall, input: JsonObject, parsed: unknown): FittedCall {
  run.input = input;
  run.parsed = parsed;
  return run as FittedCall;
}

/** Hands a call on to the phase in which it may run. */
export function admitted(run: FittedCall, effects: ResolvedEffects, route: Route): AdmittedCall {
  run.effects = effects;
  run.route = route;
  return run as AdmittedCall;
}

/** It was admitted, whatever has become of it since. */
export function isAdmitted(run: CallRun): run is AdmittedCall {
  return run.route !== undefined;
}

/** The keys that a call locks, a session's own distinguished from those of other sessions. */
export function lockKeysOf({ effects, turn, route }: AdmittedCall): LockKeys {
  const isPlayed = route.rules.locks !== "everybody";
  return effects.hasSessionKeys || isPlayed ? lockKeysIn(turn.session.id, effects.lock, isPlayed) : effects.lock;
}
