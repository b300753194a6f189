/** Ends responses that are ready before their requests have been received completely. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";

/** A client that sends nothing for this long has finished, or does not read the response. */
const SILENT_MS = 1_000;
/** Maximum number of such intervals in which a client may keep sending an unread body: half a minute. */
const MAX_INTERVALS = 30;

/** Whether a request was received completely, so that its connection can be reused. A body sent with its head arrives one turn after it. */
export async function isFullyReceived(incoming: IncomingMessage): Promise<boolean> {
  if (!incoming.complete) await new Promise((resolve) => onNextTurn(resolve));
  return incoming.complete;
}

/**
 * Sends the last part of a response whose head is written, and discards what the client still sends, for half a minute at most: closing a connection
 * with unread data would lose the response. Resolves when the connection is about to be closed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112#section-9.6
 */
export async function endResponseEarly(outgoing: ServerResponse, text: string, clock: Clock): Promise<void> {
  const { req } = outgoing;
  if (text === "") outgoing.flushHeaders();
  else outgoing.write(text);
  await new Promise<void>((resolve) => {
    let isSending = false;
    let looks = 0;
    const look = (): void => {
      if (!isSending || ++looks === MAX_INTERVALS) return resolve();
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
