/** The end of every call: one result, passed to hooks, truncated, recorded and counted. */
import { ANSWER_LIMITS } from "../../core/answers/answer-limits.ts";
import { ToolOutput } from "../../core/content.ts";
import { describeThrown, errorInfo, type ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import { ignoreRejection } from "../../core/system/ignore-rejections.ts";
import { ReturnedFailure } from "../../core/answers/returned-failure.ts";
import { StandInError } from "../../core/answers/stand-in-error.ts";
import type { Fidelity } from "../../core/answers/fidelity.ts";
import type { Hook } from "../../core/hook.ts";
import { hasAnswer, type OkResult, type Origin, type ResultWithError, type ToolResult } from "../../core/result.ts";
import { copyJson, fitJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { notifySafely } from "../../policy/notify-safely.ts";
import { mentionErrorFiles, type AnswerParts } from "../../policy/results/artifact-parts.ts";
import { mayHaveDataUrls } from "../../policy/results/data-urls.ts";
import { truncateError } from "../../policy/results/truncate-error.ts";
import { truncateResult } from "../../policy/results/truncate-result.ts";
import { ASK_FOR_LESS, READ_RESULT, formatReadHint } from "../../registry/read-result-tool.ts";
import { isVisible } from "../../registry/visible-tool.ts";
import { endCachedRead } from "../cache/cached-read.ts";
import { noteNestedEnd } from "../cache/unshared-answer.ts";
import { callHook, hookContext, handleHookFailure } from "../call-hook.ts";
import { NO_REPAIRS, NO_WARNINGS, type ResultOrPromise, type CallRun } from "../call-run.ts";
import type { ResultNotes } from "../call-options.ts";
import { changeResult } from "./change-result.ts";
import { releaseResources } from "../attempt/held-resources.ts";
import type { CallJob } from "../jobs/job.ts";
import { settleCalls } from "../context/call-tree.ts";
import { storeWholeResult } from "../context/whole-results.ts";
import { storePartFiles } from "./store-artifacts.ts";
import { noteNestedEffect } from "../attempt/nested-effects.ts";
import { withNestedOutcome, withOutcomeSinceCrash } from "../attempt/attempt-outcomes.ts";
import { outcomeUnknownError } from "../admit/reconcile-call.ts";
import { setMetadata } from "./normalize-output.ts";
import { deepFreeze } from "../../core/base/frozen.ts";
import type { Mutable } from "../../core/base/mutable.ts";
import { roundMs } from "../../core/system/system-ports.ts";

/** Builds and records the result. `error` is the error that ended the call; undefined if it succeeded. Never throws or rejects. */
export function finishCall(run: CallRun, error: ToolError | undefined, status?: "skipped"): ResultOrPromise {
  if (run.plan?.needsNoResources === false) releaseResources(run);
  const end = error && toErrorSinceCrash(run, error);
  if (run.countedInTurn !== undefined && run.attempts === 0 && end?.outcome === "not_started") run.turn.freeOnce(run.countedInTurn);
  if (run.callerRun !== undefined) {
    noteNestedEffect(run, end);
    noteNestedEnd(run, end ?? run.answer.error);
  }
  if (run.cachedRead !== undefined) endCachedRead(run, end);
  const partial = end === undefined ? undefined : readPartialOutput(run, end);
  if (partial instanceof Promise) {
    run.holdProcess();
    return partial.then((kept) => finishWith(run, { end, status, partial: kept }));
  }
  return finishWith(run, { end, status, partial });
}

function toErrorSinceCrash(run: CallRun, error: ToolError): ToolError {
  return run.resumed?.isInterrupted === true && error.outcome === "not_started"
    ? outcomeUnknownError(run.toolName, error.message)
    : withNestedOutcome(run, withOutcomeSinceCrash(run, error));
}

interface CallEnd {
  readonly end: ToolError | undefined;
  readonly status: "skipped" | undefined;
  readonly partial: AnswerParts | undefined;
}

function finishWith(run: CallRun, { end, status, partial }: CallEnd): ResultOrPromise {
  const result = buildResult(run, end ?? run.answer.error, status);
  if (partial !== undefined) addPartialOutput(result, partial);
  if (run.services.afterHooks.length === 0 || run.plan === undefined) return recordResult(run, result);
  run.holdProcess();
  return runAfterHooks(run, result).then((shown) => recordResult(run, shown));
}

function statusOf({ answer }: CallRun, error: ToolError): ResultWithError["status"] {
  if (error === answer.error) return error.code === "execution_failed" ? "error" : "partial";
  return error.code === "cancelled" ? "cancelled" : "error";
}

/** Where the answer came from. The answers of an engine that only simulates a tool never count as live. */
function originOf({ route, answer, simulated, resumed }: CallRun): Origin {
  // the result is about the run before the crash, whatever would answer now
  if (resumed !== undefined && (resumed.isAnswered || resumed.isInterrupted)) return "live";
  if (answer.isCached === true || route?.rules.onlyCached === true) return "cache";
  if (route === undefined) return simulated ? "simulated" : "live";
  const { origin = "live" } = route.engine;
  return route.rules.isPretended && origin === "live" ? "simulated" : origin;
}

/** Sets the engine that answered in place of the tool, and its fidelity. */
function setAnswerSource(run: CallRun, result: Mutable<ToolResult>, error: ToolError | undefined): void {
  if (result.origin !== "cache" && run.route !== undefined) result.answeredBy = run.route.engine.kind;
  result.fidelity = isEngineAnswer(run, error) ? (run.answer.fidelity ?? fidelityOf(run, result)) : "unchecked";
}

/** Whether the result is an engine's answer; false if a fault changed it, or if the call ended without an answer. */
function isEngineAnswer({ faults, answer }: CallRun, error: ToolError | undefined): boolean {
  return faults?.answerFault === undefined && (error === undefined || error === answer.error || error === answer.engineError);
}

function fidelityOf({ plan }: CallRun, { origin, status }: ToolResult): Fidelity {
  if (origin === "cache" || origin === "replay") return "observed";
  if (origin === "stub") return "scripted";
  return status === "ok" && plan?.outputValidator !== undefined ? "schema-valid" : "unchecked";
}

function buildResult(run: CallRun, error: ToolError | undefined, status?: "skipped"): Mutable<ToolResult> {
  const { answer } = run;
  const result = startResult(run, error, status);
  run.failure = error;
  if (error === answer.error) {
    if (answer.exitCode !== undefined) result.exitCode = answer.exitCode;
    if (answer.output !== undefined) result.output = answer.output;
    if (answer.content !== undefined) result.content = answer.content;
    if (answer.sameAs !== undefined) result.sameAs = answer.sameAs;
  }
  if (result.status === "error" && error instanceof ReturnedFailure && error.answer !== undefined) result.output = error.answer;
  if (answer.metadata !== undefined) result.metadata = answer.metadata;
  if (result.origin !== "live") setAnswerSource(run, result, error);
  if (run.faults?.injectedType !== undefined) result.fault = run.faults.injectedType;
  return result;
}

/** The fields that do not depend on the answer. */
function startResult(run: CallRun, error: ToolError | undefined, status: "skipped" | undefined): Mutable<ToolResult> {
  const result: Mutable<OkResult> = {
    callId: run.callId,
    name: run.toolName,
    status: "ok",
    origin: originOf(run),
    attempts: run.attempts,
    durationMs: roundMs(run.clock.now() - run.startedAt),
    repairs: run.repairs,
    warnings: run.warnings,
  };
  if (run.call.id !== undefined) result.id = run.call.id;
  if (error === undefined) return result;
  return { ...result, status: status ?? statusOf(run, error), error: Object.freeze(mentionErrorFiles(errorInfo(error))) };
}

/** The output that a handler had set before it was cut off. Not validated; left out if it cannot be recorded. */
function readPartialOutput(run: CallRun, { code }: ToolError): AnswerParts | Promise<AnswerParts> | undefined {
  const { partialOutput } = run.answer;
  if (partialOutput === undefined || (code !== "cancelled" && code !== "timeout")) return undefined;
  const { output: answer, metadata } = partialOutput instanceof ToolOutput ? partialOutput : { output: partialOutput, metadata: undefined };
  if (metadata !== undefined) setMetadata(run, metadata);
  if (answer === undefined) return undefined;
  try {
    const { value, found } = fitJson(answer, ANSWER_LIMITS, mayHaveDataUrls);
    const partial = { output: value, content: undefined };
    return found ? storePartFiles(run, { ...partial, what: "partial output" }) : partial;
  } catch (thrown: unknown) {
    run.services.ports.log.warn(`The partial output of ${run.toolName} was left out: ${describeThrown(thrown)}`);
    return undefined;
  }
}

function addPartialOutput(result: Mutable<ToolResult>, { output, content }: AnswerParts): void {
  if (result.output !== undefined || output === undefined) return;
  result.output = deepFreeze(output);
  if (content !== undefined) result.content = deepFreeze(content);
}

/** Passes the result through the hooks. If the call ends before all hooks have seen the result, it ends without that result. */
async function runAfterHooks(run: CallRun, result: ToolResult): Promise<Mutable<ToolResult>> {
  const before = run.cancelled; // the result already says so
  // Partial output is worth a wait. Without it, the hooks of a cancelled call are not waited for.
  const waiter = before !== undefined && hasAnswer(result) ? { clock: run.clock, wait: undefined } : run;
  let shown = Object.freeze(result);
  for (const [index, hook] of run.services.afterHooks.entries()) {
    const { returned, endError } = await callHook(run, hook, () => hook.afterCall?.(shown, hookContext(run)), waiter);
    const end = run.cancelled === before ? endError : run.cancelled;
    if (end !== undefined) return notifyRemainingHooks(run, run.services.afterHooks.slice(index + 1), withoutAnswer(run, end));
    const changed = applyHookChange(shown, returned, findDelegateReport(run));
    if (!("unusable" in changed)) {
      shown = changed;
      continue;
    }
    const failure = handleHookFailure(run, hook, `returned an unusable result: ${changed.unusable}`).endError;
    if (failure !== undefined) return notifyRemainingHooks(run, run.services.afterHooks.slice(index + 1), withoutAnswer(run, failure));
  }
  const { output, content } = shown;
  const isSame = output === result.output && content === result.content;
  const waitingCall = run.cancelled === undefined ? run : undefined; // the wait of a cancelled call cannot be cancelled again
  const kept = isSame ? shown : await storePartFiles(run, { output, content, what: "answer that hooks changed", waiter: waitingCall });
  if (run.cancelled !== undefined && run.cancelled !== before) return withoutAnswer(run, run.cancelled);
  return withParts({ ...shown, durationMs: roundMs(run.clock.now() - run.startedAt) }, kept);
}

/** Shows the remaining hooks how the call ended, for hooks that count calls; they are not waited for. */
function notifyRemainingHooks(run: CallRun, hooks: readonly Hook[], end: Mutable<ToolResult>): Mutable<ToolResult> {
  const shown = Object.freeze({ ...end });
  for (const hook of hooks) void callHook(run, hook, () => hook.afterCall?.(shown, hookContext(run)));
  return end;
}

function withParts(result: Mutable<ToolResult>, { output, content }: Partial<AnswerParts>): Mutable<ToolResult> {
  if (output !== result.output && output !== undefined) result.output = deepFreeze(output);
  if (content !== result.content && content !== undefined) result.content = deepFreeze(content);
  return result;
}

/** The result of an answer that not all hooks have seen: without its output, error message and metadata. */
function withoutAnswer(run: CallRun, end: ToolError): Mutable<ToolResult> {
  const result = buildResult(run, end);
  const report = findDelegateReport(run);
  if (report === undefined) delete result.metadata;
  else result.metadata = report;
  return result;
}

/** A delegate's report about its calls and its spending. Hooks cannot change it, as `taint` and budgets rely on it. */
function findDelegateReport({ plan, answer }: CallRun): JsonObject | undefined {
  const report = plan?.tool.composite === true ? answer.metadata?.["delegate"] : undefined;
  return report === undefined ? undefined : { delegate: report };
}

function applyHookChange(
  result: ToolResult,
  returned: unknown,
  report: JsonObject | undefined,
): ToolResult | { readonly unusable: string } {
  if (returned === undefined || returned === null || returned === result) return result;
  try {
    const changed: Mutable<ToolResult> = changeResult(result, returned);
    if (report !== undefined) changed.metadata = deepFreeze({ ...changed.metadata, ...report });
    return Object.freeze(changed);
  } catch (thrown: unknown) {
    return { unusable: describeThrown(thrown) };
  }
}

function recordResult(run: CallRun, result: Mutable<ToolResult>): ToolResult {
  limitError(run, result);
  const cut = findRecordedTruncation(run, result);
  if (cut !== undefined) result.truncation = cut;
  else if (run.plan !== undefined && !isKnownSmall(run, run.plan.settings.maxResultBytes, result))
    limitSize(run, run.plan.settings.maxResultBytes, result);
  if (run.options.metadata !== undefined) addMetadata(run, run.options.metadata, result);
  if (result.repairs !== NO_REPAIRS) {
    for (const repair of result.repairs) Object.freeze(repair);
    Object.freeze(result.repairs);
  }
  if (result.warnings !== NO_WARNINGS) Object.freeze(result.warnings);
  run.result = Object.freeze(result);
  run.services.running.remove(run);
  if (run.turn.parentCall !== undefined && run.turn.isSingleCall) settleCalls(run.turn, [run]);
  if (run.turn.cachesNestedAnswers && run.turn.isSingleCall) run.services.cache.forget(run.turn);
  run.releaseProcess();
  run.services.counters.calls++;
  if (result.status === "ok") run.services.counters.succeeded++;
  run.services.counters.repairs += run.repairs.length;
  const isPassedToRecorder = run.route?.source === "record" && (run.attempts > 0 || run.answer.isCached === true) && mayRecordAnswer(run);
  if (run.hasObservers || isPassedToRecorder) {
    const end = createCallEnd(run, result);
    if (run.job !== undefined) endJob(run, run.job, end);
    else if (run.turn.session.isHandedOver) run.logHandedOver([end]);
    else if (run.hasObservers) run.record(end);
    if (isPassedToRecorder) notifyRecorder(run, end);
  } else if (run.job !== undefined) endJob(run, run.job, createCallEnd(run, result));
  if (run.onEnd !== undefined) run.onEnd();
  run.resumed?.onEnd();
  return result;
}

/** Records the end of the call and that of its job together, before listeners are called with either. */
function endJob(run: CallRun, job: CallJob, end: SessionEvent & { readonly type: "call-end" }): void {
  const jobEnd = job.finish(end.result);
  run.services.jobs.end(job);
  const events = jobEnd === undefined ? [end] : [end, jobEnd];
  if (run.turn.session.isHandedOver) run.logHandedOver(events);
  else run.recordAll(events);
  const { broken } = run.turn.session;
  if (broken !== undefined && run.durableLog !== undefined) job.setRecordError(broken);
}

function createCallEnd(run: CallRun, result: ToolResult): SessionEvent & { readonly type: "call-end" } {
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
function mayRecordAnswer({ turn, toolName }: CallRun): boolean {
  return turn.session.simulation?.allowsSideEffects(toolName) ?? true;
}

function notifyRecorder(run: CallRun, end: SessionEvent): void {
  const { parentCall } = run.turn;
  const parent = parentCall === undefined ? {} : { parentCallId: parentCall.callId };
  notifySafely(
    () => run.services.chains.onRecord?.([{ ...run.eventBase, type: "call-start", call: run.call, ...parent }, end]),
    (thrown) => run.services.ports.log.warn(`The call of ${run.toolName} could not be recorded: ${describeThrown(thrown)}`),
  );
}

function addMetadata(run: CallRun, notesOf: ResultNotes, result: Mutable<ToolResult>): void {
  try {
    const notes = notesOf(result);
    if (notes === undefined) return;
    ignoreRejection(notes);
    const { value } = copyJson(notes);
    if (isJsonObject(value)) result.metadata = Object.freeze({ ...result.metadata, ...value });
  } catch (thrown: unknown) {
    run.services.ports.log.warn(`The data to keep with the result of ${run.toolName} could not be read: ${describeThrown(thrown)}`);
  }
}

/** Maximum size of the note in place of the omitted part, in addition to the limit. */
const NOTE_BYTES = 1_000;

/** How the answer was truncated when it was recorded, if it is unchanged since and still within the limit here. */
function findRecordedTruncation({ answer, failure, plan }: CallRun, result: TruncatableResult): ToolResult["truncation"] {
  const { truncation, output, content } = answer;
  if (truncation === undefined && failure === undefined) return undefined;
  const ofError = failure instanceof StandInError && result.output === failure.answer ? failure.truncation : undefined;
  const found = ofError ?? (result.output === output && result.content === content ? truncation : undefined);
  if (found === undefined || plan === undefined || plan.settings.maxResultBytes === 0) return found;
  return truncateResult(result.output, result.content, plan.settings.maxResultBytes + NOTE_BYTES, () => "").cut ? undefined : found;
}

/** Whether the answer is known to be within the limit without measuring it. */
function isKnownSmall({ answer: { output, outputBound } }: CallRun, maxResultBytes: number, result: TruncatableResult): boolean {
  return outputBound !== undefined && outputBound <= maxResultBytes && result.output === output && result.content === undefined;
}

/** Truncates the error's texts. A model reads them with the output, and each of them may be longer than the tool's limit. */
function limitError({ plan }: CallRun, result: Mutable<ToolResult>): void {
  const { error } = result;
  if (error === undefined || plan === undefined) return;
  const shown = truncateError(error, plan.settings.maxResultBytes);
  if (shown !== error) result.error = Object.freeze(shown);
}

/** The truncatable fields of a result that is being built. */
type TruncatableResult = { -readonly [Key in "output" | "content" | "truncation"]?: ToolResult[Key] };

/** Truncates what the model is shown. The whole is kept only in a session; without one, only the handler that made the call could read it. */
function limitSize(run: CallRun, maxResultBytes: number, result: TruncatableResult): void {
  if (maxResultBytes === 0) return;
  let handle: string | undefined;
  const shown = truncateResult(result.output, result.content, maxResultBytes, () => {
    if (!run.turn.session.keepsResults) return ASK_FOR_LESS;
    handle ??= storeWholeAnswer(run, result);
    if (!isVisible(run.services.registry, READ_RESULT, run.options.visibility)) return ASK_FOR_LESS;
    return formatReadHint(handle);
  });
  if (!shown.cut) return;
  if (!run.turn.session.keepsResults && run.callerRun !== undefined)
    storeWholeResult(result, { output: result.output, content: result.content });
  // Copied as far as the truncation reaches.
  if (shown.output !== undefined) result.output = deepFreeze(shown.output);
  if (shown.content !== undefined) result.content = Object.freeze(shown.content.map((part) => Object.freeze({ ...part })));
  result.truncation = Object.freeze({ handle, totalBytes: shown.totalBytes, shownBytes: shown.shownBytes });
}

/** Keeps the whole answer in memory as long as there is room and, in a stored session, permanently in its log. */
function storeWholeAnswer(run: CallRun, { output, content }: TruncatableResult): string {
  const { session } = run.turn;
  if (run.isLogged && session.eventLog !== undefined) {
    const whole = { ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) };
    const event = Object.freeze({ ...run.eventBase, type: "output-keep", ...whole } as const);
    session.recordOutput(event);
    run.emit(event);
  }
  return run.services.largeResults.store(session.id, run.callId, output, content);
}
