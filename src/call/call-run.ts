/** The state of one call on its way through the pipeline, and the parts of the runtime it uses. */
import type { ApprovalPreview } from "../core/approvals/approval-preview.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { CoveredCall } from "../core/store/approval-store.ts";
import type { Approvals } from "../core/approvals/approvals.ts";
import type { ToolCall } from "../core/call.ts";
import type { ResolvedEffects, LockKeys } from "../core/resources/effects.ts";
import { ToolError } from "../core/error.ts";
import type { RuntimeEvent, SessionEvent } from "../core/event.ts";
import type { Hook } from "../core/hook.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { LockTicket, Locks } from "../core/resources/locks.ts";
import type { Clock, Ports } from "../core/ports.ts";
import type { EventLog } from "../core/store/store.ts";
import type { Tool } from "../core/tool.ts";
import type { Repair, ToolResult } from "../core/result.ts";
import type { Tracing } from "../core/tracing.ts";
import type { Interrupt, Interruptible } from "../policy/attempts/deadline.ts";
import type { Limit } from "../policy/locks/limit.ts";
import type { CachedAnswer, ResultCache } from "../policy/cache/result-cache.ts";
import type { SingleFlight } from "../policy/cache/single-flight.ts";
import type { LargeResultStore } from "../policy/results/large-result-store.ts";
import type { RetrySettings } from "../policy/attempts/retry.ts";
import type { VisibilityRules } from "../policy/visibility.ts";
import type { CallOptions } from "./call-options.ts";
import type { ClaimWatch } from "./claim-watch.ts";
import type { CallCounters, OrphanCount } from "./call-counters.ts";
import type { CallAnswer } from "./finish/call-answer.ts";
import type { CallTiming } from "./finish/call-timing.ts";
import type { ResumedCallIdentity, ResumedCall } from "./admit/earlier-calls.ts";
import type { FallbackChains } from "./fallback-chains.ts";
import { idempotencyKey } from "./attempt/idempotency-key.ts";
import type { CallJob } from "./jobs/job.ts";
import type { JobOutputBuffer } from "./jobs/job-output.ts";
import type { JobTable } from "./jobs/job-table.ts";
import type { SessionAttempt, ExecuteNested } from "./context/execute-nested.ts";
import type { CachedRead } from "./cache/cache-plan.ts";
import type { CallFaults, Faults } from "./call-faults.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import type { Registry } from "../registry/registry.ts";
import type { HeldSlot } from "./attempt/lent-resources.ts";
import { scopeLockKeys } from "./admit/resolve-effects.ts";
import type { RunningCall, RunningCalls } from "./running-calls.ts";
import type { Route } from "./route.ts";
import type { Session } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { RunningTurn } from "../session/turn-queue.ts";
import type { ToolPlan } from "./tool-plan.ts";

/** The parts of the runtime that the pipeline uses. */
export interface CallServices {
  readonly ports: Ports;
  readonly registry: Registry;
  readonly locks: Locks;
  /** Locks of shared toolsets, across all processes that use the store; undefined without a store. */
  readonly leases: Locks | undefined;
  readonly limit: Limit | undefined;
  readonly approvals: Approvals;
  readonly beforeHooks: readonly Hook[];
  readonly afterHooks: readonly Hook[];
  /** Name of a hook without `inSimulation`; while there is one, no call of a simulation is run. */
  readonly undecidedHook: string | undefined;
  readonly largeResults: LargeResultStore;
  /** Where files of answers are kept. false = they are left out; undefined = they stay in the log itself. */
  readonly artifacts: ArtifactStore | false | undefined;
  readonly cache: ResultCache;
  readonly retry: RetrySettings;
  readonly faults: Faults;
  readonly inputLimits: JsonLimits;
  readonly orphanHoldMs: number;
  readonly agentName: string | undefined;
  /** Absolute path; undefined = the working directory of the process. */
  readonly workingFolder: string | undefined;
  readonly running: RunningCalls<CallRun>;
  readonly claims: ClaimWatch<CallRun>;
  /** Nested calls that wait for locks or slots. */
  readonly nestedWaits: Set<CallRun>;
  readonly jobs: JobTable;
  /** Abandoned handlers that still run and hold something, by call id. */
  readonly orphans: Map<string, OrphanCount>;
  readonly counters: CallCounters;
  readonly chains: FallbackChains;
  /** Looks up tools for engines that use earlier calls. */
  readonly findTool: (qualifiedName: string, input?: unknown) => Tool | undefined;
  /** Whether the log keeps debug lines; if so, each decision of a model is logged. */
  readonly logsDecisions: boolean;
  /** Whether there are listeners; changes when listeners come and go. */
  listening: boolean;
  /** Creates traces of calls; undefined without tracing. */
  tracing: Tracing | undefined;
  planOf(registered: RegisteredTool): ToolPlan;
  readonly executeNested: ExecuteNested<AdmittedCall>;
  /** Begins a session that belongs to the call. @param allow narrows which tools its interrupted calls may use */
  startSessionWithin(run: AdmittedCall, allow: VisibilityRules | undefined, attempt: SessionAttempt): Promise<Session>;
  /** Simulates the call. Never rejects. */
  simulate(run: AdmittedCall): Promise<SimulatedCall>;
  /** Set if there is no approver for its calls: each call that needs approval ends with `approval_required`. */
  readonly hasNoApprover?: true;
  emit(event: RuntimeEvent): void;
}

/** The result of a call; a promise only if something has to be waited for. */
export type ResultOrPromise = ToolResult | Promise<ToolResult>;

/** The outcome of a simulated call. */
export interface SimulatedCall {
  readonly preview: ApprovalPreview;
  /** The nested calls, each in full, in their order. */
  readonly calls: readonly CoveredCall[];
}

export const NO_REPAIRS: readonly Repair[] = Object.freeze([]);
export const NO_WARNINGS: readonly string[] = Object.freeze([]);

/**
 * One call between its arrival and its result. Steps take the phase that they need, `ResolvedCall` or `AdmittedCall`, whose fields are known by then.
 * A field that is undefined here is either set by a later phase or optional. Fields that few calls set are only declared, so that they take no memory
 * in the others.
 */
export class CallRun implements Interruptible, RunningCall<CallRun> {
  readonly services: CallServices;
  readonly turn: Turn;
  readonly options: CallOptions;
  readonly clock: Clock;
  readonly callId: string;
  readonly startedAt: number;

  // The call as received, then as changed by hooks.
  call: ToolCall;
  isRewritten = false; // a hook or its caller changed its input
  declare isProviderQuestion: true | undefined; // its answer goes to the model's provider, which runs the tool
  declare background: boolean | undefined; // the caller's choice whether it runs in the background, overriding its options
  declare takesFlag: true | undefined; // the model was offered `run_in_background`
  declare resumed: ResumedCall | undefined; // set for a call that began before a crash
  /** Why it is not admitted: it cannot be read, its round refuses it, or it may not run again after a crash. The call ends with this error. */
  declare refusal: ToolError | undefined;

  // Set from `ResolvedCall` on.
  plan: ToolPlan | undefined;
  /** On the monotonic clock; `Infinity` until the tool is known. */
  deadlineAt = Infinity;

  // Set from `FittedCall` on.
  input: JsonObject | undefined;
  parsed: unknown;
  declare safetyChecks: JsonObject | undefined; // the fields of its input that the model's provider wants confirmed

  // Set from `AdmittedCall` on.
  effects: ResolvedEffects | undefined;
  route: Route | undefined;
  declare countedInTurn: string | undefined; // the name of its tool, if a rule of its turn has counted it
  declare pendingApprovals: number | undefined; // how many calls wait for approval: itself and its nested calls, of any session

  // Set while it is attempted.
  ticket: LockTicket | undefined;
  slots: readonly HeldSlot[] | undefined;
  declare awaitedSlot: HeldSlot | undefined; // the slot it waits for
  declare cachedRead: CachedRead | undefined; // set while it may be answered from the cache, or may share its answer
  declare faults: CallFaults | undefined; // set if faults may be injected
  attempts = 0;
  attemptAt = -Infinity; // when the latest attempt began, on the monotonic clock
  declare timing: CallTiming | undefined; // set once it has waited or is retried
  wait: Interrupt | undefined;
  /** The promise of the latest attempt, if its handler was awaited. */
  pendingAttempt: { readonly promise: Promise<unknown>; readonly resolve: (answer: never) => void } | undefined;

  // Its end.
  readonly answer: CallAnswer = { raw: undefined, output: undefined, outputBound: undefined };
  repairs: readonly Repair[] = NO_REPAIRS;
  warnings: readonly string[] = NO_WARNINGS;
  declare cancelled: ToolError | undefined; // every later step ends with this error
  failure: ToolError | undefined; // the error it ended with, including its cause, which results do not have
  result: ToolResult | undefined;
  declare onEnd: (() => void) | undefined; // called when it has its result

  // For background jobs.
  /** The promise that the caller waits for; set while the call may still become a background job. */
  pendingAnswer: { readonly resolve: (answer: ToolResult) => void } | undefined;
  declare job: CallJob | undefined;
  declare jobSlot: HeldSlot | undefined;
  declare detachedTurn: RunningTurn | undefined; // the turn of its nested calls, outside the turns of its session

  // Its links to other calls.
  previous: CallRun | undefined = undefined;
  next: CallRun | undefined = undefined;
  /** The call whose handler made this one, of any session; it lends its locks and slots. `turn.parentCall` is set within one session only. */
  declare callerRun: CallRun | undefined;
  declare awaitedFlight: SingleFlight<CachedAnswer> | undefined; // the equal call that it waits for
  declare openNested: number | undefined; // how many calls nested in it have not ended
  declare hasNestedEffect: true | undefined; // a call nested in it may have had an effect that must not be repeated
  declare unsuccessfulExecutes: number | undefined; // how many of its `context.execute` have not returned, or returned a failed call
  /** Why its message was voided or its batch rolled back. Calls that its handler makes afterwards are not run. */
  declare revokedReason: string | undefined;
  isComplete = false; // its batch or message is: from then on it is taken back only with the call whose handler made it

  #outputBuffer: JobOutputBuffer | undefined;
  #idempotencyKey: string | undefined;
  #holdsProcess = false;

  constructor(services: CallServices, turn: Turn, options: CallOptions, call: ToolCall, earlier?: ResumedCallIdentity) {
    this.services = services;
    this.turn = turn;
    this.options = options;
    this.clock = services.ports.clock;
    this.callId = earlier?.callId ?? services.ports.ids.next("call");
    this.#idempotencyKey = earlier?.idempotencyKey;
    this.startedAt = this.clock.now();
    this.call = call;
  }

  /** The qualified name once the tool is known; before, the name in the call. */
  get toolName(): string {
    return this.plan === undefined ? this.call.name : this.plan.qualifiedName;
  }

  get takenBackWith(): object | undefined {
    if (!this.isComplete) return this;
    const { parentCall, joinedTurn } = this.turn;
    return parentCall === undefined ? (joinedTurn?.mayRollBack === true ? joinedTurn : undefined) : parentCall.takenBackWith;
  }

  /** Whether its events have listeners or are logged. */
  get hasObservers(): boolean {
    return this.services.listening || this.isLogged;
  }

  /** Whether its events are written to the log of its session. */
  get isLogged(): boolean {
    return this.turn.session.recorded && this.options.recordHistory;
  }

  /** Whether it had its effect before a crash, and its answer is known. */
  get isAnswered(): boolean {
    return this.resumed?.isAnswered === true;
  }

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

  /** The session as its engine knows it. On a branch, an engine that keeps session state remotely is called with the root session. */
  get sessionForEngine(): Session {
    const { session } = this.turn;
    const { route } = this;
    if (route?.engine.state !== "remote" || route.engine.forkSession !== undefined || !route.rules.sharesParentSession) return session;
    let root = session;
    while (root.parent !== undefined) root = root.parent;
    // Do not use a session that the engine has never seen: a branch leaves no trace in its parent.
    return root.closed || root.enginesIfUsed?.has(route.engine) === true ? root : session;
  }

  /** Derived from the branch, the call, its tool and its input: the same for all attempts and after a crash, different in a fork. */
  get idempotencyKey(): string {
    this.#idempotencyKey ??= idempotencyKey([this.turn.session.id, this.callId, this.toolName], this.input ?? {});
    return this.#idempotencyKey;
  }

  /** Ends the call with `cancelled` as soon as possible. No effect if the call has its result. */
  cancel(reason: string): void {
    if (this.cancelled !== undefined || this.result !== undefined) return;
    this.cancelled = new ToolError("cancelled", `${this.toolName} was cancelled: ${reason}`, {
      outcome: this.attempts === 0 ? "not_started" : "unknown",
    });
    this.wait?.interrupt(this.cancelled);
  }

  /** Cancels the call, and the calls that its handler still makes. Forgets its pretended writes. */
  revoke(reason: string): void {
    this.revokedReason ??= reason;
    this.turn.session.simulation?.forget(this.callId);
    this.cancel(reason);
  }

  /** Passes on output of the handler: to the job, which keeps it, or else to listeners only. */
  writeOutput(text: string): void {
    if (text === "") return;
    if (this.job !== undefined) return this.job.write(text);
    const position = this.outputBuffer.written.chars;
    this.outputBuffer.write(text);
    this.emit({ ...this.eventBase, type: "job-output", toolName: this.toolName, position, text });
  }

  /** The output of its handler, as far as it is kept. */
  get outputBuffer(): JobOutputBuffer {
    return (this.#outputBuffer ??= this.services.jobs.createOutput(this.turn.session.recorded && !this.turn.session.isEphemeral));
  }

  /** Keeps the process alive until `releaseProcess`, because a caller waits for the result. */
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
    if (this.services.listening) this.services.emit(event);
  }

  /** Sends an event to listeners and, if the call is logged, to the session's log. */
  record(event: SessionEvent): void {
    this.logEvent(event);
    this.emit(event);
  }

  /** Writes an event to the session's log only. */
  logEvent(event: SessionEvent): void {
    if (this.isLogged) this.turn.session.record(Object.freeze(event));
  }

  /** The log to which its events are written durably; undefined if no caller waits for that. */
  get durableLog(): Pick<EventLog, "whenDurable"> | undefined {
    const { eventLog } = this.turn.session;
    return this.isLogged && eventLog?.options.durability === "sync" ? eventLog : undefined;
  }

  /** Like `record`, for events that belong together: a store keeps all of them or none. */
  recordAll(events: readonly SessionEvent[]): void {
    for (const event of events) Object.freeze(event);
    if (this.isLogged) this.turn.session.recordAll(events);
    for (const event of events) this.emit(event);
  }

  /** Logs the end of a call that another process continues; the listeners of that process get the event. */
  logHandedOver(events: readonly SessionEvent[]): void {
    for (const event of events) this.logEvent(event);
    this.services.tracing?.detachCall?.(this.callId);
  }

  get eventBase(): { readonly callId: string; readonly sessionId: string; readonly turnId: string; readonly at: number } {
    return { callId: this.callId, sessionId: this.turn.session.id, turnId: this.turn.id, at: this.clock.wallTime() };
  }
}

/** A call whose tool is known. */
export interface ResolvedCall extends CallRun {
  plan: ToolPlan;
}

/** A call whose input fits its tool. */
export interface FittedCall extends ResolvedCall {
  input: JsonObject;
}

/** A call that may run: its effects and its route are known. */
export interface AdmittedCall extends FittedCall {
  effects: ResolvedEffects;
  route: Route;
}

/** Moves a call to the phase in which its tool is known. */
export function toResolvedCall(run: CallRun, plan: ToolPlan): ResolvedCall {
  run.plan = plan;
  if (plan.settings.deadlineMs > 0) run.deadlineAt = run.startedAt + plan.settings.deadlineMs;
  return run as ResolvedCall; // the fields of this phase were set above; likewise below
}

/** Moves a call to the phase in which its input is known. */
export function toFittedCall(run: ResolvedCall, input: JsonObject, parsed: unknown): FittedCall {
  run.input = input;
  run.parsed = parsed;
  return run as FittedCall;
}

/** Moves a call to the phase in which it may run. */
export function toAdmittedCall(run: FittedCall, effects: ResolvedEffects, route: Route): AdmittedCall {
  run.effects = effects;
  run.route = route;
  return run as AdmittedCall;
}

/** Whether the call was admitted, whatever its state is now. */
export function isAdmitted(run: CallRun): run is AdmittedCall {
  return run.route !== undefined;
}

/** The keys that a call locks. Keys of a session are made distinct from those of other sessions. */
export function lockKeysOf({ effects, turn, route }: AdmittedCall): LockKeys {
  const isSimulatedRoute = route.rules.locks !== "all";
  return effects.hasSessionKeys || isSimulatedRoute ? scopeLockKeys(turn.session.id, effects.lock, isSimulatedRoute) : effects.lock;
}
