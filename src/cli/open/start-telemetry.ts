/** Traces and metrics of a command: by the configuration, or by the variables of OpenTelemetry. */
import { setTimeout } from "node:timers/promises";
import type { TelemetryConfig } from "../../config/tables/telemetry-config.ts";
import { ToolError } from "../../core/error.ts";
import { cannotLoad, isNotInstalled } from "../../core/late-package.ts";
import type { Runtime } from "../../runtime/runtime.ts";

type SdkNode = typeof import("@opentelemetry/sdk-node");
type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that say that telemetry is wanted. @see https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const WANTED = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
  "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
  "OTEL_TRACES_EXPORTER",
  "OTEL_METRICS_EXPORTER",
  "OTEL_CONFIG_FILE",
];
/** So long may the last of it take to be sent. */
const LAST_SENDING_MS = 5_000;
/** Where the API keeps what a program registered before, such as with `node --import`. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

export interface TelemetryStart {
  readonly config: TelemetryConfig | undefined;
  readonly environment: Environment;
  readonly runtime: Runtime;
}

/**
 * Begins telemetry where the configuration or a variable asks for it. The returned function sends what is left and ends it.
 *
 * Variables win over the configuration. Where only variables ask for it and the packages are not installed, nothing is sent.
 *
 * @throws ToolError `unavailable` where the configuration asks for it and a package is missing, and where one cannot be loaded. By rejecting
 */
export async function startTelemetry({ config, environment, runtime }: TelemetryStart): Promise<() => Promise<void>> {
  const isOff = config?.enabled === false || environment["OTEL_SDK_DISABLED"]?.toLowerCase() === "true";
  const isRegistered = hasProvider();
  const isWanted = config !== undefined || isRegistered || WANTED.some((name) => (environment[name] ?? "") !== "");
  if (isOff || !isWanted) return async () => {};
  try {
    const { telemetry } = await import("../../telemetry/telemetry.ts").catch(notLoaded("@opentelemetry/api"));
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

function notLoaded(name: string): (thrown: unknown) => never {
  return (thrown) => {
    throw cannotLoad({ name, need: "telemetry needs it" }, thrown);
  };
}

function hasProvider(): boolean {
  const registered: unknown = Reflect.get(globalThis, REGISTERED);
  return typeof registered === "object" && registered !== null && ("trace" in registered || "metrics" in registered);
}

/** Starts the SDK, which reads all other variables of the standard itself. */
async function startSending(config: TelemetryConfig | undefined, environment: Environment): Promise<() => Promise<void>> {
  const sdkNode = await import("@opentelemetry/sdk-node").catch(notLoaded("@opentelemetry/sdk-node"));
  const { context, metrics, propagation, trace } = await import("@opentelemetry/api").catch(notLoaded("@opentelemetry/api"));
  const forget = setVariables({
    ...(config?.endpoint === undefined ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT: config.endpoint }),
    OTEL_SERVICE_NAME: config?.serviceName ?? "haft",
    OTEL_LOGS_EXPORTER: "none",
    OTEL_LOG_LEVEL: "error",
    OTEL_NODE_RESOURCE_DETECTORS: "env,service", // others tell the command line, which holds arguments of calls
    ...Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== "")), // empty is as if it were not set
  });
  const sdk = startSdk(sdkNode);
  return async () => {
    // a collector that is away does not fail the command, and delays its end by so much at most
    await Promise.race([sdk.shutdown().catch(() => {}), setTimeout(LAST_SENDING_MS, undefined, { ref: false })]);
    for (const api of [trace, metrics, context, propagation]) api.disable();
    forget();
  };
}

/** Version 2 of the SDK, on which many products still are, has the class alone; with `OTEL_CONFIG_FILE`, version 3 reads the file by the function alone. */
function startSdk(sdkNode: SdkNode | Omit<SdkNode, "startNodeSdk">): { shutdown(): Promise<void> } {
  if ("startNodeSdk" in sdkNode) return sdkNode.startNodeSdk();
  const sdk = new sdkNode.NodeSDK();
  sdk.start();
  return sdk;
}

/** The SDK reads those of the process only. The returned function puts back what was there. */
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

/** Whether one of the two packages is not there. */
function isMissing(error: unknown): boolean {
  return ["@opentelemetry/api", "@opentelemetry/sdk-node"].some((name) => isNotInstalled(name, error));
}
