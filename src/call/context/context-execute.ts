/** `context.execute()`: the calls that a handler makes as part of the call it answers. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ToolCall } from "../../core/call.ts";
import type { CallTools, NestedCallOptions } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { ResultStatus, ToolResult } from "../../core/result.ts";
import type { AdmittedCall, CallRun } from "../call-run.ts";
import { runInCall } from "./call-tree.ts";
import { runOneLevelDeeper } from "./composite.ts";
import { takeWholeResult } from "./whole-results.ts";
import type { ExecuteNestedOptions } from "./execute-nested.ts";

type Results = ToolResult | readonly ToolResult[];

const OPTIONS: OptionNames<NestedCallOptions> = { signal: true, background: true };
const FAILED: ReadonlySet<ResultStatus> = new Set(["error", "cancelled", "skipped"]);

interface Attempt {
  readonly signal: AbortSignal;
  readonly hasEnded: boolean;
}

/** Returns the function that makes the calls of one attempt. It may be called from anywhere: the calls get the async context of the handler. */
export function createContextExecute(run: AdmittedCall, attempt: Attempt): CallTools {
  const asHandler = AsyncLocalStorage.snapshot();
  let executeCount = 0;
  const call = (calls: ToolCall | readonly ToolCall[], options: NestedCallOptions = {}): Promise<Results> => {
    if (attempt.hasEnded) return Promise.reject(callEndedError(run));
    try {
      checkKnownKeys(options, OPTIONS, "context.execute()");
    } catch (thrown: unknown) {
      return Promise.reject(ToolError.fromUnknown(thrown));
    }
    const { signal, background } = options;
    const nested: ExecuteNestedOptions = {
      signal: signal === undefined ? attempt.signal : AbortSignal.any([attempt.signal, signal]),
      ...(background === undefined ? {} : { background }),
      // After a crash, the same code makes the same calls in the same order; the key lets calls that have ended return their results.
      ...(run.plan.tool.composite === true && run.isLogged ? { idempotencyKey: `${run.callId}/${++executeCount}` } : {}),
    };
    run.unsuccessfulExecutes = (run.unsuccessfulExecutes ?? 0) + 1;
    const results = asHandler(() => runOneLevelDeeper(run, () => runInCall(run, () => run.services.executeNested(run, calls, nested))));
    return results.then((ended) => {
      if ([ended].flat().every(({ status }) => !FAILED.has(status))) run.unsuccessfulExecutes = (run.unsuccessfulExecutes ?? 1) - 1;
      return Array.isArray(ended) ? ended.map((one: ToolResult) => withWholeOutput(run, one)) : withWholeOutput(run, ended as ToolResult);
    });
  };
  return call as CallTools; // a single call gives one result, an array gives an array
}

/** Code gets the whole output of a truncated result, as far as it is kept. */
function withWholeOutput({ services, turn }: CallRun, result: ToolResult): ToolResult {
  const { truncation, ...rest } = result;
  const { handle } = truncation ?? {};
  const whole = handle === undefined ? takeWholeResult(result) : services.largeResults.find(turn.session.id, handle);
  if (whole === undefined) return result;
  const { output, content } = whole;
  return { ...rest, ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) };
}

function callEndedError({ toolName }: CallRun): ToolError {
  return new ToolError("invalid_argument", `${toolName} made a call after its own had ended; that is too late.`, {
    outcome: "not_started",
  });
}
