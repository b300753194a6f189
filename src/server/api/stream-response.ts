/** Answers with an event stream, and counts it. */
import { ToolError } from "../../core/error.ts";
import type { EventFilter } from "./event-feed.ts";
import type { ApiServices, RequestOf } from "./services.ts";

/** With a header that keeps proxies from buffering it. */
const HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
} as const;

/** @throws ToolError `rate_limited` when the principal follows too many */
export function streamResponse(
  { principal, signal }: Pick<RequestOf<"listEvents">, "principal" | "signal">,
  { limits, feed, stopping }: ApiServices,
  filter: EventFilter,
  after: string | number | undefined,
): Response {
  if (stopping()) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
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
