import { createAgent, createRuntime, defineTool } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { expect, test, vi } from "vitest";
import type { Agent } from "../../src/compose/agent.ts";
import { HeldAgent } from "../../src/cli/open/held-agent.ts";
import { ToolError } from "../../src/core/error.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { testInCI } from "../test-in-ci.ts";

test("an agent whose session is removed begins a new one", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const agents = new Map<string, Agent>();
  const log: string[] = [];
  const held = new HeldAgent({
    name: "clerk",
    runtime,
    agents,
    make: (session) => createAgent({ session, model: scriptedModel([{ text: "Here." }]) }),
    log: (message) => log.push(message),
  });
  await held.start();
  const first = agents.get("clerk");
  await runtime.sessions.forget("clerk");
  expect(first?.session.closed).toBe(true);
  await expect.poll(() => agents.get("clerk")?.session.closed, { timeout: 10_000 }).toBe(false);
  const agent = agents.get("clerk");
  await agent?.send("Are you there?");
  await agent?.whenIdle();
  expect(agent?.session.messages().at(-1)).toMatchObject({ role: "assistant", content: "Here." });
  expect(log).toEqual([]);
  await held.stop();
  await runtime.close();
});

testInCI("an agent whose session the store failed goes on with it once the store takes events again", async () => {
  const store = new FailingStore();
  const runtime = createRuntime({ store });
  const agents = new Map<string, Agent>();
  const log: string[] = [];
  const held = new HeldAgent({
    name: "clerk",
    runtime,
    agents,
    make: (session) => createAgent({ session, model: scriptedModel([{ text: "Here." }]) }),
    log: (message) => log.push(message),
  });
  await held.start();
  const first = agents.get("clerk");
  store.appendError = new ToolError("store_failed", "The disk is full.");
  await expect(first?.send("Are you there?")).rejects.toThrow("The disk is full.");
  store.appendError = undefined;
  await expect.poll(() => agents.has("clerk") && agents.get("clerk") !== first, { timeout: 10_000 }).toBe(true);
  const agent = agents.get("clerk");
  await agent?.send("Are you there?");
  await agent?.whenIdle();
  expect(agent?.session.messages().at(-1)).toMatchObject({ role: "assistant", content: "Here." });
  expect(log).toEqual([]);
  await held.stop();
  await runtime.close();
});

test("an agent whose session waits for an approval while it is resumed stops, and leaves the question to the next process", async () => {
  const store = memoryStore();
  const remove = defineTool({
    name: "remove",
    description: "Removes.",
    effects: { writes: ["x"], destructive: true },
    execute: () => "removed",
  });
  const runtimeOf = () => createRuntime({ tools: [remove], store, approval: { approve: "inbox" } });
  const askedTimes = async () => (await store.read("clerk")).events.filter(({ type }) => type === "approval-ask").length;
  const [gone, runtime] = [runtimeOf(), runtimeOf()];
  void gone.session("clerk").execute({ name: "remove", input: {} });
  await vi.waitFor(async () => expect(await askedTimes()).toBe(1));
  const resume = runtime.resume.bind(runtime);
  runtime.resume = (id, options) => resume(id, { ...options, takeOver: true }); // the other process is gone
  const agents = new Map<string, Agent>();
  const make = () => expect.fail("the agent was started");
  const held = new HeldAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
  const starting = expect(held.start()).rejects.toMatchObject({ code: "conflict" });
  await vi.waitFor(async () => expect(await askedTimes()).toBe(2));
  await held.stop();
  await starting;
  expect(runtime.sessions.resuming).toEqual([]);
  expect((await store.read("clerk")).events.map(({ type }) => type)).toEqual([
    "session-start",
    "call-start",
    "approval-ask",
    "approval-ask",
  ]);
  expect(await runtime.approvals.pending()).toMatchObject([{ sessionId: "clerk", status: "open" }]);
  await runtime.close();
});

testInCI("an agent that is stopped while it leaves a lost session does not take it up again", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const agents = new Map<string, Agent>();
  const [leaving, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const make: ConstructorParameters<typeof HeldAgent>[0]["make"] = (session) => {
    const agent = createAgent({ session, model: scriptedModel([]) });
    const stop = agent.stop.bind(agent);
    agent.stop = async () => {
      leaving.resolve();
      await left.promise;
      await stop();
    };
    return agent;
  };
  const resume = vi.spyOn(runtime, "resume");
  const held = new HeldAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
  await held.start();
  await runtime.sessions.forget("clerk");
  await leaving.promise;
  const stopped = held.stop();
  left.resolve();
  await stopped;
  expect([resume.mock.calls.length, agents.size]).toEqual([1, 0]);
  await runtime.close();
});
