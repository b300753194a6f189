/** Tests a tool without waiting, network or randomness: the test advances a virtual clock, and every run is the same. */
import assert from "node:assert/strict";
import { ToolError, createRuntime, defineTool } from "haft";
import { fakePorts } from "haft/testing";

const quote = defineTool({
  name: "quote",
  description: "Asks the exchange for a price.",
  effects: { reads: ["prices"] },
  execute(_, { attempt }) {
    if (attempt < 3) throw new ToolError("network_error", "The exchange does not answer.");
    return 42;
  },
});

const ports = fakePorts();
const runtime = createRuntime({ tools: [quote], ports, retry: { jitter: false } });
const answer = runtime.execute({ name: "quote" });

await ports.clock.advance(0);
console.log("waiting for", ports.clock.nextIn, "ms");
await ports.clock.advance(1_000);
console.log("waiting for", ports.clock.nextIn, "ms");
await ports.clock.advance(2_000);

const result = await answer;
console.log(result);
assert.deepEqual(result, {
  callId: "call_1",
  name: "default::quote",
  status: "ok",
  output: 42,
  origin: "live",
  attempts: 3,
  durationMs: 3_000,
  repairs: [],
  warnings: [],
});
await runtime.close();

/* Prints:
waiting for 1000 ms
waiting for 2000 ms
{
  callId: 'call_1',
  name: 'default::quote',
  status: 'ok',
  origin: 'live',
  attempts: 3,
  durationMs: 3000,
  repairs: [],
  warnings: [],
  output: 42
}
*/
