/** The end of every call: one result, passed to hooks, truncated, recorded and counted. */
import { ANSWER_LIMITS } from "../../core/answer-limits.ts";
import { ToolOutput } from "../../core/content.ts";
import { describeThrown, errorInfo, type ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { ReturnedFailure } from "../../core/returned-failure.ts";
import { StandInError } from "../../core/stand-in-error.ts";
import type { Fidelity } from "../../core/fidelity.ts";
import type { Hook } from "../../core/hook.ts";
import { hasAnswer, type Origin, type ResultStatus, type ToolResult } from "../../core/result.ts";
import { copyJson, fitJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { AnswerParts } from "../../policy/results/artifact-parts.ts";
import { mayHoldData } from "../../policy/results/data-urls.ts";
import { truncateResult } from "../../policy/results/truncate-result.ts";
import { READ_RESULT } from "../../registry/read-result-tool.ts";
import { isVisible } from "../../registry/visible-tool.ts";
import { providerName } from "../../wire/provider-name.ts";
import { endRead } from "../cache/cached-read.ts";
import { callHook, hookContext, hookFailed } from "../call-hook.ts";
import { NO_REPAIRS, NO_WARNINGS, type Answer, type CallRun } from "../call-run.ts";
import type { ResultNotes } from "../call-options.ts";
import { changeResult } from "./change-result.ts";
import { release } from "../attempt/hold.ts";
import type { CallJob } from "../jobs/job.ts";
import { settle } from "../context/call-tree.ts";
import { keepForHandler } from "../context/whole-for-handler.ts";
import { keepPartFiles } from "./keep-artifacts.ts";
import { sinceCrash } from "../attempt/effect-so-far.ts";
import { outcomeUnknown } from "../admit/reconcile-call.ts";
import { takeMetadata } from "./take-output.ts";
import { deepFreeze } from "../../core/base/frozen.ts";
import type { Mutable } from "../../core/base/mutable.ts";
import { roundMs } from "../../core/system-ports.ts";

/** Builds and records the result. `error` is the error that ended the call; undefined if it succeeded. Never throws or rejects. */
export function finishCall(run: CallRun, error: ToolError | undefined, status?: ResultStatus): Answer {
  if (run.plan?.holdsNothing === false) release(run);
  const end = error && endSinceCrash(run, error);
  if (run.enteredTurn !== undefined && run.attempts === 0 && end?.outcome === "not_started") run.turn.giveBack(run.enteredTurn);
  if (run.read !== undefined) endRead(run, end);
  const partial = end === undefined ? undefined : partialOf(run, end);
  if (partial instanceof Promise) {
    run.holdProcess();
    return partial.then((kept) => finishWith(run, { end, status, partial: kept }));
  }
  return finishWith(run, { end, status, partial });
}

function endSinceCrash(run: CallRun, error: ToolError): ToolError {
  return run.resumed?.isInterrupted === true && error.outcome === "not_started"
    ? outcomeUnknown(run.toolName, error.message)
    : sinceCrash(run, error);
}

interface CallEnd {
  readonly end: ToolError | undefined;
  readonly status: ResultStatus | undefined;
  readonly partial: AnswerParts | undefined;
}

function finishWith(run: CallRun, { end, status, partial }: CallEnd): Answer {
  const result = buildResult(run, end ?? run.answer.error, status ?? statusOf(run, end));
  if (partial !== undefined) takePartial(result, partial);
  if (run.parts.afterHooks.length === 0 || run.plan === undefined) return recordResult(run, result);
  run.holdProcess();
  return showHooks(run, result).then((shown) => recordResult(run, shown));
}

function statusOf(run: CallRun, error: ToolError | undefined): ResultStatus {
  if (error !== undefined) return error.code === "cancelled" ? "cancelled" : "error";
  if (run.answer.error === undefined) return "ok";
  return run.answer.error.code === "execution_failed" ? "error" : "partial";
}

/** Where the answer came from. The answers of an engine that only simulates a tool never count as live. */
function originOf({ route, answer, simulated, resumed }: CallRun): Origin {
  // the result is about the run before the crash, whatever would answer now
  if (resumed !== undefined && (resumed.isAnswered || resumed.isInterrupted)) return "live";
  if (answer.isCached === true || route?.rules.onlyKept === true) return "cache";
  if (route === undefined) return simulated ? "simulated" : "live";
  const { origin = "live" } = route.engine;
  return route.rules.isPretended && origin === "live" ? "simulated" : origin;
}

/** Sets the engine that answered in place of the tool, and its fidelity. */
function stampOrigin(run: CallRun, result: Mutable<ToolResult>, error: ToolError | undefined): void {
  if (result.origin !== "cache" && run.route !== undefined) result.answeredBy = run.route.engine.kind;
  result.fidelity = isAnswer(run, error) ? (run.answer.fidelity ?? fidelityOf(run, result)) : "unchecked";
}

/** Whether the result is an engine's answer; false if a fault changed it, or if the call ended without an answer. */
function isAnswer({ faults, answer }: CallRun, error: ToolError | undefined): boolean {
  return faults?.spoils === undefined && (error === undefined || error === answer.error || error === answer.engineError);
}

function fidelityOf({ plan }: CallRun, { origin, status }: ToolResult): Fidelity {
  if (origin === "cache" || origin === "replay") return "observed";
  if (origin === "stub") return "scripted";
  return status === "ok" && plan?.outputValidator !== undefined ? "schema-valid" : "unchecked";
}

function buildResult(run: CallRun, error: ToolError | undefined, status: ResultStatus): Mutable<ToolResult> {
  const { answer } = run;
  const result: Mutable<ToolResult> = {
    callId: run.callId,
    name: run.toolName,
    status,
    origin: originOf(run),
    attempts: run.attempts,
    durationMs: roundMs(run.clock.now() - run.startedAt),
    repairs: run.repairs,
    warnings: run.warnings,
  };
  if (run.call.id !== undefined) result.id = run.call.id;
  run.failure = error;
  if (error !== undefined) result.error = Object.freeze(errorInfo(error));
  if (error === answer.error) {
    if (answer.exitCode !== undefined) result.exitCode = answer.exitCode;
    if (answer.output !== undefined) result.output = answer.output;
    if (answer.content !== undefined) result.content = answer.content;
    if (answer.sameAs !== undefined) result.sameAs = answer.sameAs;
  }
  if (status === "error" && error instanceof ReturnedFailure && error.answer !== undefined) result.output = error.answer;
  if (answer.metadata !== undefined) result.metadata = answer.metadata;
  if (result.origin !== "live") stampOrigin(run, result, error);
  if (run.faults?.met !== undefined) result.fault = run.faults.met;
  return result;
}

/** The output that a handler had set before it was cut off. Not validated; left out if it cannot be recorded. */
function partialOf(run: CallRun, { code }: ToolError): AnswerParts | Promise<AnswerParts> | undefined {
  const { partialOutput } = run.answer;
  if (partialOutput === undefined || (code !== "cancelled" && code !== "timeout")) return undefined;
  const { output: answer, metadata } = partialOutput instanceof ToolOutput ? partialOutput : { output: partialOutput, metadata: undefined };
  if (metadata !== undefined) takeMetadata(run, metadata);
  if (answer === undefined) return undefined;
  try {
    const { value, found } = fitJson(answer, ANSWER_LIMITS, mayHoldData);
    const partial = { output: value, content: undefined };
    return found ? keepPartFiles(run, { ...partial, what: "partial output" }) : partial;
  } catch (thrown: unknown) {
    run.parts.ports.log.warn(`The partial output of ${run.toolName} was left out: ${describeThrown(thrown)}`);
    return undefined;
  }
}

function takePartial(result: Mutable<ToolResult>, { output, content }: AnswerParts): void {
  if (result.output !== undefined || output === undefined) return;
  result.output = deepFreeze(output);
  if (content !== undefined) result.content = deepFreeze(content);
}

/** Passes the result through the hooks. If the call ends before all hooks have seen the result, it ends without that result. */
async function showHooks(run: CallRun, result: ToolResult): Promise<Mutable<ToolResult>> {
  const before = run.cancelled; // the result already says so
  // Partial output is worth a wait. Without it, the hooks of a cancelled call are not waited for.
  const waiter = before !== undefined && hasAnswer(result) ? { clock: run.clock, wait: undefined } : run;
  let shown = Object.freeze(result);
  for (const [index, hook] of run.parts.afterHooks.entries()) {
    const { said, ended } = await callHook(run, hook, () => hook.afterCall?.(shown, hookContext(run)), waiter);
    const end = run.cancelled === before ? ended : run.cancelled;
    if (end !== undefined) return showRest(run, run.parts.afterHooks.slice(index + 1), withoutAnswer(run, end));
    const changed = takeChange(shown, said, reportOf(run));
    if (!("unusable" in changed)) {
      shown = changed;
      continue;
    }
    const failure = hookFailed(run, hook, `returned an unusable result: ${changed.unusable}`).ended;
    if (failure !== undefined) return showRest(run, run.parts.afterHooks.slice(index + 1), withoutAnswer(run, failure));
  }
  const { output, content } = shown;
  const isSame = output === result.output && content === result.content;
  const kept = isSame ? shown : await keepPartFiles(run, { output, content, what: "answer that hooks changed", keeper: keeperOf(run) });
  if (run.cancelled !== undefined && run.cancelled !== before) return withoutAnswer(run, run.cancelled);
  return withParts({ ...shown, durationMs: roundMs(run.clock.now() - run.startedAt) }, kept);
}

/** Shows the remaining hooks how the call ended, for hooks that count calls; they are not waited for. */
function showRest(run: CallRun, hooks: readonly Hook[], end: Mutable<ToolResult>): Mutable<ToolResult> {
  const shown = Object.freeze({ ...end });
  for (const hook of hooks) void callHook(run, hook, () => hook.afterCall?.(shown, hookContext(run)));
  return end;
}

/** The call that waits for the store; undefined for a cancelled call, whose wait cannot be cancelled again. */
function keeperOf(run: CallRun): CallRun | undefined {
  return run.cancelled === undefined ? run : undefined;
}

function withParts(result: Mutable<ToolResult>, { output, content }: Partial<AnswerParts>): Mutable<ToolResult> {
  if (output !== result.output && output !== undefined) result.output = deepFreeze(output);
  if (content !== result.content && content !== undefined) result.content = deepFreeze(content);
  return result;
}

/** The result of an answer that not all hooks have seen: without its output, error message and metadata. */
function withoutAnswer(run: CallRun, end: ToolError): Mutable<ToolResult> {
  const result = buildResult(run, end, statusOf(run, end));
  const report = reportOf(run);
  if (report === undefined) delete result.metadata;
  else result.metadata = report;
  return result;
}

/** A delegate's report about its calls and its spending. Hooks cannot change it, as `taint` and budgets rely on it. */
function reportOf({ plan, answer }: CallRun): JsonObject | undefined {
  const report = plan?.tool.composite === true ? answer.metadata?.["delegate"] : undefined;
  return report === undefined ? undefined : { delegate: report };
}

function takeChange(result: ToolResult, said: unknown, report: JsonObject | undefined): ToolResult | { readonly unusable: string } {
  if (said === undefined || said === null || said === result) return result;
  try {
    const changed: Mutable<ToolResult> = changeResult(result, said);
    if (report !== undefined) changed.metadata = deepFreeze({ ...changed.metadata, ...report });
    return Object.freeze(changed);
  } catch (thrown: unknown) {
    return { unusable: describeThrown(thrown) };
  }
}

function recordResult(run: CallRun, result: Mutable<ToolResult>): ToolResult {
  const cut = cutThen(run, result);
  if (cut !== undefined) result.truncation = cut;
  else if (run.plan !== undefined && !isSmall(run, run.plan.settings.maxResultBytes, result))
    limitSize(run, run.plan.settings.maxResultBytes, result);
  if (run.options.metadata !== undefined) addNotes(run, run.options.metadata, result);
  if (result.repairs !== NO_REPAIRS) {
    for (const repair of result.repairs) Object.freeze(repair);
    Object.freeze(result.repairs);
  }
  if (result.warnings !== NO_WARNINGS) Object.freeze(result.warnings);
  run.result = Object.freeze(result);
  run.parts.running.remove(run);
  if (run.turn.madeIn !== undefined && run.turn.isSingleCall) settle(run.turn, [run]);
  if (run.turn.keepsAnswers && run.turn.isSingleCall) run.parts.cache.forget(run.turn);
  run.releaseProcess();
  run.parts.counters.calls++;
  if (result.status === "ok") run.parts.counters.succeeded++;
  run.parts.counters.repairs += run.repairs.length;
  const isWrittenDown = run.route?.source === "record" && (run.attempts > 0 || run.answer.isCached === true) && leavesTraces(run);
  if (run.hasObservers || isWrittenDown) {
    const end = endOf(run, result);
    if (run.job !== undefined) endJob(run, run.job, end);
    else if (run.turn.session.isHandedOver) run.leave([end]);
    else if (run.hasObservers) run.record(end);
    if (isWrittenDown) writeDown(run, end);
  } else if (run.job !== undefined) endJob(run, run.job, endOf(run, result));
  if (run.atEnd !== undefined) run.atEnd();
  run.resumed?.ended();
  return result;
}

/** Records the end of the call and that of its job together, before listeners are called with either. */
function endJob(run: CallRun, job: CallJob, end: SessionEvent & { readonly type: "call-end" }): void {
  const over = job.finish(end.result);
  run.parts.jobs.end(job);
  const events = over === undefined ? [end] : [end, over];
  if (run.turn.session.isHandedOver) run.leave(events);
  else run.recordAll(events);
  const { broken } = run.turn.session;
  if (broken !== undefined && run.written !== undefined) job.lose(broken);
}

function endOf(run: CallRun, result: ToolResult): SessionEvent & { readonly type: "call-end" } {
  const { callId, turn, clock, input } = run;
  const { id: turnId, session } = turn;
  const at = clock.wallTime();
  const { id: sessionId } = session;
  const end = { callId, sessionId, turnId, at, type: "call-end", result } as const;
  const timing = run.timing?.finish();
  if (timing !== undefined) return input === undefined ? { ...end, timing } : { ...end, input, timing };
  if (input === undefined) return end;
  return { callId, sessionId, turnId, at, type: "call-end", result, input };
}

/** Whether the source `record` keeps the call: of a simulation, only calls that the caller allowed to run for real. */
function leavesTraces({ turn, toolName }: CallRun): boolean {
  return turn.session.simulation?.allowsSideEffects(toolName) ?? true;
}

function writeDown(run: CallRun, end: SessionEvent): void {
  try {
    const { madeIn } = run.turn;
    const made = madeIn === undefined ? {} : { parentCallId: madeIn.callId };
    run.parts.chains.onRecord?.([{ ...run.eventBase, type: "call-start", call: run.call, ...made }, end]);
  } catch (thrown: unknown) {
    run.parts.ports.log.warn(`The call of ${run.toolName} could not be recorded: ${describeThrown(thrown)}`);
  }
}

function addNotes(run: CallRun, notesOf: ResultNotes, result: Mutable<ToolResult>): void {
  try {
    const notes = notesOf(result);
    if (notes === undefined) return;
    const { value } = copyJson(notes);
    if (isJsonObject(value)) result.metadata = Object.freeze({ ...result.metadata, ...value });
  } catch (thrown: unknown) {
    run.parts.ports.log.warn(`The data to keep with the result of ${run.toolName} could not be read: ${describeThrown(thrown)}`);
  }
}

/** Maximum size of the note in place of the omitted part, in addition to the limit. */
const NOTE_BYTES = 1_000;

/** How the answer was truncated when it was recorded, if it is unchanged since and still within the limit here. */
function cutThen({ answer, failure, plan }: CallRun, result: Shown): ToolResult["truncation"] {
  const { truncation, output, content } = answer;
  if (truncation === undefined && failure === undefined) return undefined;
  const ofError = failure instanceof StandInError && result.output === failure.answer ? failure.truncation : undefined;
  const found = ofError ?? (result.output === output && result.content === content ? truncation : undefined);
  if (found === undefined || plan === undefined || plan.settings.maxResultBytes === 0) return found;
  return truncateResult(result.output, result.content, plan.settings.maxResultBytes + NOTE_BYTES, () => "").cut ? undefined : found;
}

/** Whether the answer is known to be within the limit without measuring it. */
function isSmall({ answer: { output, outputBound } }: CallRun, maxResultBytes: number, result: Shown): boolean {
  return outputBound !== undefined && outputBound <= maxResultBytes && result.output === output && result.content === undefined;
}

/** The truncatable fields of a result that is being built. */
type Shown = { -readonly [Key in "output" | "content" | "truncation"]?: ToolResult[Key] };

/** Truncates what the model is shown. The whole is kept only in a session; without one, only the handler that made the call could read it. */
function limitSize(run: CallRun, maxResultBytes: number, result: Shown): void {
  if (maxResultBytes === 0) return;
  let handle: string | undefined;
  const shown = truncateResult(result.output, result.content, maxResultBytes, () => {
    if (!run.turn.session.keepsResults) return ASK_FOR_LESS;
    handle ??= keepWhole(run, result);
    if (!isVisible(run.parts.registry, READ_RESULT, run.options.visibility)) return ASK_FOR_LESS;
    return `Read the rest with ${READ_RESULT_NAME} {"handle": "${handle}"}`;
  });
  if (!shown.cut) return;
  if (!run.turn.session.keepsResults && run.madeBy !== undefined)
    keepForHandler(result, { output: result.output, content: result.content });
  // Copied as far as the truncation reaches.
  if (shown.output !== undefined) result.output = deepFreeze(shown.output);
  if (shown.content !== undefined) result.content = Object.freeze(shown.content.map((part) => Object.freeze({ ...part })));
  result.truncation = Object.freeze({ handle, totalBytes: shown.totalBytes, shownBytes: shown.shownBytes });
}

/** The encoded name, which is the only one that models, frameworks and MCP clients know. */
const READ_RESULT_NAME = providerName(READ_RESULT);
const ASK_FOR_LESS = "ask for less at a time";

/** Keeps the whole answer in memory as long as there is room and, in a stored session, permanently in its log. */
function keepWhole(run: CallRun, { output, content }: Shown): string {
  const { session } = run.turn;
  if (run.isLogged && session.eventLog !== undefined) {
    const whole = { ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) };
    const event = Object.freeze({ ...run.eventBase, type: "output-keep", ...whole } as const);
    session.recordOutput(event);
    run.emit(event);
  }
  return run.parts.largeResults.keep(session.id, run.callId, output, content);
}
