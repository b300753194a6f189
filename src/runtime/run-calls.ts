/** Runs the calls of one `execute`: without a session, or as a turn of a session, whose results are durable before they are returned. */
import type { Ask } from "../core/approvals/ask.ts";
import type { ToolCall } from "../core/call.ts";
import { formatCancelReason } from "../core/cancel-reason.ts";
import { ToolError } from "../core/error.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { Log } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";
import { copyItems, runBatch, type Submission } from "../call/batch.ts";
import type { AdmittedCall, CallServices } from "../call/call-run.ts";
import type { ExecuteNestedOptions } from "../call/context/execute-nested.ts";
import type { CallOptions } from "../call/call-options.ts";
import { callerPrincipal, hasCallerLayer, combineVisibility, layers } from "../call/context/caller-layer.ts";
import { runCall } from "../call/pipeline.ts";
import { type ExecuteOptions, findOptionsError } from "../call/execute-options.ts";
import type { FallbackChains } from "../call/fallback-chains.ts";
import { safeAlert, safeProgressListener } from "./listeners.ts";
import type { ToolExecutionError } from "../call/tool-execution-error.ts";
import type { RuntimeOptions } from "./runtime-options.ts";
import { PreReadCall, isBatch } from "../call/admit/read-call.ts";
import { Session } from "../session/session.ts";
import { closedSessionError } from "./session-errors.ts";
import { executeNested, servicesOf, RuntimeSession, type SessionTurn } from "./runtime-session.ts";
import { isInsideSimulation, simulations, type RunningTurn, type TurnCall } from "../session/turn-queue.ts";
import { HeldTurn } from "./session-turn.ts";
import { Turn, findCaller } from "../session/turn.ts";
import { whenAnswerStored } from "./when-stored.ts";

type Results = ToolResult | readonly ToolResult[];

interface TurnPlace {
  readonly turn: RunningTurn | undefined;
  /** The call whose handler makes the calls. */
  readonly caller: TurnCall | undefined;
}

export const NO_OPTIONS: ExecuteOptions = Object.freeze({});
const NO_DATA: Readonly<Record<string, unknown>> = Object.freeze({});

export interface CallRunnerOptions extends Pick<ExecuteOptions, "data" | "ask">, Pick<RuntimeOptions, "onAlert"> {
  readonly log: Log;
  readonly chains: FallbackChains;
}

export class CallRunner {
  readonly #data: Readonly<Record<string, unknown>>;
  readonly #ask: Ask | undefined;
  /** Calls `onAlert`. Never throws. */
  readonly alert: (error: ToolExecutionError) => void;
  readonly #log: Log;
  readonly #chains: FallbackChains;
  readonly #defaultCallOptions: CallOptions;

  /** `data` and `ask` are defaults, for an `execute` without its own. */
  constructor({ data = NO_DATA, ask, onAlert, log, chains }: CallRunnerOptions) {
    this.#chains = chains;
    this.#data = data;
    this.#ask = ask;
    this.#log = log;
    this.alert = safeAlert(onAlert, log);
    this.#defaultCallOptions = this.callOptions(NO_OPTIONS);
  }

  /** Runs calls without a session. Nothing of them is kept. @param callingTurn that of the handler that makes them */
  runWithoutSession(
    services: CallServices,
    calls: ToolCall | readonly ToolCall[],
    options: ExecuteOptions,
    callingTurn?: Turn,
  ): Promise<Results> {
    const misuse =
      (options === NO_OPTIONS ? undefined : (findOptionsError(options, calls) ?? needsSessionError(options))) ??
      (simulations.inUse ? realInSimulationError() : undefined);
    if (misuse !== undefined) return Promise.reject(misuse);
    // With sequential engines, later calls see the results of earlier ones, which needs a log.
    const recorded = (services.registry.hasSequence || services.chains.hasSequentialEngine) && isBatch(calls);
    const session = new Session({ ports: services.ports, recorded, isEphemeral: true, seedName: "" });
    const turn = new Turn(session, services.ports.ids, callingTurn === undefined ? undefined : { startsAt: session.length, callingTurn });
    const answer = this.#runTurn(services, turn, calls, options, undefined);
    return recorded || services.registry.remembersSessions || services.chains.opensSessions
      ? closeAfterAnswer(services, session, answer)
      : Promise.resolve(answer);
  }

  /** Runs the next turn of a session; see `RuntimeSession.execute`. */
  run(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions, submission?: Submission): Promise<Results> {
    const refusal = findRefusal(session) ?? (options === NO_OPTIONS ? undefined : findOptionsError(options, calls));
    if (refusal !== undefined) return Promise.reject(refusal);
    const mayWait = session.ready !== undefined || session.turns.busy || options.concurrent === true;
    const copied = mayWait ? preReadCalls(calls, servicesOf(session).inputLimits) : calls;
    if (session.ready !== undefined) return session.ready.then(() => this.run(session, copied, options, submission));
    try {
      const concurrent = options.concurrent === true && !mayAnswerSequentially(session, copied, options);
      const answer = session.turns.run((turn, caller) => this.#turn(session, copied, options, { submission, turn, caller }), {
        signal: options.signal,
        concurrent,
      });
      // With an idempotency key, the caller may submit the calls again and gets the job.
      return whenAnswerStored(session, answer, submission === undefined ? (results) => cancelUnstartedJobs(session, results) : undefined);
    } catch (thrown: unknown) {
      return Promise.reject(thrown instanceof Error ? thrown : ToolError.fromUnknown(thrown));
    }
  }

  /** Runs the nested calls of a handler: in the session of its own call, if that has one. */
  runNested(
    { services, turn, options }: AdmittedCall,
    calls: ToolCall | readonly ToolCall[],
    nested: ExecuteNestedOptions,
  ): Promise<Results> {
    const { data, variation, visibility, principal, ask, onProgress } = options;
    const all: ExecuteOptions = { data, variation, ...nested, ...omitUndefined({ principal, ask, onProgress }) };
    if (turn.session instanceof RuntimeSession) return executeNested(turn.session, calls, all);
    const { background: _background, ...withoutBackground } = all; // without a session, the caller waits for every call
    return this.runWithoutSession(
      services,
      calls,
      visibility === undefined ? withoutBackground : { ...withoutBackground, allow: visibility },
      turn,
    );
  }

  /** Holds the turn of a session for several rounds; see `RuntimeSession.turn`. */
  turn<T>(session: RuntimeSession, work: (turn: SessionTurn) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const refusal = findRefusal(session) ?? (typeof work === "function" ? undefined : noWorkError());
    if (refusal !== undefined) return Promise.reject(refusal);
    if (session.ready !== undefined) return session.ready.then(() => this.turn(session, work, signal));
    try {
      return Promise.resolve(session.turns.run((turn, caller) => this.#holdTurn(session, { turn, caller }, work, signal), { signal }));
    } catch (thrown: unknown) {
      return Promise.reject(ToolError.fromUnknown(thrown));
    }
  }

  async #holdTurn<T>(
    session: RuntimeSession,
    place: TurnPlace,
    work: (turn: SessionTurn) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    if (signal?.aborted === true)
      throw new ToolError("cancelled", `The turn was cancelled before it began: ${formatCancelReason(signal)}.`, {
        outcome: "not_started",
      });
    const turn = startTurn(session, place);
    const held = new HeldTurn({
      session,
      turn,
      callOptions: (options) => this.callOptions(options, session),
      refusal: () => findRefusal(session),
      whenDurable: (results) => whenAnswerStored(session, results),
    });
    const { clock } = session.ports;
    clock.hold?.(); // the work may wait for something that does not keep the process alive
    try {
      return await work(held);
    } finally {
      await held.close().finally(() => servicesOf(session).cache.forget(turn));
      clock.release?.();
    }
  }

  /** @param session its rules apply too if one of its handlers makes the calls */
  callOptions(options: ExecuteOptions, session?: Session): CallOptions {
    return {
      validate: options.validate ?? true,
      recordHistory: options.recordHistory ?? true,
      data: options.data ?? this.#data,
      variation: options.variation ?? "",
      ask: options.ask ?? this.#ask,
      onProgress: options.onProgress === undefined ? undefined : safeProgressListener(options.onProgress, this.#log),
      visibility: combineVisibility(session, options.allow),
      principal: options.principal ?? callerPrincipal(),
      approved: options.approved === true,
      background: options.background,
      knowsDocumentation: options.knowsDocumentation === true,
      answerers: options.answerFrom === undefined ? undefined : this.#chains.answerersOf(options.answerFrom, options.replay),
      rewriteInput: checkRewriter(options.rewriteInput),
    };
  }

  #turn(
    session: RuntimeSession,
    calls: ToolCall | readonly ToolCall[],
    options: ExecuteOptions,
    place: TurnPlace & { readonly submission: Submission | undefined },
  ): Results | Promise<Results> {
    const refusal = findRefusal(session); // the session may have been closed while the turn waited
    if (refusal !== undefined) throw refusal;
    const own = startTurn(session, place);
    if (options.shown !== undefined) own.shown = options.shown;
    return this.#runTurn(servicesOf(session), own, calls, options, place.submission);
  }

  #runTurn(
    services: CallServices,
    turn: Turn,
    calls: ToolCall | readonly ToolCall[],
    options: ExecuteOptions,
    submission: Submission | undefined,
  ): Results | Promise<Results> {
    const { session } = turn;
    const isPlain = options === NO_OPTIONS && !(layers.inUse && hasCallerLayer(session));
    const callOptions = isPlain ? this.#defaultCallOptions : this.callOptions(options, session);
    const isArray = isBatch(calls);
    if (!isArray && submission === undefined && options.signal === undefined && options.onError !== "throw")
      return runCall(services, turn, calls, callOptions);
    const batch = runBatch(services, turn, isArray ? calls : [calls], {
      ...callOptions,
      signal: options.signal,
      throwOnError: options.onError === "throw",
      strict: options.strict === true,
      submission,
      onFailure: this.alert,
    });
    return isArray ? batch : batch.then((results) => results[0] ?? results);
  }
}

/** The turn of these calls: a new one, or one that joins that of the handler that makes them. Calls cancelled while waiting are outside of it. */
function startTurn(session: RuntimeSession, { turn: running, caller }: TurnPlace): Turn {
  const { ids } = session.ports;
  const joinedTurn = running?.runnerData;
  const parentCall = findCaller(running, caller);
  if (joinedTurn instanceof Turn) {
    const joining = new Turn(session, ids, { startsAt: joinedTurn.startsAt, joinedTurn, parentCall, shown: joinedTurn.shown });
    joining.running = running;
    return joining;
  }
  const { callingTurn } = session;
  const isOutermost = parentCall === undefined && callingTurn === undefined;
  const turn = isOutermost ? new Turn(session, ids) : new Turn(session, ids, { startsAt: session.length, parentCall, callingTurn });
  turn.running = running;
  if (running !== undefined) running.runnerData = turn;
  return turn;
}

/** Whether the calls may use a sequential engine. */
function mayAnswerSequentially(
  session: RuntimeSession,
  calls: ToolCall | readonly ToolCall[],
  { answerFrom, replay }: ExecuteOptions,
): boolean {
  const services = servicesOf(session);
  if (services.chains.mayAnswerSequentially({ isSimulation: session.turns.isSimulation, answerFrom, replay })) return true;
  const list = isBatch(calls) ? calls : [calls];
  return list.some(({ name }) => services.registry.get(name)?.toolset.engine?.order === "sequential");
}

function checkRewriter(rewriteInput: ExecuteOptions["rewriteInput"]): ExecuteOptions["rewriteInput"] {
  if (rewriteInput === undefined || typeof rewriteInput === "function") return rewriteInput;
  throw new ToolError("invalid_argument", 'The option "rewriteInput" of execute() must be a function that takes a call.');
}

/** Closes the engine sessions that a call without a session opened. */
async function closeAfterAnswer<T>({ ports, cache }: CallServices, session: Session, answer: T | Promise<T>): Promise<T> {
  try {
    return await answer;
  } finally {
    cache.forget(session);
    await session.enginesIfUsed?.close(ports.clock, ports.log);
  }
}

/** Copies the calls before they wait for a turn, so that later changes have no effect. */
export function preReadCalls(calls: readonly ToolCall[], limits: JsonLimits): readonly ToolCall[];
export function preReadCalls(calls: ToolCall | readonly ToolCall[], limits: JsonLimits): ToolCall | readonly ToolCall[];
export function preReadCalls(calls: ToolCall | readonly ToolCall[], limits: JsonLimits): ToolCall | readonly ToolCall[] {
  return isBatch(calls) ? copyItems(calls).map((raw) => new PreReadCall(raw, limits)) : new PreReadCall(calls, limits);
}

function findRefusal(session: RuntimeSession): ToolError | undefined {
  if (session.closed) return closedSessionError(session);
  return session.broken ?? (session.simulation?.mayBeReal === false ? undefined : realInSimulationError());
}

/** The error of calls that code of a simulation makes outside of it, which would be real; undefined for all other code. */
function realInSimulationError(): ToolError | undefined {
  if (!isInsideSimulation()) return undefined;
  return new ToolError("not_simulatable", "A handler that runs in a simulation made calls outside it, which would be real.", {
    operatorHint: "Leave them out when context.simulated is true, or allow them with allowSideEffects.",
  });
}

function noWorkError(): ToolError {
  return new ToolError("invalid_argument", "turn() takes a function to run while the turn is held.");
}

function needsSessionError(options: ExecuteOptions): ToolError | undefined {
  if (options.background === true)
    return new ToolError("invalid_argument", 'The option "background" belongs to a session: without one, nothing reports its end.', {
      hint: "Use runtime.session(id).submit(call).",
    });
  if (options.idempotencyKey === undefined) return undefined;
  return new ToolError(
    "invalid_argument",
    'The option "idempotencyKey" belongs to a session: without one, nothing remembers the first results.',
    {
      hint: "Use runtime.session(id).execute(calls, { idempotencyKey }).",
    },
  );
}

/** Cancels the jobs of these answers that have not started running: the caller gets an error and may make the calls again. */
function cancelUnstartedJobs(session: RuntimeSession, results: Results): void {
  const pendingIds = new Set([results].flat().flatMap(({ status, callId }) => (status === "pending" ? [callId] : [])));
  if (pendingIds.size === 0) return;
  const { running } = servicesOf(session);
  running.cancelAll("its start could not be stored", () =>
    running.inSession(session).filter(({ callId, attempts }) => attempts === 0 && pendingIds.has(callId)),
  );
}
