/** A collector of OTLP over HTTP on loopback, as JSON: what telemetry sends, read back as plain values. */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { createGunzip } from "node:zlib";

export interface ReceivedSpan {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  /** The spans that it is linked to. */
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code?: number; readonly message?: string };
  readonly durationMs: number;
}

export interface ReceivedPoint {
  readonly metric: string;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram. */
  readonly count: number | undefined;
  readonly sum: number | undefined;
  readonly bounds: readonly number[] | undefined;
  /** Of a counter. */
  readonly value: number | undefined;
}

export interface ReceivedLog {
  readonly eventName: string | undefined;
  readonly severity: string | undefined;
  readonly traceId: string | undefined;
  readonly spanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  readonly points: readonly ReceivedPoint[];
  readonly logs: readonly ReceivedLog[];
  /** Attributes of the resource of the last export. */
  readonly resource: Readonly<Record<string, unknown>>;
  /** Everything that came, as text. */
  readonly text: string;
  clear(): void;
  close(): Promise<void>;
}

/** The parts of OTLP's JSON that are read. @see https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding */
interface OtlpRequest {
  readonly resourceSpans?: readonly {
    readonly resource: OtlpAttributes;
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
  readonly resourceLogs?: readonly { readonly scopeLogs: readonly { readonly logRecords: readonly OtlpLog[] }[] }[];
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly { readonly metrics: readonly OtlpMetric[] }[] }[];
}

interface OtlpAttributes {
  readonly attributes?: readonly { readonly key: string; readonly value: OtlpValue }[];
}

interface OtlpValue {
  readonly stringValue?: string;
  readonly boolValue?: boolean;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly arrayValue?: { readonly values?: readonly OtlpValue[] };
}

interface OtlpSpan extends OtlpAttributes {
  readonly name: string;
  readonly kind: number;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly events?: readonly (OtlpAttributes & { readonly name: string })[];
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpLog extends OtlpAttributes {
  readonly eventName?: string;
  readonly severityText?: string;
  readonly traceId?: string;
  readonly spanId?: string;
}

interface OtlpMetric {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: OtlpPoints;
  readonly sum?: OtlpPoints;
}

interface OtlpPoints {
  readonly dataPoints: readonly (OtlpAttributes & {
    readonly count?: number | string;
    readonly sum?: number;
    readonly explicitBounds?: readonly number[];
    readonly asDouble?: number;
    readonly asInt?: number | string;
  })[];
}

export async function otlpReceiver(): Promise<OtlpReceiver> {
  const state = {
    spans: [] as ReceivedSpan[],
    points: [] as ReceivedPoint[],
    logs: [] as ReceivedLog[],
    resource: {} as Record<string, unknown>,
    text: "",
  };
  const server = createServer((incoming, outgoing) => {
    void answer(incoming).finally(() => outgoing.writeHead(200, { "content-type": "application/json" }).end("{}"));
  });
  const answer = async (incoming: IncomingMessage): Promise<void> => {
    const written = await body(incoming);
    state.text += written;
    const sent = JSON.parse(written) as OtlpRequest; // what the exporters of the standard write
    for (const group of sent.resourceSpans ?? []) {
      state.resource = attributesOf(group.resource);
      for (const scope of group.scopeSpans) state.spans.push(...scope.spans.map(spanOf));
    }
    for (const group of sent.resourceLogs ?? []) for (const scope of group.scopeLogs) state.logs.push(...scope.logRecords.map(logOf));
    for (const group of sent.resourceMetrics ?? [])
      for (const scope of group.scopeMetrics) state.points.push(...scope.metrics.flatMap(pointsOf));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get spans() {
      return state.spans;
    },
    get points() {
      return state.points;
    },
    get logs() {
      return state.logs;
    },
    get resource() {
      return state.resource;
    },
    get text() {
      return state.text;
    },
    clear: () => Object.assign(state, { spans: [], points: [], logs: [], text: "" }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function body(incoming: IncomingMessage): Promise<string> {
  return text(incoming.headers["content-encoding"] === "gzip" ? incoming.pipe(createGunzip()) : incoming);
}

function spanOf(span: OtlpSpan): ReceivedSpan {
  return {
    name: span.name,
    kind: span.kind,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId || undefined,
    attributes: attributesOf(span),
    events: (span.events ?? []).map((event) => ({ name: event.name, attributes: attributesOf(event) })),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
    status: span.status ?? {},
    durationMs: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
  };
}

function logOf({ eventName, severityText: severity, traceId, spanId, ...record }: OtlpLog): ReceivedLog {
  return { eventName, severity, traceId, spanId, attributes: attributesOf(record) };
}

function pointsOf(metric: OtlpMetric): readonly ReceivedPoint[] {
  const dataPoints = (metric.histogram ?? metric.sum)?.dataPoints ?? [];
  return dataPoints.map((point) => ({
    metric: metric.name,
    unit: metric.unit,
    attributes: attributesOf(point),
    count: point.count === undefined ? undefined : Number(point.count),
    sum: point.sum,
    bounds: point.explicitBounds,
    value: point.asDouble ?? (point.asInt === undefined ? undefined : Number(point.asInt)),
  }));
}

function attributesOf({ attributes = [] }: OtlpAttributes): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: OtlpValue): unknown {
  if (value.arrayValue !== undefined) return (value.arrayValue.values ?? []).map(valueOf);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}
