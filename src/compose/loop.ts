/** Joins a model and a session: the model plans, the session runs its calls. */
import { ToolError, describeThrown } from "../core/error.ts";
import { ignoreRejection } from "../core/system/ignore-rejections.ts";
import { checkModel, checkSession, wrongReturnError } from "../core/check-argument.ts";
import { checkKnownKeys, findUnknownKeyError } from "../core/known-keys.ts";
import type { SessionMessage } from "../core/message.ts";
import type { Model } from "../core/model.ts";
import type { SchemaSource } from "../registry/define-tool.ts";
import type { InferInput } from "../schema/infer-schema.ts";
import { checkProvider, splitSpec } from "../model/provider-names.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { visibilityOf, type Visibility } from "../policy/visibility.ts";
import type { RuntimeSession, SessionTurn } from "../runtime/runtime-session.ts";
import { EmergencyStop } from "./emergency-stop.ts";
import { checkCostIsCounted, checkLoopLimits, type CheckedLimits } from "./loop-limits.ts";
import { checkStopConditions } from "./stop-conditions.ts";
import { EventQueue } from "./event-queue.ts";
import { withCheckedCallbacks } from "./loop-callbacks.ts";
import type { LoopEvent } from "./loop-event.ts";
import { LoopConversation } from "./loop-conversation.ts";
import { checkLoopOptions, type LoopOptions, type LoopRound } from "./loop-options.ts";
import { NO_USAGE, type LoopResult } from "./loop-result.ts";
import { LoopRun, type RunDependencies } from "./loop-run.ts";
import { DeferredTools } from "./prompt/deferred-tools.ts";
import { StructuredOutput } from "./structured-output.ts";
import { LoopTimers } from "./loop-timers.ts";
import { pendingCalls, type ApprovalDecisions, type PendingCall } from "./pending-calls.ts";
import { decideCalls } from "./decide-calls.ts";
import { STOP_REASONS, type StopReason } from "./stop-reason.ts";
import { withRunSpan } from "./run-span.ts";
import { Taint } from "./taint.ts";
import { notifySafely } from "../policy/notify-safely.ts";

/** Options of one run of a loop. */
export interface LoopRunOptions<Output extends SchemaSource = SchemaSource> {
  readonly signal?: AbortSignal;
  /**
   * The schema of the answer, which must be an object. The result then has the answer as `output`: read, repaired and validated, whatever the
   * provider supports. A model whose answer does not fit is shown the reason and asked again, at most twice.
   */
  readonly output?: Output;
}

/** A person's decisions about calls that wait for approval. */
export interface ResumeDecisions {
  readonly decisions: ApprovalDecisions;
}

/** A model and a session, joined. */
export interface Loop {
  /**
   * Adds `input` to the session and plays rounds until the model has answered or something else ends the run; each run is one turn of the session.
   * Without input the model continues the conversation.
   *
   * Failures of the model and of calls are part of the result. A loop that may not run returns why as its reason: an emergency stop, a run that is
   * still active, or `enabled` that returned false, checked in this order.
   *
   * @throws ToolError `invalid_argument` for a closed session, `store_failed`; or the error that a function of the options throws, as a rejection
   */
  run<const Output extends SchemaSource = never>(
    input?: string | SessionMessage,
    options?: LoopRunOptions<Output>,
  ): Promise<LoopResult<InferInput<Output>>>;
  /** Like `run`, as events: text, calls, their results, and last `stop` with the result. Ending the iteration early cancels the run. */
  stream<const Output extends SchemaSource = never>(
    input?: string | SessionMessage,
    options?: LoopRunOptions<Output>,
  ): AsyncGenerator<LoopEvent<InferInput<Output>>, LoopResult<InferInput<Output>>, undefined>;
  /**
   * Continues after a run that ended with `approval`, also after a restart. Allowed calls are made again, denied calls are answered as denied, and
   * the model is asked once no call waits any more. A call whose final input has changed since is not allowed by this. If no call waits and nothing
   * is decided, the model is not asked: the reason is `nothing-pending`, and `run()` continues.
   *
   * @throws ToolError `invalid_argument` for a digest that no waiting call has, as a rejection
   */
  resume<const Output extends SchemaSource = never>(
    decisions: ResumeDecisions,
    options?: LoopRunOptions<Output>,
  ): Promise<LoopResult<InferInput<Output>>>;
  /** Sends a message while the loop runs: the model gets it with the next request, after the running calls, or in the next run. */
  steer(message: string | SessionMessage): void;
  /** The calls that wait for approval, to be decided with `resume`. */
  pending(): readonly PendingCall[];
  readonly running: boolean;
  /** Undefined if the loop has no emergency stop. */
  readonly emergencyStop: EmergencyStop | undefined;
}

/** Makes a loop. @throws ToolError `invalid_argument` for invalid limits or patterns, and for a named model with an unknown provider */
export function createLoop(options: LoopOptions): Loop {
  return new SessionLoop(options);
}

/** Checks the required options, which an untyped caller may have left out. */
function checkModelAndSession(options: Partial<LoopOptions> | undefined): void {
  const { model, session }: Partial<LoopOptions> = options ?? {};
  if (model !== undefined && typeof model !== "string") checkModel(model, "createLoop({ model })", "a model, or its name as a string");
  if (session !== undefined) checkSession(session, "createLoop({ session })");
  if (typeof options?.model !== "string" && typeof options?.model?.stream !== "function")
    throw new ToolError("invalid_argument", "A loop or an agent needs a model: { model, session }.", {
      hint: 'Give its name, "provider/model", or create one with haft/model.',
    });
  if (typeof options.model === "string") checkProvider(splitSpec(options.model));
  if (typeof options.session?.turn !== "function")
    throw new ToolError("invalid_argument", "A loop or an agent needs a session: { model, session }.", {
      hint: "Create one with runtime.session().",
    });
}

/** The result of a run, its output typed by the schema that was asked for. */
type LoopAnswer<Output extends SchemaSource> = LoopResult<InferInput<Output>>;

interface Run {
  readonly signal: AbortSignal | undefined;
  readonly output: StructuredOutput | undefined;
  readonly events: EventQueue<LoopEvent> | undefined;
}

type ActiveRun = Omit<Run, "events"> & Pick<RunDependencies, "emit">;

/** The session of a run, with the parts that track it. */
interface SessionParts extends Pick<RunDependencies, "conversation" | "taint" | "deferred"> {
  readonly session: RuntimeSession;
}

function createSessionParts(
  session: RuntimeSession,
  { taint, history = {}, deferTools = false }: LoopOptions,
  conversation: LoopConversation = new LoopConversation(session, history),
): SessionParts {
  return {
    session,
    deferred: deferTools === false ? undefined : new DeferredTools(deferTools === true ? {} : deferTools, session.registry),
    conversation,
    taint: taint === undefined ? undefined : new Taint(session, taint),
  };
}

interface RunStarter {
  (run: LoopRun, turn: SessionTurn, signal: AbortSignal): Promise<LoopResult | undefined>;
  /** The message that the run begins with. */
  readonly input?: SessionMessage | undefined;
}

class SessionLoop implements Loop {
  readonly emergencyStop: EmergencyStop | undefined;
  readonly #options: LoopOptions;
  readonly #limits: CheckedLimits;
  readonly #parts: SessionParts;
  readonly #visibilityFor: (round: LoopRound) => Visibility | undefined;
  readonly #steered: SessionMessage[] = [];
  #model: Model | undefined;
  #running = false;

  constructor(options: LoopOptions) {
    checkModelAndSession(options);
    checkLoopOptions(options);
    this.#options = withCheckedCallbacks(options);
    this.#limits = checkLoopLimits(options.limits);
    checkStopConditions(options.stopWhen, "stopWhen of a loop");
    checkCostIsCounted(options, "A loop");
    this.#parts = createSessionParts(options.session, options);
    this.#visibilityFor = compileAllow(this.#options.allow);
    const { emergencyStop } = options;
    this.emergencyStop = emergencyStop === false ? undefined : (emergencyStop ?? new EmergencyStop());
  }

  get running(): boolean {
    return this.#running;
  }

  run<Output extends SchemaSource>(input?: string | SessionMessage, options: LoopRunOptions<Output> = {}): Promise<LoopAnswer<Output>> {
    return this.#startRun(options, startWithMessage(input));
  }

  stream<Output extends SchemaSource>(
    input?: string | SessionMessage,
    options: LoopRunOptions<Output> = {},
  ): AsyncGenerator<LoopEvent<InferInput<Output>>, LoopAnswer<Output>, undefined> {
    const readerStopped = new AbortController();
    const events = this.#stream(input, options, readerStopped);
    const returnEvents = events.return.bind(events);
    // A generator that waits for its next event only ends once that event has come, so its wait is cancelled here.
    events.return = (value) => {
      readerStopped.abort(new ToolError("cancelled", "the consumer of the loop's events has stopped reading"));
      return returnEvents(value);
    };
    return events;
  }

  async *#stream<Output extends SchemaSource>(
    input: string | SessionMessage | undefined,
    options: LoopRunOptions<Output>,
    readerStopped: AbortController,
  ): AsyncGenerator<LoopEvent<InferInput<Output>>, LoopAnswer<Output>, undefined> {
    checkRunOptions(options);
    const signal = options.signal === undefined ? readerStopped.signal : AbortSignal.any([options.signal, readerStopped.signal]);
    const queue = new EventQueue<LoopEvent<InferInput<Output>>>();
    let hasEnded = false;
    const running = this.#startRun({ ...options, signal }, startWithMessage(input), queue);
    const onSettled = (): void => {
      hasEnded = true;
      queue.wake();
    };
    running.then(onSettled, onSettled); // a failure is reported to the consumer when it asks for the next event
    try {
      for (;;) {
        for (let event = queue.shift(); event !== undefined; event = queue.shift()) yield event;
        if (hasEnded) return await running;
        await queue.waitForEvent();
      }
    } finally {
      readerStopped.abort();
      await running.catch(() => {}); // already reported to the consumer of the events
    }
  }

  resume<Output extends SchemaSource>(decided: ResumeDecisions, runOptions: LoopRunOptions<Output> = {}): Promise<LoopAnswer<Output>> {
    const decisions = decided?.decisions; // an untyped caller may pass anything
    if (typeof decisions !== "object" || decisions === null)
      return Promise.reject(
        new ToolError("invalid_argument", "resume() takes { decisions }: an answer for the digest of each waiting call."),
      );
    const unknown = findUnknownKeyError(decided, { decisions: true }, "resume()");
    if (unknown !== undefined) return Promise.reject(unknown);
    return this.#startRun(runOptions, async (run, turn, runSignal) => {
      if (Object.keys(decisions).length === 0 && this.pending().length === 0) return notRunResult("nothing-pending");
      const allow = this.#visibilityFor({ number: 0, session: turn.session });
      const shown = this.#parts.conversation.messages();
      const options = { ...this.#options.calls, signal: runSignal, shown, ...(allow === undefined ? {} : { allow }) };
      const results = await decideCalls(turn, decisions, options);
      return run.recordDecidedResults(results);
    });
  }

  steer(message: string | SessionMessage): void {
    this.#steered.push(toMessage(message));
  }

  pending(): readonly PendingCall[] {
    return pendingCalls(this.#options.session);
  }

  /** @param events receives the events of this run, in addition to `onEvent` */
  async #startRun<Output extends SchemaSource>(
    options: LoopRunOptions<Output>,
    start: RunStarter,
    events?: EventQueue<LoopEvent>,
  ): Promise<LoopAnswer<Output>> {
    const { signal, output } = checkRunOptions(options);
    const reader = output === undefined ? undefined : new StructuredOutput(output);
    const result = await this.#run({ signal, output: reader, events }, start);
    return result as LoopAnswer<Output>; // the output was read by the schema of `Output`
  }

  async #run({ events, ...run }: Run, start: RunStarter): Promise<LoopResult> {
    const emit = (event: LoopEvent): void => {
      this.#callListener(event);
      events?.push(event);
    };
    const reportStop = (result: LoopResult): LoopResult => {
      emit({ type: "stop", result });
      return result;
    };
    const refused = this.#findRefusal();
    if (refused !== undefined) return reportStop(refused);
    const { clock } = this.#options.session.ports;
    this.#running = true;
    clock.hold?.(); // keeps the process alive while the model waits for something that does not
    try {
      return reportStop(await withRunSpan({ ...this.#options, input: start.input }, () => this.#runInSession({ ...run, emit }, start)));
    } finally {
      this.#running = false;
      clock.release?.();
    }
  }

  /** Why the loop may not run: the emergency stop is checked first, then a run that is still active, then `enabled`. */
  #findRefusal(): LoopResult | undefined {
    if (this.emergencyStop?.stopped === true) return notRunResult("emergency-stop", this.emergencyStop.reason);
    if (this.#running) return notRunResult("already-running", STOP_REASONS["already-running"]);
    const enabled: unknown = this.#options.enabled?.() ?? true; // a promise would always enable the loop
    ignoreRejection(enabled);
    if (typeof enabled !== "boolean") throw wrongReturnError("enabled() of createLoop() returns a boolean", enabled);
    return enabled ? undefined : notRunResult("disabled");
  }

  /** Plays the run in the session, or in a branch that is discarded at the end. */
  async #runInSession(run: ActiveRun, start: RunStarter): Promise<LoopResult> {
    const { session, recordHistory = true } = this.#options;
    if (recordHistory) return await this.#runTurn(run, start, this.#parts);
    const branch = session.fork();
    try {
      return await this.#runTurn(run, start, createSessionParts(branch, this.#options, this.#parts.conversation.branch(branch)));
    } finally {
      await branch.discard();
    }
  }

  async #runTurn({ signal, output, emit }: ActiveRun, start: RunStarter, { session, ...parts }: SessionParts): Promise<LoopResult> {
    await parts.taint?.applyRule();
    const model = (this.#model ??= await resolveModel(this.#options.model));
    const controller = new AbortController();
    const timers = new LoopTimers(session.ports.clock, this.#limits, (reason) => controller.abort(reason));
    const removeListener = signal === undefined ? undefined : onAbort(signal, () => controller.abort(signal.reason));
    const runParts: RunDependencies = {
      options: { ...this.#options, model },
      output,
      limits: this.#limits,
      ...parts,
      allowed: this.#visibilityFor,
      emergency: this.emergencyStop,
      steered: this.#steered,
      timers,
      signal: controller.signal,
      emit,
    };
    try {
      return await session.turn(
        async (turn) => {
          const run = new LoopRun(runParts, turn);
          return (await start(run, turn, controller.signal)) ?? (await run.run());
        },
        { signal: controller.signal },
      );
    } catch (thrown: unknown) {
      if (!controller.signal.aborted || ToolError.fromUnknown(thrown).code !== "cancelled") throw thrown;
      return notRunResult(timers.stopped?.reason ?? "cancelled", timers.stopped?.detail);
    } finally {
      removeListener?.();
      timers.clear();
    }
  }

  #callListener(event: LoopEvent): void {
    const { onEvent, session } = this.#options;
    if (onEvent === undefined) return;
    notifySafely(
      () => onEvent(event),
      (thrown) => session.ports.log.warn(`A listener of a loop threw on ${event.type}: ${describeThrown(thrown)}`),
    );
  }
}

function checkRunOptions<Options extends LoopRunOptions>(options: Options): Options {
  checkKnownKeys<LoopRunOptions>(options, { signal: "AbortSignal", output: true }, "run()");
  return options;
}

/** Returns the model, loading the provider code of a named one only now, so that other loops do not pay for it. */
async function resolveModel(model: Model | string): Promise<Model> {
  if (typeof model !== "string") return model;
  const { modelFrom } = await import("../model/model-from.ts");
  return modelFrom(model);
}

/** Returns the rules for a round. Rules that do not change are compiled once. */
function compileAllow(allow: LoopOptions["allow"]): (round: LoopRound) => Visibility | undefined {
  if (typeof allow === "function") {
    return (round) => {
      const rules = allow(round);
      return rules === undefined ? undefined : visibilityOf(rules);
    };
  }
  const visibility = allow === undefined ? undefined : visibilityOf(allow);
  return () => visibility;
}

/** A run that begins with a message, if one is given. */
function startWithMessage(message: string | SessionMessage | undefined): RunStarter {
  const input = message === undefined ? undefined : toMessage(message);
  const start = async (run: LoopRun): Promise<undefined> => {
    if (input !== undefined) run.add(input);
    return undefined;
  };
  return Object.assign(start, { input });
}

function toMessage(message: string | SessionMessage): SessionMessage {
  return typeof message === "string" ? { role: "user", content: message } : message;
}

/** The result of a run that never started. */
function notRunResult(reason: StopReason, detail?: string): LoopResult {
  return Object.freeze({ text: "", reason, ...(detail === undefined ? {} : { detail }), rounds: 0, results: [], usage: NO_USAGE });
}
