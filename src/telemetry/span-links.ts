/** Links to spans of other traces, which events of a session name. */
import { isSpanContextValid, type Link } from "@opentelemetry/api";

/** The link to a span, as the header `traceparent` has it; undefined for what is none. @see https://www.w3.org/TR/trace-context/#traceparent-header */
export function linkTo(traceparent: string): Link | undefined {
  const [, traceId = "", spanId = "", flags = ""] = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})/u.exec(traceparent) ?? [];
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(context) ? { context } : undefined;
}
