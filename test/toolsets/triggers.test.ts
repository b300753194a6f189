/** Triggers and channels in the hands of models: what their tools say, refuse and set going. */
import { describe, expect, test } from "vitest";
import { createAgent } from "../../src/compose/agent.ts";
import { delegateTool } from "../../src/compose/delegate/delegate.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import type { RuntimeOptions } from "../../src/runtime/runtime.ts";
import { channelsToolset } from "../../src/toolsets/channels.ts";
import { jobsToolset } from "../../src/toolsets/jobs.ts";
import { triggersToolset } from "../../src/toolsets/triggers.ts";
import type { Trigger } from "../../src/triggers/trigger.ts";
import { createTriggers, type TriggersOptions } from "../../src/triggers/triggers.ts";
import { testRuntime } from "../runtime/bench-runtime.ts";

function bench(options: TriggersOptions = {}, more: RuntimeOptions = {}) {
  const triggers = createTriggers(options);
  const { channels } = triggers;
  const toolsets = [triggersToolset({ triggers }), channelsToolset({ channels }), jobsToolset({ triggers })];
  const made = testRuntime({ toolsets, ...more });
  return { ...made, triggers, channels, session: made.runtime.session("s") };
}

const codeOf = ({ error }: ToolResult): string | undefined => error?.code;
const heardBy = (session: ReturnType<typeof bench>["session"]): readonly unknown[] =>
  session.messages().flatMap((message) => (message.role === "user" ? [message.content] : []));

describe("F1.58 triggers as tools", () => {
  test("a call adds a trigger, returns its id, and the trigger wakes the agent", async () => {
    const { session, triggers, ports } = bench();
    const agent = createAgent({ session, triggers, model: scriptedModel([{ text: "Good morning." }, { text: "Again." }]) });
    agent.start();
    const result = await session.execute({ name: "add_timer", input: { interval: 60, prompt: "Look at the mail." } });
    expect(result).toMatchObject({ status: "ok", output: { trigger_id: "trigger_1" } });
    await ports.clock.advance(60_000);
    await agent.whenIdle();
    expect(heardBy(session)).toEqual(["Look at the mail."]);
    expect(session.messages().at(-1)).toMatchObject({ role: "assistant", content: "Good morning." });
    await ports.clock.advance(60_000);
    await agent.whenIdle();
    expect(heardBy(session)).toEqual(["Look at the mail.", "Look at the mail."]);
    await agent.stop();
    expect(ports.clock.pending).toBe(0);
  });

  test("missing arguments, invalid settings and a name in use are error results", async () => {
    const { session, channels } = bench();
    channels.open("news");
    const call = async (name: string, input: object) => session.execute({ name, input });
    expect(codeOf(await call("add_timer", {}))).toBe("invalid_input");
    expect(codeOf(await call("add_timer", { interval: 0, prompt: "x" }))).toBe("invalid_input");
    expect(codeOf(await call("add_schedule", { prompt: "x" }))).toBe("invalid_input");
    expect(codeOf(await call("add_schedule", { prompt: "x", daily_at: "9:00", hourlyAt: 5 }))).toBeDefined();
    expect((await call("watch_channel", { channel: "nwes" })).error).toMatchObject({ code: "not_found", hint: "Channels: news." });
    expect((await call("add_timer", { interval: 5, prompt: "x", name: "mine" })).output).toEqual({ trigger_id: "mine" });
    expect((await call("add_timer", { interval: 5, prompt: "x", name: "mine" })).error).toMatchObject({
      code: "duplicate",
      message: expect.stringContaining('"mine"'),
    });
    expect(session.triggers).toHaveLength(1);
  });

  test.each([
    ["add_schedule", { prompt: "x", everyMinutes: 5, hourlyAt: 3 }, "Set one of them, and omit the others."],
    ["add_schedule", { prompt: "x", dailyAt: "9 am" }, "It is HH:MM, from 00:00 to 23:59."],
    ["add_schedule", { prompt: "x", dailyAt: "09:00", zone: "Mars" }, "For example Europe/Berlin, America/New_York, UTC."],
    [
      "watch_channel",
      { channel: "news", prompt: "{text}" },
      "Known placeholders: {content}, {channel}, {sender}, {message_id}, {metadata.<key>}. Write {{text}} for the word in braces itself.",
    ],
  ])("the model is told what would work: %s with %j", async (name, input, hint) => {
    const { session, channels } = bench();
    channels.open("news");
    expect((await session.execute({ name, input })).error).toMatchObject({ code: "invalid_input", outcome: "not_started", hint });
    expect(session.triggers).toEqual([]);
  });

  test("a delegate cannot add a trigger, because its session ends with its task", async () => {
    const call = { name: "add_timer", input: { interval: 60, prompt: "x", name: "late" } };
    const model = scriptedModel([{ calls: [call] }, { text: "Done." }]);
    const { session } = bench({}, { tools: [delegateTool({ name: "helper", description: "Helps.", model })] });
    expect((await session.execute({ name: "helper", input: { task: "Wake me." } })).output).toBe("Done.");
    const results = model.requests[1]?.messages.flatMap((message) => (message.role === "result" ? [message.result] : []));
    expect(results).toMatchObject([
      {
        error: {
          code: "unavailable",
          message: "The trigger was not added: this session ends with its task, so nothing could be woken later.",
        },
      },
    ]);
    expect(session.triggers).toEqual([]);
  });

  test("a trigger of a batch that is rolled back stays, and that of a branch is not committed", async () => {
    const fails = { name: "fails", description: "", inputSchema: { type: "object" }, execute: () => Promise.reject(new Error("no")) };
    const { session } = bench({}, { tools: [fails] });
    const add = (name: string) => ({ name: "add_timer", input: { interval: 60, prompt: "x", name } });
    await expect(session.execute([add("kept"), { name: "fails" }], { onError: "throw" })).rejects.toThrow("no");
    const branch = session.fork();
    await branch.execute(add("branch"));
    expect(branch.triggers).toMatchObject([{ id: "branch" }]);
    await branch.commit();
    expect(session.triggers).toMatchObject([{ id: "kept" }]);
  });

  test("triggers are listed and removed by id; those of other sessions are not visible", async () => {
    const { session, runtime } = bench();
    expect((await session.execute({ name: "list_triggers" })).output).toBe("There are no triggers.");
    await session.execute({ name: "add_schedule", input: { dailyAt: "09:00", zone: "UTC", prompt: "x", name: "daily" } });
    expect((await session.execute({ name: "list_triggers" })).output).toBe(
      'daily schedule {"dailyAt":"09:00","zone":"UTC","prompt":"x"}, sent 0',
    );
    const other = runtime.session("other");
    expect((await other.execute({ name: "remove_trigger", input: { trigger_id: "daily" } })).error?.hint).toBe("You have no triggers.");
    expect((await session.execute({ name: "remove_trigger", input: { trigger_id: "dayly" } })).error?.hint).toBe(
      "Your triggers are daily.",
    );
    expect((await session.execute({ name: "remove_trigger", input: { trigger_id: "daily" } })).output).toBe(
      "The trigger daily is removed.",
    );
    expect(session.triggers).toEqual([]);
  });

  test("each universal kind is a tool labelled as a trigger, also a kind of the program's own", async () => {
    const door: Trigger<{ readonly room: string }> = {
      name: "door",
      description: "Wakes you when a door opens.",
      universal: true,
      settingsSchema: { type: "object", properties: { room: { type: "string" } }, required: ["room"], additionalProperties: false },
      start: (context) => void context.fire(`The door of the ${context.settings.room} is open.`),
    };
    const hidden: Trigger = { name: "hidden", description: "Not for models.", settingsSchema: { type: "object" }, start: () => undefined };
    const { session, triggers, runtime, ports } = bench({ kinds: [door, hidden] as readonly Trigger[] });
    const tools = runtime.registry.list().filter(({ toolset }) => toolset.name === "triggers");
    expect(tools.map(({ tool }) => tool.name).sort()).toEqual([
      "add_door",
      "add_schedule",
      "add_timer",
      "list_triggers",
      "remove_trigger",
      "watch_channel",
    ]);
    for (const { tool } of tools) expect(tool.description.startsWith("**Trigger** — ")).toBe(!/list|remove/u.test(tool.name));
    const agent = createAgent({ session, triggers, model: scriptedModel([{ text: "I close it." }]) });
    agent.start();
    await session.execute({ name: "add_door", input: { room: "kitchen" } });
    await ports.clock.advance(0);
    await agent.whenIdle();
    expect(heardBy(session)).toEqual(["The door of the kitchen is open."]);
    await agent.stop();
  });

  test("a call outside of a session is rejected, and a simulated call adds no trigger", async () => {
    const { runtime, session } = bench();
    const call = { name: "add_timer", input: { interval: 5, prompt: "x" } };
    for (let n = 0; n < 8; n++) expect(codeOf(await runtime.execute(call))).toBe("unavailable");
    expect(codeOf(await runtime.session("other").execute(call))).toBe(undefined);
    const { results } = await session.simulate([call]);
    expect([codeOf(results[0] ?? (await runtime.execute(call))), session.triggers]).toEqual(["not_simulatable", []]);
  });

  test("a trigger can be added by a text command", async () => {
    const { session, triggers, ports } = bench();
    const script = scriptedModel([{ text: "[/add_timer]\n@@interval=60\n@@prompt=tick\n@@name=t\n[add_timer/]" }, { text: "Set." }]);
    const agent = createAgent({ session, triggers, model: textToolsModel(script, { format: "bracket" }) });
    agent.start();
    await agent.send("Wake me.");
    await agent.whenIdle();
    expect(session.triggers).toMatchObject([{ id: "t", kind: "timer", settings: { interval: 60, prompt: "tick" } }]);
    await agent.stop();
    expect(ports.clock.pending).toBe(0);
  });
});

describe("F1.47 stop_job", () => {
  test("removes a trigger by its id, and returns not_found for an unknown id", async () => {
    const { session } = bench();
    await session.execute({ name: "add_timer", input: { interval: 5, prompt: "x", name: "mine" } });
    expect((await session.execute({ name: "stop_job", input: { id: "mine" } })).output).toBe("The trigger mine is removed.");
    expect(session.triggers).toEqual([]);
    expect(codeOf(await session.execute({ name: "stop_job", input: { id: "mine" } }))).toBe("not_found");
  });

  test.each([
    ["stop_job", { id: "mail" }],
    ["remove_trigger", { trigger_id: "mail" }],
  ])("F1.62 %s says of a trigger that the program declares that the next start adds it again", async (name, input) => {
    const { session, triggers, ports } = bench();
    triggers.declare({ type: "timer", name: "mail", interval: 5, prompt: "x" });
    const own = triggers.of(session);
    own.start(() => {});
    await ports.clock.advance(0);
    expect((await session.execute({ name, input })).output).toBe(
      "The trigger mail is removed. The program declares it: as long as it does, it is added again at the next start.",
    );
    expect(own.list()).toEqual([]);
    await own.stop();
    own.start(() => {});
    await ports.clock.advance(0);
    expect(own.list()).toMatchObject([{ id: "mail", running: true }]);
    await own.stop();
  });
});

describe("F1.56 send_message", () => {
  test("sends to the session's own channel first, with the real sender, and returns the message id", async () => {
    const { session, channels } = bench({}, { agentName: "planner" });
    const shared = channels.open("notes");
    const own = channels.open("notes", { sessionId: "s" });
    const input = { channel: "notes", message: "hi", metadata: { n: 1 } };
    const result = await session.execute({ name: "send_message", input });
    const [message] = own.history;
    expect(result.output).toEqual({ message_id: message?.id });
    expect(message).toMatchObject({ sender: "planner", senderId: "s", content: "hi", metadata: { n: 1 } });
    expect(shared.history).toEqual([]);
    expect(codeOf(await session.execute({ name: "send_message", input: { ...input, sender: "boss" } }))).toBe("invalid_input");
    expect(own.history.map(({ sender }) => sender)).toEqual(["planner"]);
  });

  test("does not create a channel: an unknown one is an error that lists the existing channels", async () => {
    const { session, channels } = bench();
    channels.open("news", { kind: "broadcast", description: "What is new" });
    const result = await session.execute({ name: "send_message", input: { channel: "nwes", message: "hi" } });
    expect(result.error).toMatchObject({ code: "not_found", message: 'There is no channel "nwes".', hint: "Channels: news." });
    expect((await session.execute({ name: "list_channels" })).output).toBe("news broadcast: What is new");
    expect(channels.list()).toHaveLength(1);
  });

  test("list_channels runs in its order among the messages of a batch", async () => {
    const { session, channels, ports } = bench();
    channels.open("tasks");
    const send = { name: "send_message", input: { channel: "tasks", message: "x" } };
    const list = { name: "list_channels" };
    const results = await ports.clock.run(session.execute([send, list, send, send, list]));
    expect(results.flatMap(({ output }) => (typeof output === "string" ? [output] : []))).toEqual([
      "tasks queue, 1 message waiting",
      "tasks queue, 3 messages waiting",
    ]);
  });

  test("returns resource_busy if a channel stays full, and sends once there is room", async () => {
    const { session, channels, ports } = bench();
    await channels.open("tasks", { capacity: 1 }).send("1", { sender: "Ann" });
    const call = { name: "send_message", input: { channel: "tasks", message: "2" } };
    expect(codeOf(await ports.clock.run(session.execute(call)))).toBe("resource_busy");
    const sending = session.execute(call);
    channels.get("tasks").subscribe("Bob").poll();
    expect((await ports.clock.run(sending)).status).toBe("ok");
    expect(channels.get("tasks").history.map(({ content }) => content)).toEqual(["1", "2"]);
  });
});

test("F1.56 F1.61 two agents talk on a channel, and neither is woken by its own messages", async () => {
  const { runtime, triggers, channels } = bench();
  channels.open("table", { kind: "broadcast" });
  const say = (message: string) => ({ calls: [{ name: "channels::send_message", input: { channel: "table", message } }] });
  const [ann, bob] = [runtime.session("ann"), runtime.session("bob")];
  for (const session of [ann, bob]) await triggers.of(session).add({ type: "channel", channel: "table", prompt: "{sender}: {content}" });
  const agents = [
    createAgent({ session: ann, triggers, model: scriptedModel([say("ping"), { text: "Said." }, { text: "Done." }]) }),
    createAgent({ session: bob, triggers, model: scriptedModel([say("pong"), { text: "Answered." }]) }),
  ];
  for (const agent of agents) agent.start();
  await agents[0]?.send("Begin.");
  const rest = async (): Promise<void> => {
    for (let round = 0; round < 20; round++) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const agent of agents) await agent.whenIdle();
    }
  };
  await rest();
  expect([heardBy(ann), heardBy(bob)]).toEqual([["Begin.", "bob: pong"], ["ann: ping"]]);
  for (const agent of agents) await agent.stop();
});

test.each([triggersToolset, channelsToolset])("a toolset of triggers or channels rejects unknown and missing options", (toolset) => {
  const make = toolset as unknown as (options: object) => unknown;
  expect(() => make({ nope: 1 })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  expect(() => make({})).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});
