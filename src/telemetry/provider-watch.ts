/** Notices when providers are registered: before that nothing is recorded, and what is done costs next to nothing. */
import { createNoopMeter, metrics, trace } from "@opentelemetry/api";
import type { Meter, MeterProvider, Tracer, TracerProvider } from "@opentelemetry/api";
import { Instruments } from "./instruments.ts";

/** The name of the instrumentation scope. */
const SCOPE = "haft";
const NOOP_METER = createNoopMeter();

export interface Providers {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
}

export class ProviderWatch {
  readonly #providers: Providers;
  #tracer: Tracer | undefined;
  #instruments: Instruments | undefined;

  constructor(providers: Providers) {
    this.#providers = providers;
    this.#tracer = providers.tracerProvider?.getTracer(SCOPE);
    const meter = providers.meterProvider?.getMeter(SCOPE);
    if (meter !== undefined) this.#instruments = new Instruments(meter);
  }

  /** Undefined while there is no provider of tracers. */
  get tracer(): Tracer | undefined {
    return (this.#tracer ??= registeredTracer());
  }

  /** Undefined while there is no provider of meters. */
  get instruments(): Instruments | undefined {
    if (this.#instruments === undefined && this.#providers.meterProvider === undefined) {
      const meter = registeredMeter();
      if (meter !== undefined) this.#instruments = new Instruments(meter);
    }
    return this.#instruments;
  }
}

/** The provider of the API hands everything on to the one that was registered. */
function registeredTracer(): Tracer | undefined {
  const provider: TracerProvider & { readonly getDelegateTracer?: (name: string) => Tracer | undefined } = trace.getTracerProvider();
  return provider.getDelegateTracer === undefined ? provider.getTracer(SCOPE) : provider.getDelegateTracer(SCOPE);
}

function registeredMeter(): Meter | undefined {
  const meter = metrics.getMeter(SCOPE);
  return meter === NOOP_METER ? undefined : meter;
}
