/** Answers with an event stream, and counts it. */
import { ToolError } from "../../core/error.ts";
import type { StreamFilter } from "../events/event-hub.ts";
import { EVENT_STREAM_HEADERS } from "../events/sse.ts";
import type { ApiServices, RequestOf } from "./services.ts";

/** @throws ToolError `rate_limited` when the principal follows too many; `not_found` and `gone`. By rejecting */
export async function streamResponse(
  { principal, signal }: Pick<RequestOf<"listEvents">, "principal" | "signal">,
  { limits, events, stopping }: ApiServices,
  filter: StreamFilter,
  after: string | number | undefined,
): Promise<Response> {
  if (stopping()) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
  const end = limits.begin(principal.id, "streams");
  signal.addEventListener("abort", end, { once: true });
  try {
    const reader = (await events.open(filter, { signal, after })).getReader();
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
    return new Response(counted, { headers: EVENT_STREAM_HEADERS });
  } catch (thrown: unknown) {
    end();
    throw thrown;
  }
}
