/** The end of every call: one result, shown to hooks, recorded, counted. */
import type { ErrorInfo, ToolError } from "../core/error.ts";
import type { ResultStatus, ToolResult } from "../core/result.ts";
import type { CallRun } from "./call-run.ts";
import { callHook, hookContext } from "./rewrite-call.ts";

/** Builds and records the result. `error` is what ended the call; undefined when it ran to its end. */
export function finishCall(run: CallRun, error: ToolError | undefined, status?: ResultStatus): ToolResult | Promise<ToolResult> {
  const result = buildResult(run, error ?? run.partial, status ?? statusOf(run, error));
  if (run.parts.afterHooks.length === 0 || run.registered === undefined) return recordResult(run, result);
  return showHooks(run, result).then((shown) => recordResult(run, shown));
}

function statusOf(run: CallRun, error: ToolError | undefined): ResultStatus {
  if (error !== undefined) return error.code === "cancelled" ? "cancelled" : "error";
  return run.partial === undefined ? "ok" : "partial";
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function buildResult(run: CallRun, error: ToolError | undefined, status: ResultStatus): ToolResult {
  const result: Mutable<ToolResult> = {
    callId: run.callId,
    name: run.toolName,
    status,
    origin: "live",
    attempts: run.attempts,
    durationMs: run.clock.now() - run.startedAt,
    repairs: run.repairs,
    warnings: run.warnings,
  };
  if (run.call.id !== undefined) result.id = run.call.id;
  if (error !== undefined) result.error = error.toJSON() satisfies ErrorInfo;
  if (status === "ok" || status === "partial") {
    if (run.output !== undefined) result.output = run.output;
    if (run.content !== undefined) result.content = run.content;
    if (run.truncation !== undefined) result.truncation = run.truncation;
  }
  if (run.metadata !== undefined) result.metadata = run.metadata;
  return result;
}

async function showHooks(run: CallRun, result: ToolResult): Promise<ToolResult> {
  let shown = result;
  for (const hook of run.parts.afterHooks) {
    const changed = await callHook(run, hook, () => hook.afterCall?.(shown, hookContext(run)));
    // What identifies the call stays what it was: a hook changes the answer, not whose answer it is.
    if (typeof changed === "object") shown = { ...changed, callId: result.callId, name: result.name, ...(result.id === undefined ? {} : { id: result.id }) };
  }
  return shown;
}

function recordResult(run: CallRun, result: ToolResult): ToolResult {
  run.result = Object.freeze(result);
  run.parts.running.delete(run.callId);
  run.parts.counters.calls++;
  run.parts.counters.repairs += run.repairs.length;
  if (run.recorded) run.emit({ ...run.eventBase, type: "call-end", result, ...(run.input === undefined ? {} : { input: run.input }) });
  return result;
}
