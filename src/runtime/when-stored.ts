/** Waits until what a session recorded cannot be lost. */
import { ToolError, hintsOf } from "../core/error.ts";
import type { ToolResult } from "../core/result.ts";
import type { Session } from "../session/session.ts";

type Results = ToolResult | readonly ToolResult[];

/**
 * Resolves when what was recorded is durable, where that is to be waited for.
 *
 * @param results of the calls that were recorded. @default something was done
 * @throws ToolError why it is not. What was done stays done, and may be written later: only where no call was begun is the outcome `not_started`. By rejecting
 */
export async function whenStored(session: Session, results?: Results): Promise<void> {
  const { eventLog } = session;
  try {
    if (eventLog?.options.durability !== "async") await eventLog?.whenDurable();
    if (session.broken !== undefined) throw session.broken;
  } catch (thrown: unknown) {
    throw errorAfter(thrown, results);
  }
}

/** The error for all of these calls together: where one of them was begun, its outcome is not `not_started`. */
export function errorAfter(thrown: unknown, results: Results | undefined): ToolError {
  const error = ToolError.fromUnknown(thrown, "store_failed");
  if (error.outcome !== "not_started" || isNothingBegun(results)) return error;
  const { code, message, retryable, details } = error;
  return new ToolError(code, message, { retryable, outcome: "unknown", details, ...hintsOf(error), cause: error });
}

/** Holds an answer back until what was recorded is durable. @param refused called with one that the store did not take */
export function storedAnswer<T extends Results>(session: Session, answer: T | Promise<T>, refused?: (answer: T) => void): Promise<T> {
  const { eventLog } = session;
  if (eventLog === undefined || eventLog.options.durability === "async") return Promise.resolve(answer);
  return answerWhenStored(session, answer, refused);
}

/** An error that the caller was to get anyway goes before that of the store. */
async function answerWhenStored<T extends Results>(session: Session, answer: T | Promise<T>, refused?: (answer: T) => void): Promise<T> {
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
    refused?.(result);
    throw thrown;
  }
  return result;
}

function isNothingBegun(results: Results | undefined): boolean {
  return results !== undefined && [results].flat().every(({ error, attempts }) => attempts === 0 && error?.outcome === "not_started");
}
