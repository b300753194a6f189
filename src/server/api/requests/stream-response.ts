/** Answers with an event stream, and counts it against the limits. */
import { ToolError } from "../../../core/error.ts";
import type { StreamFilter } from "../../events/event-hub.ts";
import { EVENT_STREAM_HEADERS } from "../../events/sse.ts";
import { endStreamWithCredentials } from "../../auth/end-stream-with-credentials.ts";
import type { ApiServices, RequestOf } from "../services.ts";

/** @throws ToolError `rate_limited` if the principal has too many streams; `not_found` and `gone`; as a rejection */
export async function streamResponse(
  { principal, signal }: Pick<RequestOf<"listEvents">, "principal" | "signal">,
  { limits, events, stopping, access }: ApiServices,
  filter: StreamFilter,
  after: string | number | undefined,
): Promise<Response> {
  if (stopping()) throw new ToolError("unavailable", "The server is stopping.", { retryable: true });
  const end = limits.startWork(principal.id, "streams");
  signal.addEventListener("abort", end, { once: true });
  try {
    const stream = await events.open(filter, { signal, after });
    const watched = endStreamWithCredentials(stream, { principal, access, onEnded: end });
    return new Response(watched, { headers: EVENT_STREAM_HEADERS });
  } catch (thrown: unknown) {
    end();
    throw thrown;
  }
}
