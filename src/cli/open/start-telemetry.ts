/** Starts the traces and metrics of a command, as the configuration or the variables of OpenTelemetry say. */
import { setTimeout } from "node:timers/promises";
import type { TelemetryConfig } from "../../config/tables/telemetry-config.ts";
import { ToolError } from "../../core/error.ts";
import { packageLoadError, isNotInstalled } from "../../core/system/lazy-package.ts";
import type { Runtime } from "../../runtime/runtime.ts";

type SdkNode = typeof import("@opentelemetry/sdk-node");
type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that turn telemetry on. @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const TELEMETRY_VARIABLES = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  "OTEL_TRACES_EXPORTER",
  "OTEL_METRICS_EXPORTER",
  "OTEL_CONFIG_FILE",
];
/** How long sending the remaining data may take at the end, in milliseconds. */
const MAX_FINAL_EXPORT_MS = 5_000;
/** The key under which the API keeps providers that a program registered before, for example with `node --import`. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

export interface TelemetryStart {
  readonly config: TelemetryConfig | undefined;
  readonly environment: Environment;
  readonly runtime: Runtime;
}

/**
 * Starts telemetry if the configuration or a variable turns it on. The returned function sends the remaining data and stops it.
 *
 * Variables take precedence over the configuration. If only variables turn it on and the packages are not installed, nothing is sent.
 *
 * @throws ToolError `unavailable`, as a rejection, if the configuration turns it on and a package is missing, and if a package cannot be loaded
 */
export async function startTelemetry({ config, environment, runtime }: TelemetryStart): Promise<() => Promise<void>> {
  const isOff = config?.enabled === false || environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  const isRegistered = hasProvider();
  const isWanted = config !== undefined || isRegistered || TELEMETRY_VARIABLES.some((name) => (environment[name] ?? "") !== "");
  if (isOff || !isWanted) return async () => {};
  try {
    const { telemetry } = await import("../../telemetry/telemetry.ts").catch(throwNotLoaded("@opentelemetry/api"));
    const stopSending = isRegistered ? async () => {} : await startSending(config, environment);
    const { recordInputs = false, recordOutputs = false } = config ?? {};
    const end = telemetry(runtime, { recordInputs, recordOutputs });
    return async () => {
      end();
      await stopSending();
    };
  } catch (error: unknown) {
    if (!(error instanceof ToolError) || !isMissing(error.cause)) throw error;
    if (config === undefined) return async () => {};
    throw new ToolError("unavailable", "[telemetry] needs the packages of OpenTelemetry, and one of them is not installed.", {
      operatorHint: "Run npm install @opentelemetry/api @opentelemetry/sdk-node.",
      cause: error.cause,
    });
  }
}

function throwNotLoaded(name: string): (thrown: unknown) => never {
  return (thrown) => {
    throw packageLoadError({ name, need: "telemetry needs it" }, thrown);
  };
}

function hasProvider(): boolean {
  const registered: unknown = Reflect.get(globalThis, REGISTERED);
  return typeof registered === "object" && registered !== null && ("trace" in registered || "metrics" in registered);
}

/** Starts the SDK, which reads all other variables of the standard itself. */
async function startSending(config: TelemetryConfig | undefined, environment: Environment): Promise<() => Promise<void>> {
  const sdkNode = await import("@opentelemetry/sdk-node").catch(throwNotLoaded("@opentelemetry/sdk-node"));
  const { context, metrics, propagation, trace } = await import("@opentelemetry/api").catch(throwNotLoaded("@opentelemetry/api"));
  const restoreVariables = setVariables({
    ...(config?.endpoint === undefined ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: config.endpoint }),
    OTEL_SERVICE_NAME: config?.serviceName ?? "haft",
    OTEL_LOGS_EXPORTER: "none",
    OTEL_LOG_LEVEL: "error",
    OTEL_NODE_RESOURCE_DETECTORS: "env,service", // other detectors report the command line, which holds arguments of calls
    ...Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== "")), // an empty variable counts as unset
  });
  const sdk = startSdk(sdkNode);
  return async () => {
    // a collector that does not answer neither fails the command nor delays its end for longer than this
    await Promise.race([sdk.shutdown().catch(() => {}), setTimeout(MAX_FINAL_EXPORT_MS, undefined, { ref: false })]);
    for (const api of [trace, metrics, context, propagation]) api.disable();
    restoreVariables();
  };
}

/**
 * Starts version 2 or 3 of the SDK. Version 2, which is still common, has only the class. Version 3 reads the file of `OTEL_CONFIG_FILE` only if it
 * is started by the function.
 */
function startSdk(sdkNode: SdkNode | Omit<SdkNode, "startNodeSdk">): { shutdown(): Promise<void> } {
  if ("startNodeSdk" in sdkNode) return sdkNode.startNodeSdk();
  const sdk = new sdkNode.NodeSDK();
  sdk.start();
  return sdk;
}

/** Sets variables of this process, the only ones that the SDK reads. The returned function restores the old values. */
function setVariables(wanted: Environment): () => void {
  const before = Object.entries(wanted)
    .filter(([name, value]) => name.startsWith("OTEL_") && process.env[name] !== value)
    .map(([name, value]) => {
      const old = process.env[name];
      if (value !== undefined) process.env[name] = value;
      return [name, old] as const;
    });
  return () => {
    for (const [name, old] of before)
      if (old === undefined) delete process.env[name];
      else process.env[name] = old;
  };
}

/** Whether one of the two packages is not installed. */
function isMissing(error: unknown): boolean {
  return ["@opentelemetry/api", "@opentelemetry/sdk-node"].some((name) => isNotInstalled(name, error));
}
