/** An MCP server with one tool, for clients that start it and talk to it over stdio. */
import { createRuntime, defineTool } from "haft";
import { serveMcpStdio } from "haft/mcp-server";

const stock = new Map([["apples", 10]]);

const count = defineTool({
  name: "count",
  description: "Counts the items of an article in the stock.",
  inputSchema: { type: "object", properties: { item: { type: "string" } }, required: ["item"] },
  effects: { reads: "stock:{item}" },
  execute: ({ item }) => `${stock.get(item) ?? 0} ${item}`,
});

await serveMcpStdio(createRuntime({ tools: [count] }));

/* Prints:

*/
