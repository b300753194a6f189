import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { createRuntime, resultText } from "haft";
import { mcpToolset } from "haft/mcp";
import { z } from "zod";

function gardenServer(): McpServer {
  const server = new McpServer({ name: "garden", version: "1.0.0" });
  server.registerTool(
    "plant",
    { description: "Plants a bed.", inputSchema: { bed: z.string(), count: z.number().int() } },
    async (input) => ({
      content: [{ type: "text", text: `${input.count} roses in the bed ${input.bed}` }],
    }),
  );
  return server;
}

const garden = mcpToolset("garden", {
  transport: async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    await gardenServer().connect(theirs);
    return ours;
  },
});
await using runtime = createRuntime({ toolsets: [garden] });
await runtime.open();
console.log(resultText(await runtime.execute({ name: "garden::plant", input: { bed: "south", count: "3" } })));

/* Prints:
3 roses in the bed south
*/
