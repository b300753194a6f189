/** Answers that take long, as event streams: proxies close a connection on which nothing comes, many of them after half a minute or a minute. */
import type { Clock } from "../../core/ports.ts";
import { KEEP_ALIVE_MS } from "../http/direct.ts";

const HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache, no-transform", "x-accel-buffering": "no" } as const;

const encoder = new TextEncoder();
const KEEP_ALIVE = encoder.encode(": keepalive\n\n");

/** The answer where it comes within some seconds; else a stream that is kept alive until it has the same, with the status 200. */
export async function streamWhenLate(answer: Promise<Response>, clock: Clock): Promise<Response> {
  return (await inTime(answer, clock)) ?? new Response(ReadableStream.from(streamed(answer, clock)), { headers: HEADERS });
}

async function* streamed(answer: Promise<Response>, clock: Clock): AsyncGenerator<Uint8Array> {
  let response: Response | undefined;
  do yield KEEP_ALIVE;
  while ((response = await inTime(answer, clock)) === undefined);
  const { body, headers } = response;
  if (body !== null && headers.get("content-type")?.startsWith("text/event-stream") === true) return yield* body;
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
