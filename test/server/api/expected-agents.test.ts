/** Agents that move between processes: a request that comes meanwhile is to be sent again. */
import { createAgent, createRuntime } from "haft";
import { createClient } from "haft/client";
import { scriptedModel } from "haft/model";
import { createServer, openServerAccess, staticToken } from "haft/server";
import { memoryStore } from "haft/store";
import { expect, onTestFinished, test } from "vitest";
import type { Agent } from "../../../src/compose/agent.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";

const TOKEN = "a-token-for-the-tests";

async function serverWithout(agents: ReadonlyMap<string, Agent>) {
  const store = memoryStore();
  const runtime = createRuntime({ store });
  const auth = await openServerAccess({ access: store.access, others: [staticToken({ token: TOKEN })] }, systemPorts);
  const server = createServer(runtime, { auth, agents, expectedAgents: ["clerk"] });
  const { url } = await server.listen({ port: 0 });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  return { runtime, url };
}

test.each([
  ["POST", "/v1/agents/clerk/messages", JSON.stringify({ content: "Are you there?" })],
  ["POST", "/v1/agents/clerk/cancel", undefined],
  ["GET", "/v1/agents/clerk", undefined],
  ["GET", "/v1/agents/clerk/events", undefined],
])("%s %s for an expected agent that is not running returns 503 with a retry", async (method, path, body) => {
  const { url } = await serverWithout(new Map());
  const headers = { authorization: `Bearer ${TOKEN}`, ...(body === undefined ? {} : { "content-type": "application/json" }) };
  const answer = await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body }) });
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(answer.headers.get("x-should-retry")).toBe("true");
  expect(await answer.json()).toMatchObject({
    code: "unavailable",
    detail: 'The agent "clerk" is not running at the moment: it is being started, or continued by another process.',
    outcome: "not_started",
  });
});

test("an unexpected agent returns 404, and so does an expected one for the key of another session", async () => {
  const { url, runtime } = await serverWithout(new Map());
  await runtime.session("visitor").close();
  const owner = createClient({ url, token: TOKEN });
  await expect(owner.call("getAgent", { params: { agentName: "smith" } })).rejects.toMatchObject({ status: 404 });
  const { key } = await owner.call("createSessionKey", { params: { sessionId: "visitor" }, body: { name: "page", scopes: ["read"] } });
  const visitor = createClient({ url, token: key });
  await expect(visitor.call("getAgent", { params: { agentName: "clerk" } })).rejects.toMatchObject({ status: 404 });
});

test("a message sent while its agent moves between processes arrives once, when the agent runs again", async () => {
  const agents = new Map<string, Agent>();
  const { url, runtime } = await serverWithout(agents);
  const statuses: number[] = [];
  const client = createClient({
    url,
    token: TOKEN,
    retryDelayMs: 1,
    async fetch(...request) {
      const answer = await fetch(...request);
      statuses.push(answer.status);
      if (agents.size === 0)
        agents.set("clerk", createAgent({ session: runtime.session("clerk"), model: scriptedModel([{ text: "Yes." }]) }));
      return answer;
    },
  });
  await client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Are you there?" } });
  expect(statuses).toEqual([503, 200]);
  expect(agents.get("clerk")?.session.inbox.map(({ message }) => message.content)).toEqual(["Are you there?"]);
});

test("the response to a message says whether the agent is stopped, and the agent receives the message when it starts", async () => {
  const agents = new Map<string, Agent>();
  const { url, runtime } = await serverWithout(agents);
  const agent = createAgent({ session: runtime.session("clerk"), model: scriptedModel([{ text: "Yes." }]) });
  agents.set("clerk", agent);
  const client = createClient({ url, token: TOKEN });
  const send = () => client.call("sendToAgent", { params: { agentName: "clerk" }, body: { content: "Are you there?" } });
  expect(await send()).toEqual({ sent: true, state: "stopped" });
  agent.start();
  await agent.whenIdle();
  expect(agent.session.messages().map(({ role }) => role)).toEqual(["user", "assistant"]);
  await agent.stop();
});
