/** Traces and metrics of a runtime, by the conventions of OpenTelemetry. @packageDocumentation */
import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { checkRuntime } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { CallSpans } from "./call-spans.ts";
import { ProviderDetector } from "./provider-detector.ts";
import { RuntimeTracing } from "./runtime-tracing.ts";

export type { TraceHeaders } from "../core/formats/trace-headers.ts";

/** Options of `telemetry`: which contents to record, and the providers. */
export interface TelemetryOptions {
  /** Record the arguments of calls and the input of models, without secrets. @default false */
  readonly recordInputs?: boolean;
  /** Record the results and error messages of calls, and the output and error messages of models, without secrets. @default false */
  readonly recordOutputs?: boolean;
  /** Redacts more than secrets. Called with arguments, results, tool descriptions and each text of a conversation. @default no further redaction */
  readonly redact?: (text: string) => string;
  /** @default the registered provider, also if it is registered later */
  readonly tracerProvider?: TracerProvider;
  /** @default the registered provider, also if it is registered later */
  readonly meterProvider?: MeterProvider;
}

const OPTIONS: OptionNames<TelemetryOptions> = {
  recordInputs: "boolean",
  recordOutputs: "boolean",
  redact: "function",
  tracerProvider: "object",
  meterProvider: "object",
};

/**
 * Makes spans and metrics of a runtime's work: a span `execute_tool` for each call, `chat` for each request of a loop to its model, and
 * `invoke_agent` for each run of a loop, each below its caller's span. Calls of a simulation make none.
 *
 * Traces are propagated in the requests of REST, OpenAPI, HTTP and MCP toolsets, and from the requests that servers of the runtime receive. Until a
 * provider is registered, nothing is recorded; calls that begin after that are. A provider that is registered with another version of
 * `@opentelemetry/api` cannot be used; a warning is logged once. The returned function stops recording, and ends the spans of running calls.
 *
 * @throws ToolError `invalid_argument` for an option that does not exist; `duplicate` if the runtime already has telemetry
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
export function telemetry(runtime: Runtime, options: TelemetryOptions = {}): () => void {
  checkRuntime(runtime, "telemetry()");
  checkKnownKeys(options, OPTIONS, "telemetry()");
  const { recordInputs = false, recordOutputs = false, redact } = options;
  let unsubscribe: (() => void) | undefined;
  const detector = new ProviderDetector(
    options,
    runtime.ports.log,
    () => (unsubscribe = runtime.subscribe((event) => calls.onEvent(event))),
  );
  const { registry } = runtime;
  const isTool = (name: string): boolean => registry.get(name) !== undefined || registry.overloads(name).length > 0;
  const contents = { recordInputs, recordOutputs, redact, isTool };
  const calls = new CallSpans(detector, registry, contents);
  const endTracing = runtime.trace(new RuntimeTracing(detector, calls, contents));
  detector.detect();
  return () => {
    endTracing();
    unsubscribe?.();
    calls.endAll();
  };
}
