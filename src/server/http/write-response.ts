/** Writes a platform `Response` to a client of Node's HTTP server. */
import type { ServerResponse } from "node:http";
import type { Clock } from "../../core/ports.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import { endResponseEarly, isFullyReceived } from "./end-response-early.ts";
import { readTextOfResponse } from "./response-text.ts";

interface WriteResponsePorts {
  /** Aborts when the client has disconnected. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
}

/** Writes the response. Resolves when the last of it has been handed to the system, or the client has disconnected. */
export async function writeResponse(response: Response, outgoing: ServerResponse, { gone, clock }: WriteResponsePorts): Promise<void> {
  const incoming = outgoing.req;
  const isWhole = incoming.complete || (await isFullyReceived(incoming));
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...(isWhole ? {} : { connection: "close" }) });
  const text = incoming.method === "HEAD" ? undefined : readTextOfResponse(response);
  if (text === undefined && response.body !== null && incoming.method !== "HEAD") await copyBody(response.body, outgoing, gone);
  if (incoming.complete || gone.aborted) return await endResponse(outgoing, { text, gone });
  await endResponseEarly(outgoing, text ?? "", clock);
}

/** Copies the body, no faster than the client reads (back-pressure). */
async function copyBody(body: ReadableStream<Uint8Array>, outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  outgoing.flushHeaders(); // otherwise the headers would wait for the first bytes, which may take long
  const reader = body.getReader();
  const forget = onAbort(gone, () => void reader.cancel().catch(() => {}));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || gone.aborted) return;
      if (!outgoing.write(value)) await waitUntilDrained(outgoing, gone);
    }
  } catch (thrown: unknown) {
    if (!gone.aborted) throw thrown; // the source fails when the client disconnects
  } finally {
    forget();
  }
}

/** Ends the response. Resolves when the last of it has been handed to the system, or the client has disconnected. */
function endResponse(
  outgoing: ServerResponse,
  { text, gone }: { readonly text: string | undefined; readonly gone: AbortSignal },
): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    gone.addEventListener("abort", () => resolve(), { once: true });
    if (text === undefined) outgoing.end(resolve);
    else outgoing.end(text, resolve);
  });
}

function waitUntilDrained(outgoing: ServerResponse, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    outgoing.once("drain", resolve);
    gone.addEventListener("abort", () => resolve(), { once: true });
  });
}
