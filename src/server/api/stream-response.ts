/** Answers with an event stream, and counts it. */
import type { EventFilter } from "./event-feed.ts";
import type { ApiServices, RequestOf } from "./services.ts";

/** Proxies are told not to hold it back. */
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;

/** @throws ToolError `rate_limited` when the principal follows too many */
export function streamResponse(
  { principal, signal }: Pick<RequestOf<"listEvents">, "principal" | "signal">,
  { limits, feed }: ApiServices,
  filter: EventFilter,
  after: string | number | undefined,
): Response {
  const end = limits.begin(principal.id, "streams");
  const stream = feed.stream(filter, { signal, ...(after === undefined ? {} : { after }) });
  const reader = stream.getReader();
  const counted = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (!done) return controller.enqueue(value);
      end();
      controller.close();
    },
    async cancel(reason) {
      end();
      await reader.cancel(reason);
    },
  });
  signal.addEventListener("abort", end, { once: true });
  return new Response(counted, { headers: HEADERS });
}
