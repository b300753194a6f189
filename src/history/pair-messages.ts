/** Pairs every call with exactly one result after it, as all providers require. */
import { ToolError } from "../core/error.ts";
import type { CallMessage, ModelMessage, ResultMessage } from "../core/message.ts";
import { groupRounds } from "../core/rounds.ts";
import { firstResults } from "./replace-results.ts";

/**
 * Puts calls and results in order: the calls of one message of the model are put together, followed by their results in call order.
 *
 * Calls belong to one message if there is nothing between them except results of earlier calls, and their turn is the same. A call without a result
 * gets a placeholder: status `error`, code `outcome_unknown`, origin `stub`. A result without a call is left out, and so are a second call or result
 * of the same id; the first result is final. Idempotent.
 */
export function pairMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const results = firstResults(messages);
  const paired: ModelMessage[] = [];
  for (const round of groupRounds(messages)) {
    if (round.message !== undefined) paired.push(round.message);
    if (round.by !== "assistant") continue;
    for (const call of round.calls) paired.push(call);
    for (const call of round.calls) paired.push(results.get(call.callId) ?? createPlaceholder(call));
  }
  return paired;
}

const NOTHING: readonly never[] = Object.freeze([]);

/** Has the code of an interrupted call, so that a model does not take a write that may still happen for one that failed. */
function createPlaceholder({ at, callId, call }: CallMessage): ResultMessage {
  const error = new ToolError("outcome_unknown", `${call.name} has not been answered: it still runs, or it was interrupted.`, {
    hint: "Its effect is not known. Look before you repeat it, unless it only reads.",
  });
  const result = {
    callId,
    ...(call.id === undefined ? {} : { id: call.id }),
    name: call.name,
    status: "error",
    error: Object.freeze(error.toJSON()),
    origin: "stub",
    attempts: 0,
    durationMs: 0,
    repairs: NOTHING,
    warnings: NOTHING,
  } as const;
  return Object.freeze({ role: "result", at, callId, result: Object.freeze(result) });
}
