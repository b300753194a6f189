/** Every call with exactly one result after it: what all providers ask for. */
import { ToolError } from "../core/error.ts";
import type { CallMessage, ModelMessage, ResultMessage } from "../core/message.ts";
import { groupRounds } from "../core/rounds.ts";

/**
 * Puts calls and results in order: calls that one message of the model made are put together, then their results in call order.
 *
 * Calls belong to one message when nothing but results of earlier calls is between them and their turn is the same. A call
 * without a result gets one that says so: status `error`, code `outcome_unknown`, origin `stub`. A result without a call is left
 * out, and so are a second call or result of the same id; the first result is final. Doing it again changes nothing.
 */
export function pairMessages(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  const results = new Map<string, ResultMessage>();
  for (const message of messages) if (message.role === "result" && !results.has(message.callId)) results.set(message.callId, message);
  const paired: ModelMessage[] = [];
  for (const round of groupRounds(messages)) {
    if (round.said !== undefined) paired.push(round.said);
    if (round.by !== "assistant") continue;
    for (const call of round.calls) paired.push(call);
    for (const call of round.calls) paired.push(results.get(call.callId) ?? unanswered(call));
  }
  return paired;
}

const NOTHING: readonly never[] = Object.freeze([]);

/** The code is that of an interrupted call: a model must not take a write that may still happen for one that failed. */
function unanswered({ at, callId, call }: CallMessage): ResultMessage {
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
