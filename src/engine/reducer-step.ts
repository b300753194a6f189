/** The state of a toolset's reducers in a session. A call computes its step first, and commits it once it has its result. */
import type { ToolContext } from "../core/context.ts";
import type { EngineRequest } from "../core/engine.ts";
import { ToolError, describeThrown, isToolError } from "../core/error.ts";
import type { JsonLimits } from "../core/base/json-limits.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import { shareJson } from "../core/base/share-json.ts";
import type { Reducer } from "../core/tool.ts";

/** The key of the reducers' state in the session state. */
const REDUCER_STATE_KEY = "haft:world";
/** Limits of the facts, which are in results and shown to a model. */
const FACT_LIMITS: JsonLimits = { maxNodes: 100_000, maxChars: 1_048_576 };

/** The change of a call to the simulated world. Nothing is changed before `commit`. */
export interface ReducerStep {
  /** Deeply frozen. */
  readonly facts: JsonValue;
  /** Writes the new state. @throws ToolError `conflict`, retryable, if another call has changed the state meanwhile */
  commit(): void;
}

type Call = Pick<EngineRequest, "tool" | "input">;

/**
 * Runs the tool's reducer on the current state; undefined for a tool without one.
 *
 * @throws ToolError the reducer's ToolError; `execution_failed` for any other error of it and for an answer without facts; `not_json` and `too_large`
 * for facts or a state that cannot be stored
 */
export function runReducerStep({ tool, input }: Call, { state, toolName }: ToolContext): ReducerStep | undefined {
  const { reducer } = tool;
  if (reducer === undefined) return undefined;
  const before = state.get(REDUCER_STATE_KEY);
  const reduced = runReducer(reducer, before === undefined ? undefined : shareJson(before), input, toolName);
  const facts = toSharedJson(reduced["facts"], "facts", toolName, FACT_LIMITS);
  const after = reduced["state"] === undefined ? before : toSharedJson(reduced["state"], "state", toolName);
  const commit = (): void => {
    if (state.get(REDUCER_STATE_KEY) !== before) throw stateConflict(toolName);
    if (after !== before) state.update(REDUCER_STATE_KEY, () => after);
  };
  return { facts, commit };
}

function runReducer(
  reducer: Reducer,
  state: JsonValue | undefined,
  input: JsonObject,
  toolName: string,
): Readonly<Record<string, unknown>> {
  let reduced: unknown;
  try {
    reduced = reducer(state, input);
  } catch (thrown: unknown) {
    if (isToolError(thrown)) throw thrown;
    throw reducerError(
      `The reducer of ${toolName} failed: ${describeThrown(thrown)}`,
      "A reducer must return the new state and must not change the old one.",
      thrown,
    );
  }
  if (isJsonObject(reduced) && reduced["facts"] !== undefined) return reduced;
  throw reducerError(`The reducer of ${toolName} returned no facts.`, "Return { state, facts }, and not a promise of them.");
}

function reducerError(message: string, hint: string, cause?: unknown): ToolError {
  return new ToolError("execution_failed", message, { hint, cause, retryable: false, outcome: "failed" });
}

function toSharedJson(value: unknown, what: string, toolName: string, limits?: JsonLimits): JsonValue {
  try {
    return shareJson(value, limits);
  } catch (thrown: unknown) {
    const { code, message } = ToolError.fromUnknown(thrown, "not_json");
    throw new ToolError(code, `The reducer of ${toolName} returned ${what} that cannot be kept: ${message}`, {
      cause: thrown,
      retryable: false,
      outcome: "failed",
    });
  }
}

function stateConflict(toolName: string): ToolError {
  return new ToolError("conflict", `Another call changed the simulated state while ${toolName} was answered.`, {
    retryable: true,
    outcome: "not_started",
    hint: "Call it again.",
  });
}
