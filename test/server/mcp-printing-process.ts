/** Serves a tool over standard input and output that prints what it is given, in many ways, and prints once more when its client has gone. */
import { createRuntime } from "../../src/index.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { serveMcpStdio } from "../../src/server/mcp.ts";

const runtime = createRuntime({
  tools: [
    {
      name: "print",
      description: "Prints.",
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      effects: pure,
      maxResultBytes: 1_000_000,
      execute: ({ text }) => {
        process.stdout.write(`${String(text)} without an end`);
        console.log(text);
        return "x".repeat(500_000);
      },
    },
  ],
});
await runtime.open();
const server = await serveMcpStdio(runtime, { graceMs: 0 });
await server.closed;
await runtime.close();
process.stdout.write("over\n");
