/** A circuit breaker: a tool that keeps failing is not called for a while; then one call tests it before the circuit closes again. */
import { ToolError, createRuntime, defineTool } from "haft";
import { fakePorts } from "haft/testing";

let isDown = true;
const status = defineTool({
  name: "status",
  description: "Asks a service how it is.",
  effects: { reads: ["service"] },
  execute() {
    if (isDown) throw new ToolError("network_error", "The service does not answer.", { retryable: false });
    return "fine";
  },
});

const ports = fakePorts();
const runtime = createRuntime({
  tools: [status],
  ports,
  circuit: { failures: 3, windowMs: 60_000, openMs: 30_000 },
  onEvent: (event) => (event.type === "circuit-change" ? console.log(`the circuit of ${event.toolName} is ${event.state}`) : undefined),
});
const ask = async () => {
  const { status: how, error } = await runtime.execute({ name: "status" });
  console.log(error?.code ?? how);
};
for (let call = 1; call <= 4; call++) await ask();

isDown = false;
await ports.clock.advance(30_000);
await ask();
await runtime.close();

/* Prints:
network_error
network_error
the circuit of default::status is open
network_error
circuit_open
the circuit of default::status is half-open
the circuit of default::status is closed
ok
*/
