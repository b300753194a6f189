/** Sends late responses as event streams: many proxies close a connection that is silent for half a minute or a minute. */
import type { Clock } from "../../core/ports.ts";
import { KEEP_ALIVE_MS } from "../http/direct.ts";
import { isEventStream } from "../api/requests/accepts-stream.ts";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" } as const;

const encoder = new TextEncoder();
const KEEP_ALIVE = encoder.encode(": keepalive\n\n");

/**
 * Returns the response if it comes within KEEP_ALIVE_MS; otherwise a stream with status 200 that is kept alive until it has the response.
 *
 * @param ask its signal aborts when the client closes the stream: for some servers that is the only sign that the client has disconnected
 */
export async function streamWhenLate(ask: (closed: AbortSignal) => Promise<Response>, clock: Clock): Promise<Response> {
  const closed = new AbortController();
  const answer = ask(closed.signal);
  return (await answerInTime(answer, clock)) ?? new Response(lateStream(streamAnswer(answer, clock), closed), { headers: HEADERS });
}

function lateStream(parts: AsyncGenerator<Uint8Array>, closed: AbortController): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (closed.signal.aborted) return;
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        closed.abort(new DOMException("The stream was closed.", "AbortError"));
        void parts.return(undefined).catch(() => {}); // takes effect when the response has come, which nothing reads
      },
    },
    { highWaterMark: 0 },
  );
}

async function* streamAnswer(answer: Promise<Response>, clock: Clock): AsyncGenerator<Uint8Array> {
  let response: Response | undefined;
  do yield KEEP_ALIVE;
  while ((response = await answerInTime(answer, clock)) === undefined);
  const { body } = response;
  if (body !== null && isEventStream(response)) return yield* body;
  const text = await response.text();
  if (text !== "") yield encoder.encode(`event: message\ndata: ${text}\n\n`);
}

/** The response; undefined if it takes longer than KEEP_ALIVE_MS. */
async function answerInTime(answer: Promise<Response>, clock: Clock): Promise<Response | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.timer(() => resolve(undefined), KEEP_ALIVE_MS, { background: true });
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}
