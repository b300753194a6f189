/** A read that failed for a moment is retried. A payment that may have been made is not. */
import assert from "node:assert/strict";
import { ToolError, createRuntime, defineTool } from "haft";

let failures = 2;
const rate = defineTool({
  name: "rate",
  description: "Today's exchange rate, from a shaky service.",
  effects: { reads: ["rates"] },
  execute() {
    if (failures-- > 0) throw new ToolError("network_error", "The connection was reset.");
    return { rate: 11.42 };
  },
});

const pay = defineTool({
  name: "pay",
  description: "Pays an invoice.",
  effects: { writes: ["account"] },
  execute() {
    throw new ToolError("network_error", "The connection was reset.");
  },
});

const reserve = defineTool({
  name: "reserve",
  description: "Reserves a seat, when the service lets us.",
  effects: { writes: ["seats"] },
  execute(_, { attempt }) {
    if (attempt === 1) throw new ToolError("rate_limited", "Slow down.", { outcome: "not_started", retryAfterMs: 20 });
    return "seat 12";
  },
});

const runtime = createRuntime({
  tools: [rate, pay, reserve],
  retry: { delayMs: 10 },
  onEvent(event) {
    if (event.type === "call-retry") console.log(`${event.toolName} is tried again: ${event.error.message}`);
  },
});
for (const name of ["rate", "pay", "reserve"]) {
  const { status, attempts, error } = await runtime.execute({ name });
  console.log(`${name}: ${status} after ${attempts} attempts${error === undefined ? "" : `; what happened is ${error.outcome}`}`);
}

assert.equal(runtime.counters.attempts, 6);
await runtime.close();

/* Prints:
default::rate is tried again: The connection was reset.
default::rate is tried again: The connection was reset.
rate: ok after 3 attempts
pay: error after 1 attempts; what happened is unknown
default::reserve is tried again: Slow down.
reserve: ok after 2 attempts
*/
