/** Ends answers that come before the end of their requests. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";

/** A client that sends nothing for so long has ended, or takes no answer. */
const SILENT_MS = 1_000;
/** So many times as long may it go on sending what is not read: half a minute. */
const MAX_LOOKS = 30;

/** Whether all of a request has come, so that its connection can take the next one. A body that came with its head is there a turn after its handler was called. */
export async function hasCome(incoming: IncomingMessage): Promise<boolean> {
  if (!incoming.complete) await new Promise((resolve) => setImmediate(resolve));
  return incoming.complete;
}

/**
 * Sends the last of an answer whose head is written, and throws away what still comes, for as long as it comes and no longer than half a minute: a
 * connection that is closed with something unread takes the answer with it. Resolves when the connection is about to be closed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export async function endEarly(outgoing: ServerResponse, text: string, clock: Clock): Promise<void> {
  const { req } = outgoing;
  if (text === "") outgoing.flushHeaders();
  else outgoing.write(text);
  await new Promise<void>((resolve) => {
    let isSending = false;
    let looks = 0;
    const look = (): void => {
      if (!isSending || ++looks === MAX_LOOKS) return resolve();
      isSending = false;
      cancel = clock.timer(look, SILENT_MS, { background: true });
    };
    let cancel = clock.timer(look, SILENT_MS, { background: true });
    const end = (): void => {
      cancel();
      resolve();
    };
    outgoing.once("close", end);
    req.once("end", end).once("close", end);
    req
      .removeAllListeners("data")
      .on("data", () => (isSending = true))
      .resume();
  });
  outgoing.end(() => req.destroy());
}
