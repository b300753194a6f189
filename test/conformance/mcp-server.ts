/** The MCP server that the conformance suite is run against, built with Haft. Prints its address, and ends with its input. */
import { createRuntime } from "../../src/runtime/runtime.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { listenMcp } from "../../src/server/mcp.ts";
import { fixtureOffers } from "./mcp-server-offers.ts";
import { taskTools } from "./mcp-server-tasks.ts";
import { fixtureTools } from "./mcp-server-tools.ts";

const { provider, promptsChange } = fixtureOffers();
let changes = 0;
const runtime = createRuntime({
  tools: [
    ...taskTools,
    ...fixtureTools({
      promptsChange,
      toolsChange: () => {
        if (changes++ > 0) runtime.registry.unregister("changing_tool");
        runtime.registry.register(defineTool({ name: "changing_tool", description: `Changed ${changes} times.`, execute: () => changes }));
      },
    }),
  ],
});
await runtime.open();
const listener = await listenMcp(runtime, {
  name: "haft-fixture",
  version: "1.0.0",
  port: 0,
  providers: [provider],
  tasks: { taskAfterMs: 500 },
});
console.log(listener.url);
process.stdin.on("end", () => {
  void listener.close().then(() => runtime.close());
});
process.stdin.resume();
