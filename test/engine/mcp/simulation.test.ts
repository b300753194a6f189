import { expect, test } from "vitest";
import type { Engine } from "../../../src/core/engine.ts";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { knownTools } from "../../../src/engine/known-tools.ts";
import { mcpEngine, type McpSampler } from "../../../src/engine/mcp.ts";
import { perSession } from "../../../src/engine/per-session.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { FakeMemory } from "../remembered-server.ts";
import { loopbackMcp, modern, text, type Answers, type LoopbackMcp } from "./loopback-mcp.ts";

const TOOLS = [
  { name: "look", description: "", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "write", description: "", inputSchema: { type: "object" } },
  { name: "wipe", description: "", inputSchema: { type: "object" }, annotations: { destructiveHint: true } },
  { name: "again", description: "", inputSchema: { type: "object" }, annotations: { idempotentHint: true } },
];

function withTools(more: Answers = {}): Answers {
  return {
    ...modern(),
    "tools/list": () => ({ resultType: "complete", tools: TOOLS, ttlMs: 0, cacheScope: "private" }),
    "tools/call": ({ params }) => text(`did ${String(params["name"])}`),
    ...more,
  };
}

const called = ({ asked }: LoopbackMcp): readonly unknown[] =>
  asked.filter(({ method }) => method.startsWith("tools/call") || method.startsWith("tasks/")).map(({ params }) => params["name"]);

const calls = TOOLS.map(({ name }) => ({ name }));

test.each([
  ["trusted", true, ["ok", "error", "error", "error"], ["look"]],
  ["not trusted", false, ["error", "error", "error", "error"], []],
] as const)(
  "F0.35 in a simulation of a server whose hints are %s, only declared reads reach the server",
  async (_what, trusted, statuses, reached) => {
    const server = await loopbackMcp(withTools());
    const engine = mcpEngine({ url: server.url, trustAnnotations: trusted });
    await using runtime = createRuntime({ toolsets: [{ name: "far", engine }], approval: { approve: () => "allow-always" } });
    await runtime.open();
    const { results } = await runtime.session().simulate(calls);
    expect([results.map(({ status }) => status), called(server)]).toEqual([statuses, reached]);
    expect(results.filter(({ error }) => error !== undefined).every(({ error }) => error?.code === "not_simulatable")).toBe(true);
  },
);

test("F0.35 a known server is not started for calls that a simulation may not make", async () => {
  const server = await loopbackMcp(withTools());
  const memory = new FakeMemory();
  memory.lists.set(
    "{}",
    TOOLS.map(({ annotations: _hints, ...tool }) => tool),
  );
  const engine = knownTools(mcpEngine({ url: server.url, trustAnnotations: true }), { memory, identity: {} });
  await using runtime = createRuntime({ toolsets: [{ name: "far", engine }], approval: { approve: () => "allow-always" } });
  await runtime.open();
  const { results } = await runtime.session().simulate(calls);
  expect([results.map(({ error }) => error?.code), server.asked]).toEqual([calls.map(() => "not_simulatable"), []]);
});

test("F0.35 no instance is created for a session that only simulates", async () => {
  const server = await loopbackMcp(withTools());
  let made = 0;
  const makeEngine = (): Engine => (made++, mcpEngine({ url: server.url }));
  await using runtime = createRuntime({
    toolsets: [{ name: "far", engine: perSession(makeEngine) }],
    approval: { approve: () => "allow-always" },
  });
  await runtime.open();
  await runtime.session().simulate(calls);
  expect([made, called(server)]).toEqual([1, []]);
});

test("F0.35 a question or a sampling request during a simulated read reaches neither a person nor a model", async () => {
  const wants: JsonObject = {
    person: { method: "elicitation/create", params: { message: "Who?", requestedSchema: { type: "object", properties: {} } } },
  };
  const model: JsonObject = { model: { method: "sampling/createMessage", params: { maxTokens: 1 } } };
  const asked: unknown[] = [];
  const sampling: McpSampler = (params) => (asked.push(params), { role: "assistant" });
  let requests = wants;
  const server = await loopbackMcp(
    withTools({
      "tools/call": ({ params }) =>
        params["inputResponses"] === undefined
          ? { resultType: "input_required", inputRequests: requests }
          : text(JSON.stringify(params["inputResponses"])),
    }),
  );
  const engine = mcpEngine({ url: server.url, trustAnnotations: true, sampling });
  const ask = (question: unknown) => (asked.push(question), { action: "decline" as const });
  await using runtime = createRuntime({ toolsets: [{ name: "far", engine }], ask });
  await runtime.open();
  const first = await runtime.session().simulate({ name: "look" });
  requests = model;
  const second = await runtime.session().simulate({ name: "look" });
  expect(first.results).toMatchObject([{ content: [{ text: '{"person":{"action":"cancel"}}' }] }]);
  expect(second.results).toMatchObject([{ error: { code: "execution_failed" } }]);
  expect(asked).toEqual([]);
});
