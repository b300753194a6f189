/** Serves the tools of this program to MCP clients over HTTP, of the newer and the older protocol; here Haft's own client calls one. */
import { createRuntime, defineTool, resultText } from "haft";
import { mcpToolset } from "haft/mcp";
import { listenMcp } from "haft/mcp-server";

const paint = defineTool({
  name: "paint",
  description: "Paints the fence.",
  inputSchema: { type: "object", properties: { fence: { type: "string" } }, required: ["fence"] },
  effects: { writes: ["fence:all"], idempotent: true },
  async execute({ fence }, { ask, progress }) {
    const schema = { type: "object", properties: { colour: { type: "string", enum: ["red", "green"] } }, required: ["colour"] };
    const answer = await ask({ message: `Which colour for the ${fence}?`, schema });
    if (answer.action !== "accept") return "left as it is";
    progress({ done: 1, total: 1 });
    return `${fence}: ${String(answer.content?.["colour"])}`;
  },
});

const served = createRuntime({ toolsets: [{ name: "garden", tools: [paint] }] });
await served.open();
const listener = await listenMcp(served, { port: 0, name: "garden", token: "let-me-in-please-4711" });

const client = createRuntime({
  toolsets: [mcpToolset("remote", { url: listener.url, auth: { type: "bearer", token: "let-me-in-please-4711" } })],
  ask: ({ asker, message }) => {
    console.log(`${asker} asks: ${message}`);
    return { action: "accept", content: { colour: "green" } };
  },
});
await client.open();
console.log(client.registry.names("remote").join(", "));
const result = await client.execute({ name: "remote::garden__paint", input: { fence: "front" } });
console.log(resultText(result));

await client.close();
await listener.close();
await served.close();

/* Prints:
remote::garden__paint
remote asks: Which colour for the front?
front: green
*/
