/** Waits until the events that a session recorded are durable. */
import { ToolError, pickHints } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Session } from "../session/session.ts";

type Results = ToolResult | readonly ToolResult[];

/**
 * Resolves when all recorded events are durable; at once with `durability: "async"`.
 *
 * @param results results of the recorded calls. @default some call was begun
 * @throws ToolError why the events are not durable, as a rejection. The calls stay done, and may be written later: the outcome is `not_started` only
 * if no call was begun
 */
export async function whenStored(session: Session, results?: Results): Promise<void> {
  const { eventLog } = session;
  try {
    if (eventLog?.options.durability !== "async") await eventLog?.whenDurable();
    if (session.broken !== undefined) throw session.broken;
  } catch (thrown: unknown) {
    throw toStoreError(thrown, results);
  }
}

/** The error for all of these calls together. Its outcome is `not_started` only if none of them was begun. */
export function toStoreError(thrown: unknown, results: Results | undefined): ToolError {
  const error = ToolError.fromUnknown(thrown, "store_failed");
  if (error.outcome !== "not_started" || hasNothingStarted(results)) return error;
  const { code, message, retryable, details } = error;
  return new ToolError(code, message, { retryable, outcome: "unknown", details, ...pickHints(error), cause: error });
}

/** Holds an answer back until all recorded events are durable. @param onStoreFailure called with the answer if the store fails */
export function whenAnswerStored<T extends Results>(
  session: Session,
  answer: T | Promise<T>,
  onStoreFailure?: (answer: T) => void,
): Promise<T> {
  const { eventLog } = session;
  if (eventLog === undefined || eventLog.options.durability === "async") return Promise.resolve(answer);
  return answerWhenStored(session, answer, onStoreFailure);
}

/** An error of the answer takes precedence over an error of the store. */
async function answerWhenStored<T extends Results>(
  session: Session,
  answer: T | Promise<T>,
  onStoreFailure?: (answer: T) => void,
): Promise<T> {
  let result: T;
  try {
    result = await answer;
  } catch (thrown: unknown) {
    await session.eventLog?.whenDurable()?.catch(() => {});
    throw thrown;
  }
  try {
    await whenStored(session, result);
  } catch (thrown: unknown) {
    onStoreFailure?.(result);
    throw thrown;
  }
  return result;
}

function hasNothingStarted(results: Results | undefined): boolean {
  return results !== undefined && [results].flat().every(({ error, attempts }) => attempts === 0 && error?.outcome === "not_started");
}
