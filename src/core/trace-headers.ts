/**
 * The fields by which a request continues a trace: `traceparent`, and `tracestate` and `baggage` where there are such. Headers of HTTP, and
 * fields of `_meta` in MCP.
 *
 * @see https://www.w3.org/TR/trace-context/
 */
export type TraceHeaders = Readonly<Record<string, string>>;
