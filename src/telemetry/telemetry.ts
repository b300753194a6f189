/** Traces and metrics of a runtime in the words of OpenTelemetry. @packageDocumentation */
import type { MeterProvider, TracerProvider } from "@opentelemetry/api";
import { checkRuntime } from "../core/check-argument.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { CallSpans } from "./call-spans.ts";
import { ProviderWatch } from "./provider-watch.ts";
import { RuntimeTracing } from "./runtime-tracing.ts";

export type { TraceHeaders } from "../core/trace-headers.ts";

/** Options of telemetry: the contents that are recorded, and the providers. */
export interface TelemetryOptions {
  /** Record the arguments of calls, and what models are sent, without secrets. @default false */
  readonly recordInputs?: boolean;
  /** Record the results of calls with the messages of their errors, and what models answer, without secrets. @default false */
  readonly recordOutputs?: boolean;
  /** Strikes more than secrets out of arguments, results, descriptions of tools and each text of a conversation, which it is given as text. @default nothing more */
  readonly redact?: (text: string) => string;
  /** @default the one that is registered, now or later */
  readonly tracerProvider?: TracerProvider;
  /** @default the one that is registered, now or later */
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
 * Makes spans and metrics of what a runtime does: a span `execute_tool` for each call, `chat` for each request of a loop to its model, and
 * `invoke_agent` for each run of a loop, all under what called them. Calls of a simulation make none.
 *
 * Traces go on in the requests that REST, OpenAPI, HTTP and MCP toolsets send, and come in by those that servers of the runtime receive. While no
 * provider is registered, nothing is recorded; calls after one that is registered later are. One that is registered with another version of
 * `@opentelemetry/api` is not seen, and logged as a warning once. The returned function ends it, and the spans of calls that still run.
 *
 * @throws ToolError `invalid_argument` for an option that does not exist; `duplicate` for a runtime that has telemetry
 * @see https://github.com/open-telemetry/semantic-conventions-genai
 */
export function telemetry(runtime: Runtime, options: TelemetryOptions = {}): () => void {
  checkRuntime(runtime, "telemetry()");
  checkKnownKeys(options, OPTIONS, "telemetry()");
  const { recordInputs = false, recordOutputs = false, redact } = options;
  let endListening: (() => void) | undefined;
  const watch = new ProviderWatch(options, runtime.ports.log, () => (endListening = runtime.subscribe((event) => calls.hear(event))));
  const contents = { recordInputs, recordOutputs, redact };
  const calls = new CallSpans(watch, runtime.registry, contents);
  const endTracing = runtime.trace(new RuntimeTracing(watch, calls, contents));
  watch.look();
  return () => {
    endTracing();
    endListening?.();
    calls.endAll();
  };
}
