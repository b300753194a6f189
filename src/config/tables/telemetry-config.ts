/** Reads the table `telemetry`: which traces and metrics a program sends, and where. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { TableReader } from "../table-reader.ts";

export interface TelemetryConfig {
  /** @default true */
  readonly enabled?: boolean;
  /** The address of the collector, for OTLP over HTTP. @default `OTEL_EXPORTER_OTLP_ENDPOINT`, else http://localhost:4318 */
  readonly endpoint?: string;
  /** @default `OTEL_SERVICE_NAME`, else "haft" */
  readonly serviceName?: string;
  readonly recordInputs?: boolean;
  readonly recordOutputs?: boolean;
}

export function readTelemetry(table: TableReader): TelemetryConfig {
  const endpoint = table.text("endpoint");
  if (endpoint !== undefined && !isHttpAddress(endpoint)) table.report("endpoint", "must be an address of http or https.");
  const serviceName = table.text("serviceName");
  if (serviceName === "") table.report("serviceName", "must not be empty.");
  return omitUndefined({
    enabled: table.flag("enabled"),
    endpoint,
    serviceName,
    recordInputs: table.flag("recordInputs"),
    recordOutputs: table.flag("recordOutputs"),
  });
}

function isHttpAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/u.test(new URL(text).protocol);
}
