/** Answers that take long, as event streams: proxies close a connection on which nothing comes, many of them after half a minute or a minute. */
import type { Clock } from "../../core/ports.ts";
import { KEEP_ALIVE_MS } from "../http/direct.ts";
import { isEventStream } from "../api/requests/accepts-stream.ts";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" } as const;

const encoder = new TextEncoder();
const KEEP_ALIVE = encoder.encode(": keepalive\n\n");

/**
 * The answer where it comes within some seconds; else a stream that is kept alive until it has the same, with the status 200.
 *
 * @param ask its signal aborts when the client has closed the stream: some servers tell of a client that has gone by that alone
 */
export async function streamWhenLate(ask: (closed: AbortSignal) => Promise<Response>, clock: Clock): Promise<Response> {
  const closed = new AbortController();
  const answer = ask(closed.signal);
  return (await inTime(answer, clock)) ?? new Response(lateStream(streamed(answer, clock), closed), { headers: HEADERS });
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
        void parts.return(undefined).catch(() => {}); // when the answer has come, which nothing reads
      },
    },
    { highWaterMark: 0 },
  );
}

async function* streamed(answer: Promise<Response>, clock: Clock): AsyncGenerator<Uint8Array> {
  let response: Response | undefined;
  do yield KEEP_ALIVE;
  while ((response = await inTime(answer, clock)) === undefined);
  const { body } = response;
  if (body !== null && isEventStream(response)) return yield* body;
  const text = await response.text();
  if (text !== "") yield encoder.encode(`event: message\ndata: ${text}\n\n`);
}

/** Undefined where it takes longer. */
async function inTime(answer: Promise<Response>, clock: Clock): Promise<Response | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<undefined>();
  const cancel = clock.timer(() => resolve(undefined), KEEP_ALIVE_MS, { background: true });
  try {
    return await Promise.race([answer, late]);
  } finally {
    cancel();
  }
}
