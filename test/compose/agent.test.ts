/** Agents: woken by messages and jobs, one run at a time, nothing heard twice or lost. */
import { expect, test } from "vitest";
import { createRuntime } from "../../src/index.ts";
import { createAgent } from "../../src/compose/agent.ts";
import type { LoopResult } from "../../src/compose/loop-result.ts";
import type { Model, ModelRequest } from "../../src/core/model.ts";
import type { Tool } from "../../src/core/tool.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { MemoryLog, settle } from "../../src/testing/fake-ports.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { temporaryFile } from "../store/temporary-file.ts";
import { FailingStore } from "../runtime/session/failing-store.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

const named = (name: string): Pick<Tool, "name" | "description" | "inputSchema"> => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object" },
});

/** A model that answers each request with what it heard last. */
function echo(): { readonly model: Model; readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: "echo",
    stream: (request, options) => {
      requests.push(request);
      const heard = request.messages.findLast(({ role }) => role === "user" || role === "job");
      const text = heard !== undefined && "content" in heard ? `I heard: ${String(heard.content)}` : "I heard nothing.";
      return scriptedModel([{ text }]).stream(request, options);
    },
  };
  return { model, requests };
}

test("a message wakes the agent, and messages sent meanwhile are handled in order", async () => {
  await using runtime = createRuntime({ tools: [] });
  const session = runtime.session();
  const { model, requests } = echo();
  const results: LoopResult[] = [];
  const agent = createAgent({ session, model, onResult: (result) => results.push(result) });
  expect(agent.state).toBe("stopped");
  await agent.send("one");
  expect([agent.state, session.inbox.length]).toEqual(["stopped", 1]);
  agent.start();
  const more = [agent.send("two"), agent.send("three")];
  await Promise.all(more);
  await agent.whenIdle();
  expect(session.inbox).toEqual([]);
  expect(session.messages().flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual(["one", "two", "three"]);
  expect(results.at(-1)?.text).toBe("I heard: three");
  expect(agent.state).toBe("idle");
  const before = requests.length;
  await agent.stop();
  await agent.send("four");
  expect([requests.length, agent.state, session.inbox.length]).toEqual([before, "stopped", 1]);
});

test("F1.28 the end of a job wakes the agent, unless its tool has notify: false", async () => {
  const loud = Promise.withResolvers<string>();
  const quiet = Promise.withResolvers<string>();
  const tools: Tool[] = [
    { ...named("loud"), effects: { reads: [], writes: [] }, mode: "background", execute: () => loud.promise },
    { ...named("quiet"), effects: { reads: [], writes: [] }, mode: "background", notify: false, execute: () => quiet.promise },
  ];
  await using runtime = createRuntime({ tools });
  const session = runtime.session();
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  const [one, other] = await session.execute([{ name: "loud" }, { name: "quiet" }]);
  quiet.resolve("psst");
  await runtime.jobs.wait(other?.callId ?? "");
  await agent.whenIdle();
  expect(requests).toHaveLength(0);
  expect(session.messages().at(-1)).toMatchObject({ role: "job", result: { output: "psst" } });
  loud.resolve("boom");
  await runtime.jobs.wait(one?.callId ?? "");
  await agent.whenIdle();
  expect(requests).toHaveLength(1);
  expect(session.messages().at(-1)).toMatchObject({ role: "assistant", content: expect.stringContaining("boom") });
});

test("a question of a stateful job wakes the agent", async () => {
  const talk: Tool = {
    ...named("talk"),
    mode: "stateful",
    execute: async function* () {
      const answer: unknown = yield "Which one?";
      return answer;
    },
  };
  await using runtime = createRuntime({ tools: [talk] });
  const session = runtime.session();
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  const { callId } = await session.execute({ name: "talk" });
  await runtime.jobs.wait(callId, { untilAsked: true });
  await settle();
  await agent.whenIdle();
  expect(requests).toHaveLength(1);
  expect(session.messages().at(-1)).toMatchObject({ content: expect.stringContaining("Which one?") });
  await agent.stop();
});

test("an acknowledged message survives a crash and is handled once", async () => {
  const store = new FailingStore();
  const before = testRuntime({ store }).runtime.session("s");
  await before.addMessage({ role: "user", content: "begin" });
  const sleeping = createAgent({ session: before, model: echo().model });
  await sleeping.send("remember me", { sender: "a timer" });
  const crashed = store.crash();
  const { runtime } = testRuntime({ store: crashed });
  const session = await runtime.resume("s");
  expect(session.inbox).toMatchObject([{ sender: "a timer", message: { content: "remember me" } }]);
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  await agent.whenIdle();
  expect(requests.at(-1)?.messages.flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual([
    "begin",
    "remember me",
  ]);
  await session.eventLog?.whenDurable();
  const again = testRuntime({ store: crashed.crash() });
  const third = await again.runtime.resume("s");
  expect(third.inbox).toEqual([]);
  const after = echo();
  const rested = createAgent({ session: third, model: after.model });
  rested.start();
  await rested.whenIdle();
  expect(after.requests).toHaveLength(0); // it was answered
});

test("two agents of one session add each message of its inbox to the conversation once", async () => {
  await using runtime = createRuntime({ tools: [] });
  const session = runtime.session();
  const [one, other] = [createAgent({ session, model: echo().model }), createAgent({ session, model: echo().model })];
  one.start();
  other.start();
  await Promise.all([one.send("one"), other.send("two"), one.send("three")]);
  await Promise.all([one.whenIdle(), other.whenIdle()]);
  other.wake();
  await other.whenIdle();
  expect(session.messages().flatMap((message) => (message.role === "user" ? [message.content] : []))).toEqual(["one", "two", "three"]);
});

test("a run that was interrupted by a crash continues when the agent starts", async () => {
  await using runtime = createRuntime({ tools: [] });
  const session = runtime.session();
  await session.addMessage({ role: "user", content: "still open" });
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  await agent.whenIdle();
  expect(requests).toHaveLength(1);
});

test("an agent does not retry a failing model endlessly", async () => {
  await using runtime = createRuntime({ tools: [] });
  const session = runtime.session();
  let asked = 0;
  const model: Model = {
    name: "down",
    stream: () => {
      asked++;
      throw new Error("down");
    },
  };
  const results: LoopResult[] = [];
  const agent = createAgent({ session, model, onResult: (result) => results.push(result) });
  agent.start();
  await agent.send("hello");
  await agent.whenIdle();
  expect([asked, results.map(({ reason }) => reason), agent.state]).toEqual([1, ["model-error"], "idle"]);
});

test.each(["refusal", "content-filter", "length"] as const)(
  "a message sent during a run that ends with %s is handled by the next run",
  async (finish) => {
    await using runtime = createRuntime({ tools: [] });
    const session = runtime.session();
    const reasons: string[] = [];
    const model = scriptedModel(async (_, index) => {
      if (index > 0) return { text: "Here." };
      await agent.send("Something else.");
      return { text: "No.", finish };
    });
    const agent = createAgent({ session, model, onResult: ({ reason }) => reasons.push(reason) });
    agent.start();
    await agent.send("Something.");
    await agent.whenIdle();
    expect([reasons, session.inbox]).toEqual([[finish, "answered"], []]);
  },
);

test("an error thrown by onResult is logged and not passed to onError, and the agent continues", async () => {
  const log = new MemoryLog();
  await using runtime = createRuntime({ tools: [], ports: { log } });
  const session = runtime.session();
  const { model, requests } = echo();
  let hasFailed = false;
  const agent = createAgent({
    session,
    model,
    onResult: () => {
      throw new Error("mine");
    },
    onError: ({ message }) => {
      throw new Error(`mine of ${message}`);
    },
    system: () => {
      if (requests.length === 1 && !hasFailed) throw ((hasFailed = true), new Error("no prompt"));
      return "Help.";
    },
  });
  agent.start();
  for (const message of ["one", "two", "three"]) {
    await agent.send(message);
    await agent.whenIdle();
  }
  expect(requests).toHaveLength(2);
  expect(log.lines.map(({ message }) => message)).toEqual([
    "onResult of an agent threw: mine",
    "onError of an agent threw: mine of no prompt",
    "onResult of an agent threw: mine",
  ]);
  expect(session.inbox).toEqual([]);
});

test("F1.28 the end of a job with notify: false does not wake an agent that starts later either", async () => {
  const quiet: Tool = { ...named("quiet"), mode: "background", notify: false, execute: () => "psst" };
  await using runtime = createRuntime({ tools: [quiet] });
  const session = runtime.session();
  const { callId } = await session.execute({ name: "quiet" });
  await runtime.jobs.wait(callId);
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  await agent.whenIdle();
  expect([requests.length, session.messages().at(-1)]).toMatchObject([0, { role: "job", notify: false }]);
});

test("a run woken by a job, or by a message sent from a call, is not nested in that job or call", async () => {
  const talk: Tool = {
    ...named("talk"),
    mode: "stateful",
    effects: { writes: "a" },
    async *execute(): AsyncGenerator<string, unknown, unknown> {
      await new Promise((resolve) => setImmediate(resolve));
      return yield "Which?";
    },
  };
  const look: Tool = { ...named("look"), effects: { reads: "b", writes: [] }, execute: () => "seen" };
  const tell: Tool = { ...named("tell"), effects: { writes: "c" }, execute: () => agent.send("Look.").then(() => "told") };
  await using runtime = createRuntime({ tools: [talk, look, tell] });
  const session = runtime.session();
  const calls = (name: string) => ({ calls: [{ name: `default::${name}`, input: {} }] });
  const model = scriptedModel([calls("look"), { text: "It asks." }, calls("look"), { text: "I looked." }]);
  const agent = createAgent({ session, model });
  agent.start();
  await session.execute({ name: "talk" });
  await settle();
  await agent.whenIdle();
  await runtime.session().execute({ name: "tell" });
  await settle();
  await agent.whenIdle();
  const looks = session.log.filter((event) => event.type === "call-start" && event.call.name === "default::look");
  expect(looks).toHaveLength(2);
  for (const event of looks) expect(event).not.toHaveProperty("parentCallId");
  await agent.stop();
});

test("listeners of agents and loops that reject are logged like those that throw", async () => {
  const log = new MemoryLog();
  await using runtime = createRuntime({ tools: [], ports: { log } });
  const { model } = echo();
  const reject = (() => Promise.reject(new Error("late"))) as () => void;
  const agent = createAgent({ session: runtime.session(), model, onResult: reject, onEvent: reject });
  agent.start();
  await agent.send("one");
  await agent.whenIdle();
  await settle();
  const said = log.lines.map(({ message }) => message);
  expect(said).toContain("onResult of an agent threw: late");
  expect(said).toContain("A listener of a loop threw on round-start: late");
});

test("decide rejects an invalid decision, as Loop.resume does", async () => {
  await using runtime = createRuntime({ tools: [] });
  const { model } = echo();
  const agent = createAgent({ session: runtime.session(), model, onError: () => {} });
  agent.start();
  await expect(agent.decide({ decisions: { bogus: "deny" } })).rejects.toMatchObject({ code: "invalid_argument" });
  await agent.stop();
});

test.each([{}, { bogus: "deny" }] as const)("a message sent during a decide call with the decisions %j is answered", async (decisions) => {
  await using runtime = createRuntime({ tools: [] });
  const session = runtime.session();
  const { model, requests } = echo();
  const agent = createAgent({ session, model, onError: () => {} });
  agent.start();
  const decided = agent.decide({ decisions }).catch(() => {});
  await agent.send("hello");
  await decided;
  await agent.whenIdle();
  expect([requests.length, session.inbox]).toEqual([1, []]);
});

/** The requests of an agent that starts after another one of its session has stopped. */
async function requestsOfNext(first: Model, tools: readonly Tool[]): Promise<number> {
  await using runtime = createRuntime({ tools });
  const session = runtime.session();
  const agent = createAgent({ session, model: first });
  agent.start();
  await agent.send("Go.");
  await agent.whenIdle();
  await agent.stop();
  const { model, requests } = echo();
  const next = createAgent({ session, model });
  next.start();
  await next.whenIdle();
  return requests.length;
}

test("a starting agent does not continue a turn that a tool or an empty answer ended, but continues one whose model failed", async () => {
  const rest: Tool = { ...named("rest"), endsTurn: true, execute: () => "resting" };
  const look: Tool = { ...named("look"), execute: () => "seen" };
  const calls = (...names: string[]) => ({ calls: names.map((name) => ({ name: `default::${name}`, input: {} })) });
  expect(await requestsOfNext(scriptedModel([calls("look", "rest")]), [look, rest])).toBe(0);
  expect(await requestsOfNext(scriptedModel([calls("look"), { text: "" }]), [look])).toBe(0);
  const failing = scriptedModel((_, index) => {
    if (index === 0) return calls("look");
    throw new Error("The provider is down.");
  });
  expect(await requestsOfNext(failing, [look])).toBe(1);
});

test("a message left unanswered by a crash is answered even if a job with notify: false ended after it", async () => {
  const done = Promise.withResolvers<string>();
  const quiet: Tool = { ...named("quiet"), mode: "background", notify: false, execute: () => done.promise };
  await using runtime = createRuntime({ tools: [quiet] });
  const session = runtime.session();
  const { callId } = await session.execute({ name: "quiet" });
  await session.addMessage({ role: "user", content: "still open" });
  done.resolve("psst");
  await runtime.jobs.wait(callId);
  const { model, requests } = echo();
  const agent = createAgent({ session, model });
  agent.start();
  await agent.whenIdle();
  expect(requests).toHaveLength(1);
});

/** A tool that takes a while to end when its call is cancelled. */
const slow: Tool = {
  ...named("slow"),
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => setImmediate(() => setImmediate(() => reject(signal.reason as Error)))),
    ),
};

test.each(["cancel", "stop and start"] as const)(
  "a message sent while a run is still ending after %s is answered by the next run",
  async (how) => {
    await using runtime = createRuntime({ tools: [slow] });
    const session = runtime.session();
    const model = scriptedModel([{ calls: [{ name: "slow", input: {} }] }, { text: "second" }]);
    const results: string[] = [];
    const agent = createAgent({ session, model, onResult: ({ reason, text }) => results.push(`${reason} ${text}`.trim()) });
    agent.start();
    await agent.send("one");
    while (runtime.running.length === 0) await settle();
    if (how === "cancel") {
      expect(agent.cancel("pressed")).toBe(true);
      await agent.send("two");
    } else {
      await agent.send("two");
      void agent.stop();
      agent.start();
    }
    while (results.length < 2) await new Promise((resolve) => setImmediate(resolve));
    await agent.whenIdle();
    expect([results, session.inbox.length]).toEqual([["cancelled", "answered second"], 0]);
    await agent.stop();
  },
);

test("an agent whose call waits for approval in the inbox is waiting, not running, and runs again after the answer", async () => {
  const asked = Promise.withResolvers<void>();
  const tool: Tool = { ...named("remove"), effects: { destructive: true }, execute: () => "removed" };
  await using runtime = createRuntime({
    tools: [tool],
    store: memoryStore(),
    approval: { approve: "inbox" },
    onEvent: ({ type }) => (type === "approval-ask" ? asked.resolve() : undefined),
  });
  const states: string[] = [];
  const model = scriptedModel([{ calls: [{ name: "remove", input: {} }] }, { text: "Gone." }]);
  const agent = createAgent({
    session: runtime.session(),
    model,
    onEvent: ({ type }) => (type === "round-end" ? states.push(agent.state) : undefined),
  });
  agent.start();
  await agent.send("Remove it.");
  await asked.promise;
  expect(agent.state).toBe("waiting");
  for (const { callId, digest } of await runtime.approvals.pending())
    await runtime.approvals.answer({ callId, digest, answer: "allow-once" });
  await agent.whenIdle();
  expect([states, agent.state, agent.session.messages().at(-1)]).toEqual([
    ["running", "running"],
    "idle",
    expect.objectContaining({ role: "assistant" }),
  ]);
  await agent.stop();
});

test("an agent whose session id already exists in the store reports an error when it is started, and is stopped", async () => {
  const path = temporaryFile();
  await using first = createRuntime({ tools: [], store: sqliteStore({ path }) });
  const earlier = createAgent({ session: first.session("ann"), model: echo().model });
  await earlier.send("one");
  await earlier.session.close();
  const log = new MemoryLog();
  await using second = createRuntime({ tools: [], store: sqliteStore({ path }), ports: { log } });
  const errors: unknown[] = [];
  for (const onError of [undefined, (error: unknown) => errors.push(error)]) {
    const agent = createAgent({ session: second.session("ann"), model: echo().model, ...(onError === undefined ? {} : { onError }) });
    agent.start();
    await expect(agent.session.ready).rejects.toMatchObject({ code: "duplicate" });
    await settle();
    expect(agent.state).toBe("stopped");
    await expect(agent.session.close()).rejects.toMatchObject({ code: "duplicate" });
  }
  expect(errors).toMatchObject([{ code: "duplicate" }]);
  expect(log.lines.map(({ message }) => message)).toEqual([
    'An agent cannot run: A session "ann" already exists; nothing was written to it. Continue it with runtime.resume("ann"), or choose another id.',
  ]);
  const agent = createAgent({ session: await second.resume("ann", { create: true }), model: echo().model });
  agent.start();
  await agent.whenIdle();
  expect(agent.session.messages().map(({ role }) => role)).toEqual(["user", "assistant"]);
});

test.each([
  [{ onResults: () => {} }, 'createAgent() has no option "onResults".'],
  [{ maxRounds: 3 }, 'createAgent() has no option "maxRounds".'],
  [{ maxTurns: 3 }, 'createAgent() has no option "maxTurns".'],
  [{ onError: "log" }, 'The option "onError" of createAgent() must be a function'],
])("an option that no agent has is reported as one of createAgent: %o", (wrong, message) => {
  const { model } = echo();
  const options = { model, session: createRuntime({}).session(), ...wrong };
  expect(() => createAgent(options as Parameters<typeof createAgent>[0])).toThrow(message);
});
