/** Runs work while the OpenTelemetry SDK is registered and sends to a receiver; what came is looked at afterwards. */
import { context, diag, logs, metrics, propagation, trace } from "@opentelemetry/api";
import { startNodeSdk } from "@opentelemetry/sdk-node";
import { otlpReceiver, type OtlpReceiver, type ReceivedSpan } from "./otlp-receiver.ts";

export async function withTelemetry(work: () => Promise<void>): Promise<OtlpReceiver> {
  const receiver = await otlpReceiver();
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_SERVICE_NAME: "haft-test",
    OTEL_LOGS_EXPORTER: "otlp",
  };
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  try {
    const sdk = startNodeSdk({ logLevel: "none" });
    try {
      await work();
    } finally {
      await sdk.shutdown();
    }
  } finally {
    for (const api of [trace, metrics, logs, context, propagation, diag]) api.disable();
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    await receiver.close();
  }
  return receiver;
}

/** The spans as a tree, each under its parent, siblings by name, as many begin in one millisecond; one whose parent was not sent is at the top. */
export function tree(spans: readonly ReceivedSpan[]): readonly string[] {
  const known = new Set(spans.map(({ spanId }) => spanId));
  const below = (parent: string | undefined, depth: number): readonly string[] =>
    spans
      .filter(({ parentSpanId }) => (parentSpanId !== undefined && known.has(parentSpanId) ? parentSpanId : undefined) === parent)
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .flatMap((span) => [`${"  ".repeat(depth)}${span.name}`, ...below(span.spanId, depth + 1)]);
  return below(undefined, 0);
}
