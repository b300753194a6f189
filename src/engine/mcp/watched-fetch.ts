/** Sees what a server's answers weigh and why one broke off, and takes 429 for what it is. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../core/error.ts";
import { ServerFault } from "./failure.ts";
import { innerToolError } from "./call-error.ts";

/** What was seen of a server's answers. */
export interface Received {
  bytes: number;
  /** What last went wrong on the way, in words. */
  problem: string | undefined;
}

const MAX_RETRY_AFTER_S = 86_400;

/** @throws ToolError, by rejecting: `rate_limited` for 429, and what `fetch` throws */
export function watchedFetch(fetch: FetchLike, received: Received): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    received.problem = undefined;
    if (response.status === 429) throw await rateLimited(response);
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    return new Response(watched(response.body.getReader(), received, init?.signal), { status, statusText, headers });
  };
}

function watched(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  received: Received,
  signal: AbortSignal | null | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read();
        if (done) return controller.close();
        received.bytes += value.length;
        controller.enqueue(value);
      } catch (error: unknown) {
        if (signal?.aborted !== true) received.problem = innerToolError(error)?.message ?? describeThrown(error);
        controller.error(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

async function rateLimited(response: Response): Promise<ToolError> {
  await response.body?.cancel();
  const text = response.headers.get("retry-after") ?? "";
  const retryAfterMs = /^\d+$/u.test(text) ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1000 : undefined;
  return new ServerFault("rate_limited", "it asked to slow down (HTTP 429)", retryAfterMs === undefined ? {} : { retryAfterMs });
}
