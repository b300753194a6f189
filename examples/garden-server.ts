/** An MCP server with a tool, a question to the client's user, a resource and a prompt; and a client that uses them. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, resultText } from "haft";
import { mcpEngine, mcpPeerOf } from "haft/mcp";
import { listenMcp, type McpProvider } from "haft/mcp-server";
import { z } from "zod";

const plant = defineTool({
  name: "plant",
  title: "Plant",
  description: "Plants a bed.",
  inputSchema: z.object({ bed: z.string(), count: z.number().int() }),
  outputSchema: z.object({ planted: z.number().int(), flower: z.string() }),
  effects: { writes: "bed:{bed}" },
  async execute({ bed, count }, { ask, progress, signal }) {
    const schema = { type: "object", properties: { flower: { type: "string" } }, required: ["flower"] };
    const answer = await ask({ message: `Which flower for the bed ${bed}?`, schema });
    if (answer.action !== "accept") throw new Error("Nobody chose a flower.");
    for (let done = 1; done <= count; done++) {
      signal.throwIfAborted();
      progress({ done, total: count });
    }
    return { planted: count, flower: String(answer.content?.["flower"]) };
  },
});
const plan: McpProvider = {
  listResources: async () => ({ resources: [{ uri: "garden://plan", name: "plan", mimeType: "text/plain" }] }),
  readResource: async () => ({ contents: [{ uri: "garden://plan", text: "Roses in the south." }] }),
  listPrompts: async () => ({ prompts: [{ name: "review", arguments: [{ name: "bed", required: true }] }] }),
  getPrompt: async ({ arguments: given }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Review the bed ${JSON.stringify(given)}.` } }],
  }),
};
const garden = createRuntime({ tools: [plant] });
const listener = await listenMcp(garden, { port: 0, name: "garden", version: "1.0.0", providers: [plan] });

const engine = mcpEngine({ url: listener.url });
const client = createRuntime({
  toolsets: [{ name: "garden", engine }],
  ask: ({ message }) => {
    console.log(message);
    return { action: "accept", content: { flower: "roses" } };
  },
});
await client.open();
const call = { name: "garden::plant", input: { bed: "south", count: 3 } };
console.log(resultText(await client.execute(call, { onProgress: ({ done, total }) => console.log(`${done} of ${total}`) })));

const peer = mcpPeerOf(engine);
assert.ok(peer !== undefined);
const { contents } = await peer.readResource({ uri: "garden://plan" }, { signal: AbortSignal.timeout(10_000) });
console.log(JSON.stringify(contents));
await client.close();
await listener.close();
await garden.close();

/* Prints:
Which flower for the bed south?
1 of 3
2 of 3
3 of 3
{"planted":3,"flower":"roses"}
[{"uri":"garden://plan","text":"Roses in the south."}]
*/
