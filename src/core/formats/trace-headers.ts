/**
 * The fields with which a request continues a trace: `traceparent`, and `tracestate` and `baggage` if set. HTTP headers, or fields of `_meta` in MCP.
 *
 * @see https://www.w3.org/TR/trace-context/
 */
export type TraceHeaders = Readonly<Record<string, string>>;
