/** The cost of telemetry for a plain call: none, without a provider, and with one. `node --expose-gc bench/telemetry.ts` */
import { pure } from "../src/core/resources/effects.ts";
import { defineTool } from "../src/registry/define-tool.ts";
import { createRuntime, type Runtime } from "../src/runtime/runtime.ts";
import { telemetry } from "../src/telemetry/telemetry.ts";
import { startNodeSdk } from "@opentelemetry/sdk-node";

const CALLS = 20_000;
const ROUNDS = 9;

const tool = defineTool({ name: "one", description: "Answers.", inputSchema: { type: "object" }, effects: pure, execute: () => 1 });

interface Cost {
  readonly microseconds: number;
  readonly bytes: number;
}

async function costOf(runtime: Runtime): Promise<Cost> {
  const call = { name: "one", input: {} };
  const times: number[] = [];
  const sizes: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    globalThis.gc?.();
    const heap = process.memoryUsage().heapUsed;
    const startedAt = performance.now();
    for (let calls = 0; calls < CALLS; calls++) await runtime.execute(call);
    times.push(((performance.now() - startedAt) / CALLS) * 1_000);
    sizes.push((process.memoryUsage().heapUsed - heap) / CALLS);
  }
  return { microseconds: median(times), bytes: median(sizes) };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? 0;
}

function print(what: string, { microseconds, bytes }: Cost): void {
  console.log(`${what.padEnd(32)} ${microseconds.toFixed(2)} µs a call, heap ${Math.round(bytes)} bytes a call`);
}

const plain = createRuntime({ tools: [tool] });
await costOf(plain);
print("no telemetry", await costOf(plain));
const idle = createRuntime({ tools: [tool] });
telemetry(idle);
await costOf(idle);
print("telemetry, no provider", await costOf(idle));
const listened = createRuntime({ tools: [tool], onEvent: () => {} });
print("any listener of events", await costOf(listened));
const processor = { onStart() {}, onEnd() {}, async forceFlush() {}, async shutdown() {} };
const sdk = startNodeSdk({ spanProcessors: [processor], metricReaders: [], logRecordProcessors: [] });
const traced = createRuntime({ tools: [tool] });
telemetry(traced);
await costOf(traced);
print("telemetry with a provider", await costOf(traced));
await sdk.shutdown();
