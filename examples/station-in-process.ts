import { InMemoryTransport, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { createRuntime, resultText } from "haft";
import { mcpToolset } from "haft/mcp";
import { z } from "zod";

function stationServer(): McpServer {
  const server = new McpServer({ name: "station", version: "1.0.0" });
  server.registerTool("weather", { description: "Tells the weather.", inputSchema: z.object({ city: z.string() }) }, async ({ city }) => ({
    content: [{ type: "text", text: `${city}: snow` }],
  }));
  return server;
}

const station = mcpToolset("station", {
  transport: () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    serveStdio(stationServer, { transport: theirs });
    return ours;
  },
});
await using runtime = createRuntime({ toolsets: [station] });
await runtime.open();
console.log(resultText(await runtime.execute({ name: "station::weather", input: { city: "Oslo" } })));

/* Prints:
Oslo: snow
*/
