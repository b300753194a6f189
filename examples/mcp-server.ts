/** Uses a real MCP server as a toolset: starts it, lists its tools, calls one and closes it. */
import { fileURLToPath } from "node:url";
import { createRuntime, resultText } from "haft";
import { mcpToolset } from "haft/mcp";

const server = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));

const runtime = createRuntime({
  toolsets: [mcpToolset("everything", { command: process.execPath, args: [server, "stdio"], openTimeoutMs: 30_000 })],
});
const { opened, failed } = await runtime.open();
console.log("opened:", opened.join(", "), "failed:", failed.length);

const results = [
  await runtime.execute({ name: "everything::echo", input: { message: "hello" } }),
  await runtime.execute({ name: "get-sum", input: { a: 40, b: "2" } }),
  await runtime.execute({ name: "everything::get-som", input: { a: 40, b: 2 } }),
];
for (const result of results) console.log(resultText(result));
await runtime.close();

/* Prints:
opened: everything failed: 0
Echo: hello
The sum of 40 and 2 is 42.
Error (not_found): No tool "everything::get-som". Did you mean "everything::get-sum"?
*/
