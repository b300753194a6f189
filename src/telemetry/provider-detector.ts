/** Detects registered providers. Until one is found, the runtime makes no events for telemetry. */
import { createNoopMeter, metrics, trace } from "@opentelemetry/api";
import type { MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import type { Log } from "../core/ports.ts";
import { Instruments } from "./instruments.ts";
import { runSafely } from "./run-safely.ts";

/** The name of the instrumentation scope. */
export const SCOPE = "haft";
const NOOP_METER = createNoopMeter();
/** The global symbol under which every version of the API keeps the registered providers. */
const REGISTERED = Symbol.for("opentelemetry.js.api.1");

export interface Providers {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
}

export class ProviderDetector {
  readonly #onFound: () => void;
  readonly #log: Log;
  /** undefined while there is no tracer provider. */
  tracer: Tracer | undefined;
  /** undefined while there is no meter provider. */
  instruments: Instruments | undefined;
  readonly #detectsTracer: boolean;
  readonly #detectsMeter: boolean;
  #isFound = false;
  #isWarned = false;

  /** @param onFound called once, when the first provider is found */
  constructor({ tracerProvider, meterProvider }: Providers, log: Log, onFound: () => void) {
    this.#onFound = onFound;
    this.#log = log;
    this.tracer = runSafely(() => tracerProvider?.getTracer(SCOPE));
    this.instruments = meterProvider === undefined ? undefined : runSafely(() => new Instruments(meterProvider.getMeter(SCOPE)));
    this.#detectsTracer = tracerProvider === undefined;
    this.#detectsMeter = meterProvider === undefined;
  }

  /** Checks whether providers were registered meanwhile. */
  detect(): this {
    if (this.#detectsTracer) this.tracer ??= runSafely(registeredTracer);
    if (this.#detectsMeter) this.instruments ??= runSafely(registeredInstruments);
    if (!this.#isFound && (this.tracer !== undefined || this.instruments !== undefined)) {
      this.#isFound = true;
      this.#onFound();
    }
    if (this.#detectsTracer && this.tracer === undefined && !this.#isWarned) this.#warnOfAnotherApi();
    return this;
  }

  /** Warns that a provider is registered with another version of the API, which itself logs that only to a logger that is off by default. */
  #warnOfAnotherApi(): void {
    const registered: unknown = Reflect.get(globalThis, REGISTERED);
    if (typeof registered !== "object" || registered === null || !("trace" in registered)) return;
    if (registered.trace === trace.getTracerProvider()) return;
    this.#isWarned = true;
    const version = "version" in registered ? String(registered.version) : "another version";
    this.#log.warn(
      `telemetry() records nothing: a tracer provider is registered with version ${version} of @opentelemetry/api, which the version that haft loads does not accept. Install one version of it; "npm ls @opentelemetry/api" lists them.`,
    );
  }
}

/** The tracer of the registered provider; undefined while the API's proxy provider has no delegate. */
function registeredTracer(): Tracer | undefined {
  const provider: TracerProvider & { readonly getDelegateTracer?: (name: string) => Tracer | undefined } = trace.getTracerProvider();
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE);
}

function registeredInstruments(): Instruments | undefined {
  const meter = metrics.getMeter(SCOPE);
  return meter === NOOP_METER ? undefined : new Instruments(meter);
}
