import { createAgent, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { memoryStore } from "haft/store";
import { expect, test } from "vitest";
import type { Agent } from "../../src/compose/agent.ts";
import { HeldAgent } from "../../src/cli/held-agent.ts";
import { ToolError } from "../../src/core/error.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";

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

test("an agent whose session the store failed goes on with it once the store takes events again", async () => {
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
