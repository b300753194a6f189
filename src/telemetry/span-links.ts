/** Links to spans of other traces, named in the events of a session. */
import { isSpanContextValid, type Link } from "@opentelemetry/api";

/** The link to the span of a `traceparent` header; undefined if it is invalid. @see https://www.w3.org/TR/trace-context/#traceparent-header */
export function createSpanLink(traceparent: string): Link | undefined {
  const [, traceId = "", spanId = "", flags = ""] = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/u.exec(traceparent) ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? { context } : undefined;
}
