/** The attempts of one call: circuit, locks and slot, the handler on its deadline, release, backoff. */
import type { EngineRequest } from "../core/engine.ts";
import { ToolError } from "../core/error.ts";
import { FIDELITIES } from "../core/fidelity.ts";
import { Job } from "../core/job.ts";
import { NoAnswer } from "../core/no-answer.ts";
import { StandInError } from "../core/stand-in-error.ts";
import { circuitOutcome, type Circuit } from "../policy/circuit.ts";
import { classifyError, isServerFailure } from "../policy/classify-error.ts";
import { isPromiseLike, settleWithin, waitFor, type LateEnd, type WaitOutcome, type Waited } from "../policy/deadline.ts";
import { mayRetry, retryDelay } from "../policy/retry.ts";
import { writeEnded } from "./announce-write.ts";
import { beginEngineSession } from "./begin-engine-session.ts";
import { endRead, leaveFlight, readAnswered, type Found } from "./cached-read.ts";
import type { AdmittedCall } from "./call-run.ts";
import { withinLayer } from "./caller-layer.ts";
import { followJob } from "./follow-job.ts";
import { release } from "./hold.ts";
import { askWithFault, faultIsOver, isPutIn, plannedTimeout, spoiledAnswer } from "./inject-fault.ts";
import { abandon } from "./orphan.ts";
import { withinRun } from "./nested-calls.ts";
import { prepareAttempt, recallOr } from "./prepare-attempt.ts";
import type { Route } from "./route.ts";
import { AttemptContext } from "./tool-context.ts";

/** A handler that keeps the event loop this long without a break is reported. */
const BLOCK_MS = 100;
/** A shorter one may be a cold start or a busy machine, and is told to listeners only. */
const WARNED_BLOCK_MS = 1_000;

/** What an attempt comes to: its error, or undefined when `run.raw` holds the answer. */
type End = ToolError | undefined;

export function runAttempts(run: AdmittedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  if (run.isAnswered) return run;
  const { route } = run;
  return route.rules.onlyKept || route.next !== undefined ? tryEach(run, route) : tryEngine(run);
}

/** Asks one after the other until somebody has an answer. */
async function tryEach(run: AdmittedCall, first: Route): Promise<AdmittedCall | ToolError> {
  for (let route = first; ;) {
    const end = await (route.rules.onlyKept ? recallOr(run, notKept(run.toolName)) : tryEngine(run));
    if (!(end instanceof NoAnswer) || route.next === undefined) return end ?? run;
    leaveNothing(run, end);
    route = route.next;
    run.route = route;
    run.attempts = 0;
    const begun = route.opensSessions ? await beginEngineSession(run) : run;
    if (begun instanceof ToolError) return begun;
  }
}

/** Leaves nothing of what was asked before: neither a place in line, nor an answer to be kept as the tool's, nor a fault that is over. */
function leaveNothing(run: AdmittedCall, end: NoAnswer): void {
  endRead(run, end);
  if (!run.plan.holdsNothing) release(run);
  faultIsOver(run);
}

function notKept(toolName: string): NoAnswer {
  return new NoAnswer("not_found", `Nothing is kept that ${toolName} answered to an equal call.`, {
    operatorHint: "Call it live first; its definition must say that its results are cached.",
  });
}

function tryEngine(run: AdmittedCall): AdmittedCall | ToolError | Promise<AdmittedCall | ToolError> {
  const end = attempt(run);
  if (end === undefined) return run;
  return end instanceof Promise ? retryLater(run, end) : retry(run, end);
}

function retryLater(run: AdmittedCall, ending: Promise<End>): Promise<AdmittedCall | ToolError> {
  return ending.then((error) => (error === undefined ? run : retry(run, error)));
}

function retry(run: AdmittedCall, error: ToolError): ToolError | Promise<AdmittedCall | ToolError> {
  return allowsRetry(run, error, 1) ? retryLoop(run, error) : error;
}

async function retryLoop(run: AdmittedCall, first: ToolError): Promise<AdmittedCall | ToolError> {
  let error = first;
  for (let tries = 1; allowsRetry(run, error, tries); tries++) {
    const delayMs = retryDelay(error, tries, run.parts.retry, run.parts.ports.random);
    if (run.clock.now() + delayMs >= run.deadlineAt || !mayRetryNow(run)) return error;
    if (run.parts.listening)
      run.emit({ ...run.eventBase, type: "call-retry", toolName: run.toolName, attempt: tries, delayMs, error: error.toJSON() });
    leaveFlight(run);
    await backOff(run, delayMs);
    if (run.cancelled !== undefined) return run.cancelled;
    const next = await attempt(run);
    if (next === undefined) return run;
    // A circuit that opened meanwhile says less than the failure that opened it.
    if (next.code === "circuit_open") return error;
    error = next;
  }
  return error;
}

function allowsRetry(run: AdmittedCall, error: ToolError, tries: number): boolean {
  return (
    run.cancelled === undefined &&
    run.attempts > 0 &&
    !(error instanceof NoAnswer) &&
    mayRetry({ error, attempt: tries, maxAttempts: run.plan.settings.maxAttempts, repeatable: run.effects.repeatable })
  );
}

/** What goes wrong with something that stands in for a tool is no evidence against it, and takes nothing from its budget. */
function mayRetryNow(run: AdmittedCall): boolean {
  return !run.isReal || run.plan.budget.tryRetry();
}

function backOff(run: AdmittedCall, delayMs: number): Promise<Waited<never>> {
  return waitFor(run, new Promise<never>(() => {}), { endsAt: run.clock.now() + delayMs, late: () => BACKOFF_OVER });
}

const BACKOFF_OVER = new ToolError("timeout", "The wait between two attempts is over.");

/** One attempt. */
function attempt(run: AdmittedCall): End | Promise<End> {
  const waitMs = circuitOf(run)?.admit() ?? 0;
  if (waitMs > 0) return recallOr(run, circuitOpen(run, waitMs));
  const { plan } = run;
  const ready = plan.holdsNothing && !plan.caches ? undefined : prepareAttempt(run);
  return ready instanceof Promise ? proceedLater(run, ready) : proceed(run, ready);
}

function proceedLater(run: AdmittedCall, ready: Promise<Found>): Promise<End> {
  return ready.then((found) => proceed(run, found));
}

/** Runs the handler, unless the cache has its answer or there is a reason not to. */
function proceed(run: AdmittedCall, found: Found): End | Promise<End> {
  if (found === undefined) return invoke(run);
  if (!run.plan.holdsNothing) release(run);
  circuitOf(run)?.record("ignored");
  return found === "answered" ? undefined : found;
}

function circuitOpen(run: AdmittedCall, waitMs: number): ToolError {
  const causes = circuitOf(run)?.causes ?? [];
  return new ToolError("circuit_open", `${run.toolName} has failed repeatedly: calls are refused for another ${Math.ceil(waitMs)} ms.`, {
    retryAfterMs: Math.ceil(waitMs),
    retryable: false,
    hint: "Use another tool, or try again later.",
    ...(causes.length === 0 ? {} : { details: [`The latest failures: ${causes.join(", ")}.`] }),
  });
}

/** The circuit of the call's tool; what stands in for a tool neither has nor moves it. */
function circuitOf(run: AdmittedCall): Circuit | undefined {
  return run.isReal ? run.plan.circuit : undefined;
}

function invoke(run: AdmittedCall): End | Promise<End> {
  const { tool, settings } = run.plan;
  const startedAt = run.clock.now();
  const refusal = run.cancelled ?? (startedAt < run.deadlineAt ? undefined : tooLate(run));
  if (refusal !== undefined) return notStarted(run, refusal);
  const endsAt = Math.min(settings.timeoutMs === 0 ? Infinity : startedAt + settings.timeoutMs, run.deadlineAt);
  if (run.attempts++ === 0 && run.isReal) run.plan.budget.requests++;
  run.parts.counters.attempts++;
  const context = new AttemptContext(run, run.attempts, endsAt);
  if (run.parts.listening) run.emit({ ...run.eventBase, type: "call-attempt", toolName: run.toolName, attempt: run.attempts });
  let answer: unknown;
  let work: PromiseLike<unknown> | undefined;
  try {
    const request = { tool, input: run.input, parsed: run.parsed, toolNamed: run.parts.toolNamed };
    answer = run.faults === undefined ? ask(run, request, context) : askFaulty(run, request, context);
    work = workOf(run, answer, context);
  } catch (thrown: unknown) {
    return attemptFailed(run, context, thrown);
  }
  const now = run.clock.now();
  if (now - startedAt >= BLOCK_MS) reportBlock(run, now - startedAt);
  if (work !== undefined) return settleWithin(run, work, new AnswerOutcome(run, context), { endsAt, now });
  return attemptAnswered(run, context, answer, now);
}

/** What there is to wait for; undefined when the answer is here. Only a foreign engine hands over jobs. */
function workOf({ route }: AdmittedCall, answer: unknown, context: AttemptContext): PromiseLike<unknown> | undefined {
  if (answer instanceof Job) return followJob(answer, context);
  if (!isPromiseLike(answer)) return undefined;
  return route.engine.kind === "local" ? answer : followJob(answer, context);
}

function askFaulty(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return askWithFault(run, context, () => ask(run, request, context));
}

function ask(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return run.turn.tracksCallers ? askTracked(run, request, context) : askInLayer(run, request, context);
}

function askTracked(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return withinRun(run, () => askInLayer(run, request, context));
}

function askInLayer(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return run.options.visibility === undefined ? put(run, request, context) : putInLayer(run, request, context);
}

function putInLayer(run: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return withinLayer(run.turn.session, run.options.visibility, () => put(run, request, context));
}

function put({ route }: AdmittedCall, request: EngineRequest, context: AttemptContext): unknown {
  return route.rules.asksSimulate ? route.engine.simulate?.(request, context) : route.engine.call(request, context);
}

/** Gives back what was taken for an attempt that does not begin after all. */
function notStarted(run: AdmittedCall, error: ToolError): ToolError {
  if (!run.plan.holdsNothing) release(run);
  circuitOf(run)?.record("ignored");
  return error;
}

function tooLate(run: AdmittedCall): ToolError {
  const started = run.attempts === 0 ? "was not started" : "was not tried again";
  return new ToolError("timeout", `${run.toolName} ${started}: the call's deadline of ${run.plan.settings.deadlineMs} ms had passed.`, {
    retryable: false,
    outcome: run.attempts === 0 ? "not_started" : "unknown",
  });
}

/** What the wait for a handler comes to. */
class AnswerOutcome implements WaitOutcome<unknown, End> {
  readonly #run: AdmittedCall;
  readonly #context: AttemptContext;
  #orphan: LateEnd | undefined;

  constructor(run: AdmittedCall, context: AttemptContext) {
    this.#run = run;
    this.#context = context;
  }

  value(answer: unknown): End {
    return attemptAnswered(this.#run, this.#context, answer, this.#run.clock.now());
  }

  thrown(thrown: unknown): End {
    return attemptFailed(this.#run, this.#context, thrown);
  }

  ended(error: ToolError): End {
    this.#context.end(error);
    writeEnded(this.#run);
    recordFailure(this.#run, error);
    this.#orphan = abandon(this.#run, this.#context);
    return error;
  }

  late(): ToolError {
    const error = timedOut(this.#run, this.#context);
    return this.#run.faults === undefined ? error : plannedTimeout(this.#run, error);
  }

  whenLate(): LateEnd | undefined {
    return this.#orphan;
  }
}

function timedOut(run: AdmittedCall, context: AttemptContext): ToolError {
  const { settings } = run.plan;
  const whole = context.deadline === run.deadlineAt;
  const limit = whole ? `the call's deadline of ${settings.deadlineMs} ms` : `${settings.timeoutMs} ms`;
  const isHarmless = run.route.rules.locks !== "everybody";
  const unknown = run.effects.repeatable || isHarmless ? "" : " Its effect is not known: check before calling it again.";
  return new ToolError("timeout", `${run.toolName} did not answer within ${limit}.${unknown}`, {
    ...(whole ? { retryable: false } : {}),
    ...(isHarmless ? { outcome: "failed" } : {}),
  });
}

function attemptAnswered(run: AdmittedCall, context: AttemptContext, answer: unknown, now: number): End {
  const spoiled = run.faults === undefined ? undefined : spoiledAnswer(run);
  if (spoiled !== undefined) return attemptFailed(run, context, spoiled);
  context.end("settled");
  if (run.effects.writes.length > 0) writeEnded(run);
  if (run.read !== undefined) readAnswered(run.read);
  if (!run.plan.holdsNothing) release(run);
  circuitOf(run)?.record("success", now);
  run.raw = answer;
  return undefined;
}

function attemptFailed(run: AdmittedCall, context: AttemptContext, thrown: unknown): ToolError {
  context.end("settled");
  writeEnded(run);
  if (!run.plan.holdsNothing) release(run);
  const error = classifyError(thrown);
  noteAnswer(run, error, error === thrown);
  recordFailure(run, error);
  return error;
}

/** An error that an engine answers with is its answer: it comes as near to the tool's own as its outputs do. */
function noteAnswer(run: AdmittedCall, error: ToolError, isMeant: boolean): void {
  const { faults } = run;
  if (faults !== undefined) faults.spoils = undefined;
  if (!isMeant || error instanceof NoAnswer || faults?.met !== undefined) return;
  run.answeredError = error;
  run.fidelity = error instanceof StandInError && FIDELITIES.includes(error.fidelity) ? error.fidelity : undefined;
}

/** A failure that was put in on purpose says nothing about what the tool depends on. */
function recordFailure(run: AdmittedCall, error: ToolError): void {
  const circuit = circuitOf(run);
  if (circuit === undefined) return;
  const outcome = isPutIn(run) ? "ignored" : circuitOutcome(error, isServerFailure(error));
  if (outcome === "failure") circuit.noteCause(`${run.callId}: ${error.code}`);
  circuit.record(outcome);
}

function reportBlock(run: AdmittedCall, blockedMs: number): void {
  if (blockedMs >= WARNED_BLOCK_MS) {
    run.parts.ports.log.warn(
      `${run.toolName} kept the event loop busy for ${Math.round(blockedMs)} ms: no deadline can cut it off. Make it await, or move the work to a worker.`,
    );
  }
  if (run.parts.listening) run.emit({ ...run.eventBase, type: "call-block", toolName: run.toolName, blockedMs });
}
