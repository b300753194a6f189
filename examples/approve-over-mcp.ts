/** Calls that need approval are approved by the person who uses the MCP client. */
import { createRuntime, defineTool, resultText } from "haft";
import { mcpToolset } from "haft/mcp";
import { listenMcp, mcpApprover } from "haft/mcp-server";

const fell = defineTool({
  name: "fell",
  description: "Fells a tree.",
  inputSchema: { type: "object", properties: { tree: { type: "string" } }, required: ["tree"] },
  effects: { writes: ["trees"], destructive: true },
  execute: ({ tree }) => `the ${tree} is down`,
});
const garden = createRuntime({ tools: [fell], approval: { approve: mcpApprover } });
const listener = await listenMcp(garden, { port: 0 });

const client = createRuntime({
  toolsets: [mcpToolset("garden", { url: listener.url })],
  approval: { never: ["garden::*"] }, // the server asks for approval, so the client does not
  ask: ({ message }) => {
    console.log(message);
    return { action: "accept", content: { allow: message.includes("birch") } };
  },
});
await client.open();
for (const tree of ["birch", "oak"]) {
  const result = await client.execute({ name: "garden::fell", input: { tree } });
  console.log(result.error?.message ?? resultText(result));
}

await client.close();
await listener.close();
await garden.close();

/* Prints:
May fell run? fell may destroy something.
{
  "tree": "birch"
}
the birch is down
May fell run? fell may destroy something.
{
  "tree": "oak"
}
Error (approval_denied): fell was not approved: the answer was no.
Hint: Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to do.
*/
