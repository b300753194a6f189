/** A server runs an agent, and a person approves its call over HTTP. */
import { createAgent, createRuntime, defineTool } from "haft";
import { createClient } from "haft/client";
import type { Agent } from "haft/loop";
import { scriptedModel } from "haft/model";
import { createServer, staticToken } from "haft/server";
import { memoryStore } from "haft/store";

const refund = defineTool({
  name: "refund",
  description: "Refunds an order.",
  inputSchema: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
  effects: { writes: "order:{order}", destructive: true },
  execute: ({ order }) => `refunded ${order}`,
});

const runtime = createRuntime({ tools: [refund], store: memoryStore(), approval: { approve: "inbox" } });
const agents = new Map<string, Agent>(); // agents can be added to a map later
const token = "a-secret-of-16-characters-or-more";
const server = createServer(runtime, { auth: staticToken({ token }), agents, expectedAgents: ["clerk"], mcp: false });
const { url } = await server.listen({ port: 0 });

const model = scriptedModel([{ calls: [{ name: "default::refund", input: { order: "A1" } }] }, { text: "It is refunded." }]);
const session = await runtime.resume("clerk", { create: true });
const agent = createAgent({ model, session, onResult: ({ text }) => console.log(`clerk: ${text}`) });
agents.set("clerk", agent);
agent.start();

const client = createClient({ url, token });
await client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Refund A1." }, idempotencyKey: "mail-7" });
while (agent.state !== "waiting") await new Promise((resolve) => setTimeout(resolve, 10));
for (const { callId, digest, toolName, input } of (await client.call("listApprovals", {})).approvals) {
  console.log("may it?", toolName, input);
  await client.call("decideApproval", { params: { callId }, body: { answer: "allow", digest } });
}
await agent.whenIdle();

await agent.stop();
await server.close();
await runtime.close();

/* Prints:
may it? default::refund { order: 'A1' }
clerk: It is refunded.
*/
