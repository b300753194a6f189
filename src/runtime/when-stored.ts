/** Waits until a crash cannot take back what a session recorded. */
import type { RuntimeSession } from "./runtime-session.ts";

/** Resolves when what was recorded is durable, where that is to be waited for. Rejects with the error that stopped the session from recording. */
export async function whenStored(session: RuntimeSession): Promise<void> {
  const { eventLog } = session;
  if (eventLog?.options.durability !== "async") await eventLog?.whenDurable();
  if (session.broken !== undefined) throw session.broken;
}

/** Holds an answer back until what was recorded is durable. @param refused called with one that the store did not take */
export function storedAnswer<T>(session: RuntimeSession, answer: T | Promise<T>, refused?: (answer: T) => void): Promise<T> {
  const { eventLog } = session;
  if (eventLog === undefined || eventLog.options.durability === "async") return Promise.resolve(answer);
  return answerWhenStored(session, answer, refused);
}

/** An error that the caller was to get anyway goes before that of the store. */
async function answerWhenStored<T>(session: RuntimeSession, answer: T | Promise<T>, refused?: (answer: T) => void): Promise<T> {
  let result: T;
  try {
    result = await answer;
  } catch (thrown: unknown) {
    await session.eventLog?.whenDurable()?.catch(() => {});
    throw thrown;
  }
  try {
    await whenStored(session);
  } catch (thrown: unknown) {
    refused?.(result);
    throw thrown;
  }
  return result;
}
