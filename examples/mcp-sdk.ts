/** Adds the tools of a runtime to a server of the official MCP SDK, which has a tool of its own; a client calls it in the same process. */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { McpServer } from "@modelcontextprotocol/server";
import { createRuntime, defineTool, readOnly, resultText } from "haft";
import { z } from "zod";

const weather = defineTool({
  name: "weather",
  description: "Tells the weather of a city.",
  inputSchema: z.object({ city: z.string(), days: z.number().int().default(1) }),
  effects: readOnly("weather"),
  execute: ({ city, days }) => `${city}: snow for ${days} days`,
});
const runtime = createRuntime({ tools: [weather] });

const server = new McpServer({ name: "station", version: "1.0.0" });
server.registerTool("ping", { description: "Answers.", inputSchema: z.object({}) }, async () => ({
  content: [{ type: "text", text: "pong" }],
}));
const { name, description, inputSchema } = weather;
server.registerTool(name, { description, inputSchema }, async (input, { mcpReq }) => {
  const result = await runtime.execute({ name, input }, { signal: mcpReq.signal });
  return { content: [{ type: "text", text: resultText(result) }], isError: result.error !== undefined };
});

const [clientSide, serverSide] = InMemoryTransport.createLinkedPair();
await server.connect(serverSide);
const client = new Client({ name: "program", version: "1.0.0" });
await client.connect(clientSide);
console.log((await client.listTools()).tools.map(({ name }) => name).join());
for (const input of [{ city: "Oslo", days: "3" }, { town: "Oslo" }]) {
  const { content, isError } = await client.callTool({ name: "weather", arguments: input });
  for (const part of content) if (part.type === "text") console.log(isError === true ? "error:" : "answer:", part.text.split("\n")[0]);
}
await client.close();
await runtime.close();

/* Prints:
ping,weather
answer: Oslo: snow for 3 days
error: Input validation error: Invalid arguments for tool weather: city: required field missing
*/
