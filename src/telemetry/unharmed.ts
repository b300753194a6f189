import { diag } from "@opentelemetry/api";

/** Does work of the SDK: a provider, a processor or a sampler of the program that throws costs no run its answer. */
export function unharmed<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown: unknown) {
    diag.error("haft: telemetry threw", thrown);
    return undefined;
  }
}
