/** Injects the planned fault of a call, in place of its engine's answer or into it. */
import type { ToolContext } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { FaultRule } from "../../core/answers/fault.ts";
import { copyJson, type JsonValue } from "../../core/base/json.ts";
import { RemoteJob } from "../../core/jobs/remote-job.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import type { Fault } from "../../policy/faults/fault.ts";
import { createEmptyValue, keepFirstHalf, garbleAnswer } from "../../policy/faults/fault-output.ts";
import type { AdmittedCall } from "../call-run.ts";
import { recordRemoteJob } from "./attach-remote-job.ts";
import { followRemoteJob } from "./follow-remote-job.ts";

const GARBLED = "Tool execution failed";
const CONNECTION_FAILED = "The connection to the service failed.";
const SLOW_DOWN = "The service asks to slow down: it has received too many requests.";
const BROKEN_ANSWER = "The answer does not fit the output schema of the tool.";
const CONNECTION_LOST = "The connection was lost before an answer came.";
const DEFAULT_RETRY_AFTER_MS = 1_000;

/** Calls the engine for the answer of an attempt, unless the call's fault replaces or delays the call of the engine. */
export function callWithFault(run: AdmittedCall, context: ToolContext, callEngine: () => unknown): unknown {
  const { faults, services } = run;
  if (faults === undefined) return callEngine();
  faults.answerFault = undefined;
  if (faults.drawn === undefined) faults.drawn = services.faults.draw(faults.sample, run.plan.registered, run.turn.session) ?? null;
  const fault = faults.drawn;
  if (fault === null || context.attempt > (fault.rule.attempts ?? Infinity)) return callEngine();
  return injectFault(run, fault, { context, callEngine });
}

interface EngineCall {
  readonly context: ToolContext;
  readonly callEngine: () => unknown;
}

function injectFault(run: AdmittedCall, fault: Fault, { context, callEngine }: EngineCall): unknown {
  const { rule, delayMs } = fault;
  switch (rule.type) {
    case "latency":
      markInjected(run, fault);
      return callAfterDelay(run, delayMs, { context, callEngine });
    case "timeout":
      markInjected(run, fault);
      if (context.deadline === Infinity) throw createPlannedError(rule, "timeout", `${run.toolName} did not answer.`);
      return new Promise((_, reject) => onAbort(context.signal, () => reject(new ToolError("timeout", "No source was asked."))));
    case "partial_result":
    case "crash_after_commit":
      return callThenSetFault(run, fault, callEngine);
    case "unparseable_result":
    case "empty_result":
      if (isLiveRoute(run)) return callThenSetFault(run, fault, callEngine);
      setAnswerFault(run, fault);
      return undefined;
    case "schema_violation":
      if (isLiveRoute(run)) return callThenSetFault(run, fault, callEngine);
      break;
    default:
  }
  markInjected(run, fault);
  throw toFaultError(rule);
}

/** The error with which a fault ends an answered attempt; undefined if the answer counts. */
export function answerFaultError(run: AdmittedCall): ToolError | undefined {
  const fault = run.faults?.answerFault;
  if (fault === undefined) return undefined;
  markInjected(run, fault);
  if (fault.rule.type !== "schema_violation" && fault.rule.type !== "crash_after_commit") return undefined;
  run.answer.raw = undefined;
  return toFaultError(fault.rule);
}

/**
 * The output that replaces the tool's answer, and whether it is still checked against the schema.
 *
 * @throws ToolError `not_json` for an answer that cannot be recorded
 */
export function injectOutputFault(
  run: AdmittedCall,
  { rule }: Fault,
  answer: unknown,
): { readonly output: unknown; readonly isChecked: boolean } {
  if (rule.type === "empty_result") {
    run.answer.content = undefined;
    return { output: createEmptyValue(run.plan.tool.outputSchema), isChecked: false };
  }
  if (rule.type === "unparseable_result") {
    const copy = answer === undefined ? undefined : copyJson(answer).value;
    run.answer.content = undefined;
    return { output: copy === undefined ? `<garbled: ${rule.message ?? GARBLED}>` : garbleAnswer(copy), isChecked: false };
  }
  return { output: halveAnswer(run, answer), isChecked: true };
}

/** Called before the next route of the same call is tried: a fault that was met is not met again. */
export function clearInjectedFault({ faults }: AdmittedCall): void {
  if (faults?.injectedType !== undefined) faults.drawn = null;
}

/** The error of a timeout, with the planned rule's message and `retryable` if the timeout was planned. */
export function withPlannedTimeout(run: AdmittedCall, error: ToolError): ToolError {
  const rule = run.faults?.drawn?.rule;
  if (rule === undefined || !hasPlannedTimeout(run)) return error;
  return createPlannedError({ ...rule, retryable: error.retryable && rule.retryable !== false }, error.code, error.message);
}

/** Whether a planned timeout ends this attempt. */
export function hasPlannedTimeout({ faults, attempts }: AdmittedCall): boolean {
  const rule = faults?.drawn?.rule;
  return rule?.type === "timeout" && attempts <= (rule.attempts ?? Infinity);
}

/** Whether this attempt failed because of a fault. For a stand-in, so does every attempt once a fault was met. */
export function isInjectedFailure(run: AdmittedCall): boolean {
  const { faults } = run;
  if (faults?.injectedType === undefined) return false;
  return (
    !isLiveRoute(run) || (faults.drawn !== null && faults.drawn !== undefined && run.attempts <= (faults.drawn.rule.attempts ?? Infinity))
  );
}

function isLiveRoute({ route }: AdmittedCall): boolean {
  return route.rules.isLiveTool;
}

function markInjected({ faults }: AdmittedCall, { rule }: Fault): void {
  if (faults !== undefined) faults.injectedType = rule.type;
}

function setAnswerFault({ faults }: AdmittedCall, fault: Fault): void {
  if (faults !== undefined) faults.answerFault = fault;
}

function callThenSetFault(run: AdmittedCall, fault: Fault, callEngine: () => unknown): unknown {
  const answer = callEngine();
  setAnswerFault(run, fault);
  return answer;
}

async function callAfterDelay(run: AdmittedCall, delayMs: number, { context, callEngine }: EngineCall): Promise<unknown> {
  await new Promise<void>((resolve, reject) => {
    const cancel = run.clock.timer(() => {
      forget();
      resolve();
    }, delayMs);
    const forget = onAbort(context.signal, () => {
      cancel();
      reject(new ToolError("cancelled", "No source was asked any more.", { outcome: "not_started" }));
    });
  });
  if (context.signal.aborted) throw new ToolError("cancelled", "No source was asked any more.", { outcome: "not_started" });
  const answer = callEngine();
  return answer instanceof RemoteJob ? followRemoteJob(answer, context, (id) => recordRemoteJob(run, id)) : answer;
}

function toFaultError(rule: FaultRule): ToolError {
  const { type, retryAfterMs = DEFAULT_RETRY_AFTER_MS } = rule;
  switch (type) {
    case "network_error":
      return createPlannedError(rule, "network_error", CONNECTION_FAILED, { outcome: "not_started" });
    case "rate_limited":
      return createPlannedError(rule, "rate_limited", SLOW_DOWN, { outcome: "not_started", retryAfterMs });
    case "crash_before_commit":
    case "crash_after_commit":
      return createPlannedError(rule, "network_error", CONNECTION_LOST, { outcome: "unknown" });
    case "schema_violation":
      return createPlannedError(rule, "invalid_output", BROKEN_ANSWER);
    default:
      return createPlannedError(rule, type === "index_not_found" ? "not_found" : "execution_failed", `Simulated error: ${type}`, {
        outcome: "failed",
      });
  }
}

function createPlannedError(
  { message, retryable }: Pick<FaultRule, "message" | "retryable">,
  code: ErrorCode,
  defaultMessage: string,
  options: Pick<NonNullable<ConstructorParameters<typeof ToolError>[2]>, "outcome" | "retryAfterMs"> = {},
): ToolError {
  return new ToolError(code, message ?? defaultMessage, { ...options, ...(retryable === undefined ? {} : { retryable }) });
}

/** Half of the output; if there is only content for the model, half of the content. */
function halveAnswer(run: AdmittedCall, answer: unknown): JsonValue | undefined {
  const { content } = run.answer;
  if (answer !== undefined || content === undefined) {
    run.answer.content = undefined;
    return keepFirstHalf(answer === undefined ? null : copyJson(answer).value);
  }
  const [first] = content;
  if (content.length === 1 && first?.type === "text")
    run.answer.content = Object.freeze([
      Object.freeze({ ...first, text: first.text.slice(0, Math.floor(first.text.length / 2)).toWellFormed() }),
    ]);
  else run.answer.content = Object.freeze(content.slice(0, Math.floor(content.length / 2)));
  return undefined;
}
