import { createAgent, createRuntime, defineTool, type RuntimeSession } from "haft";
import { scriptedModel, type ScriptedReply } from "haft/model";
import { sqliteStore } from "haft/sqlite";
import { memoryStore } from "haft/store";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Agent } from "../../src/compose/agent.ts";
import { ExclusiveAgent } from "../../src/cli/open/exclusive-agent.ts";
import { ToolError } from "../../src/core/error.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { testInCI } from "../test-in-ci.ts";

test("an agent whose session is removed starts a new session", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const agents = new Map<string, Agent>();
  const log: string[] = [];
  const held = new ExclusiveAgent({
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

testInCI("an agent whose session failed with its store continues it once the store accepts events again", async () => {
  const store = new FailingStore();
  const runtime = createRuntime({ store });
  const agents = new Map<string, Agent>();
  const log: string[] = [];
  const held = new ExclusiveAgent({
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

test("an agent that stops while its resumed session waits for an approval leaves the approval to the next process", async () => {
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
  const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
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

test.each([false, true])(
  "an agent stopped while its call waits for approval continues in the next process (a call beside it runs: %j)",
  async (isBusy) => {
    const path = temporaryFile();
    const done: string[] = [];
    const running = Promise.withResolvers<void>();
    const deed = (name: string, destructive: boolean) =>
      defineTool({ name, description: "Does it.", effects: { writes: [name], destructive }, execute: () => (done.push(name), "done") });
    const hang = defineTool({
      name: "hang",
      description: "Hangs.",
      effects: { writes: ["z"] },
      execute: () => (running.resolve(), new Promise<never>(() => {})),
    });
    const log: string[] = [];
    const start = async (replies: ScriptedReply[]) => {
      const store = sqliteStore({ path, synchronous: "normal" });
      const ports = { log: { debug() {}, warn: (line: string) => void log.push(line) } };
      const runtime = createRuntime({ tools: [deed("remove", true), hang], store, approval: { approve: "inbox" }, ports });
      const agents = new Map<string, Agent>();
      const make = (session: RuntimeSession) => createAgent({ session, model: scriptedModel(replies) });
      const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: (line) => void log.push(line) });
      onTestFinished(async () => void (await runtime.close()));
      const starting = held.start();
      return { runtime, agents, held, starting };
    };
    const calls = [{ name: "remove", input: {} }, ...(isBusy ? [{ name: "hang", input: {} }] : [])];
    const first = await start([{ calls }]);
    await first.starting;
    await first.agents.get("clerk")?.send("Remove it.");
    await vi.waitFor(async () => expect(await first.runtime.approvals.pending()).toHaveLength(1));
    if (isBusy) await running.promise;
    await first.held.stop();
    await first.runtime.close();
    const second = await start([{ text: "It is gone." }]);
    const [open] = await vi.waitFor(async () => {
      const pending = await second.runtime.approvals.pending();
      expect(pending).toMatchObject([{ status: "open", toolName: "default::remove" }]);
      return pending;
    });
    if (open !== undefined) await second.runtime.approvals.answer({ id: open.id, digest: open.digest, answer: "allow-once" });
    await second.starting;
    await vi.waitFor(() => expect(second.agents.get("clerk")?.session.messages().at(-1)).toMatchObject({ content: "It is gone." }), 20_000);
    expect(done).toEqual(["remove"]);
    const results = second.agents.get("clerk")?.session.history.map(({ result }) => result?.status);
    expect(results).toEqual(isBusy ? ["ok", "cancelled"] : ["ok"]);
    expect(log.filter((line) => !line.startsWith("resume("))).toEqual([]);
    await second.held.stop();
  },
);

test("L36 an orderly stop leaves the running jobs of an agent in a store in a file, and the next process ends them", async () => {
  const path = temporaryFile();
  let begun = 0;
  const build = defineTool({
    name: "build",
    description: "Builds.",
    effects: { writes: "out", idempotent: true },
    mode: "background",
    execute: async () => (++begun === 2 ? "built" : await new Promise<never>(() => {})),
  });
  const start = async () => {
    const runtime = createRuntime({ tools: [build], store: sqliteStore({ path, synchronous: "normal" }) });
    onTestFinished(async () => void (await runtime.close()));
    const agents = new Map<string, Agent>();
    const make = (session: RuntimeSession) =>
      createAgent({ session, model: scriptedModel([{ calls: [{ name: "build", input: {} }] }, { text: "It is being built." }]) });
    const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
    await held.start();
    return { runtime, held, agent: agents.get("clerk") };
  };
  const first = await start();
  await first.agent?.send("Build it.");
  await vi.waitFor(() => expect(begun).toBe(1));
  await first.held.stop();
  await first.runtime.close();
  const second = await start();
  await vi.waitFor(() => expect(second.agent?.session.history.map(({ result }) => result?.status)).toEqual(["ok"]), 10_000);
  expect(begun).toBe(2);
  await second.held.stop();
});

testInCI("an agent that is stopped while it leaves a lost session does not resume it", async () => {
  const runtime = createRuntime({ store: memoryStore() });
  const agents = new Map<string, Agent>();
  const [leaving, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const make: ConstructorParameters<typeof ExclusiveAgent>[0]["make"] = (session) => {
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
  const held = new ExclusiveAgent({ name: "clerk", runtime, agents, make, log: expect.fail });
  await held.start();
  await runtime.sessions.forget("clerk");
  await leaving.promise;
  const stopped = held.stop();
  left.resolve();
  await stopped;
  expect([resume.mock.calls.length, agents.size]).toEqual([1, 0]);
  await runtime.close();
});
