/** Ends answers that come before the end of their requests. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";

/** So long may the client go on sending what is not read. */
const LINGER_MS = 1_000;

/**
 * Sends the last of an answer whose head is written, and throws away for a moment what still comes: a connection that is closed with something
 * unread takes the answer with it. Resolves when the connection is about to be closed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export async function endEarly(outgoing: ServerResponse, text: string, clock: Clock): Promise<void> {
  const { req } = outgoing;
  if (text === "") outgoing.flushHeaders();
  else outgoing.write(text);
  await new Promise<void>((resolve) => {
    const cancel = clock.timer(resolve, LINGER_MS, { background: true });
    const end = (): void => {
      cancel();
      resolve();
    };
    outgoing.once("close", end);
    req.once("end", end).once("close", end);
    req.removeAllListeners("data").resume();
  });
  outgoing.end(() => req.destroy());
}
