/** An agent that makes and wires others (seed 001): the tools of `examples/group`, which only the session that leads the group has. */
import { expect, onTestFinished, test } from "vitest";
import { groupToolset, WITHOUT_GROUP } from "../../examples/group/group-tools.ts";
import { createAgent } from "../../src/compose/agent.ts";
import { modelTools } from "../../src/compose/prompt/model-tools.ts";
import type { ToolResult } from "../../src/core/result.ts";
import { scriptedModel, type ScriptedReply } from "../../src/model/scripted-model.ts";
import { createRuntime, type Runtime } from "../../src/compose/loop-runtime.ts";
import { fakePorts } from "../../src/testing/fake-ports.ts";
import { channelsToolset } from "../../src/toolsets/channels.ts";
import { createChannels } from "../../src/triggers/channels.ts";
import { createTriggers } from "../../src/triggers/triggers.ts";

function bench(replies: Readonly<Record<string, readonly ScriptedReply[]>> = {}) {
  const ports = fakePorts();
  const channels = createChannels({ ports });
  const triggers = createTriggers({ channels });
  const models = new Map(Object.entries(replies).map(([name, script]) => [name, scriptedModel(script)]));
  const said: string[] = [];
  const group = groupToolset({
    leader: "lead",
    channels,
    triggers,
    runtime: () => runtime,
    modelOf: (name) => models.get(name) ?? scriptedModel(Array.from({ length: 9 }, () => ({ text: "yes" }))),
    onSaid: (name, text) => said.push(`${name}: ${text}`),
  });
  const runtime: Runtime = createRuntime({ ports, toolsets: [channelsToolset({ channels }), group] });
  onTestFinished(async () => void (await runtime.close()));
  const lead = runtime.session("lead");
  const run = (name: string, input: object = {}): Promise<ToolResult> => lead.execute({ name: `group::${name}`, input });
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await ports.clock.advance(0);
  };
  return { runtime, channels, models, said, run, settle };
}

const GROUP_TOOLS = ["group__channel", "group__send", "group__spawn", "group__status", "group__wire"];

test("F1.63 privileged-only tools are absent for other sessions: not shown to their models, and refused whoever calls them", async () => {
  const attempt = { calls: [{ name: "group::spawn", input: { name: "me", task: "x" } }] };
  const { runtime, models, run, settle } = bench({ node: [attempt, { text: "no" }] });
  await run("spawn", { name: "node", task: "Try." });
  await settle();

  const shown = models.get("node")?.requests[0]?.tools?.map(({ name }) => name) ?? [];
  expect(shown).toEqual(expect.arrayContaining(["channels::send_message"]));
  expect(shown.filter((name) => name.startsWith("group"))).toEqual([]);
  expect(runtime.sessions.get("lead/node")?.history[0]?.result?.error?.code).toBe("permission_denied");
  for (const session of [runtime.session("other"), runtime]) {
    const result = await session.execute({ name: "group::spawn", input: { name: "me", task: "x" } });
    expect(result.error).toMatchObject({ code: "permission_denied", message: "Only the session that leads the group may do this." });
  }
  expect(runtime.sessions.get("lead/me")).toBeUndefined();
  const names = (allow?: typeof WITHOUT_GROUP) =>
    modelTools(runtime.registry, allow === undefined ? {} : { allow })
      .map(({ name }) => name.replace("::", "__"))
      .filter((name) => name.startsWith("group"))
      .sort();
  expect([names(), names(WITHOUT_GROUP)]).toEqual([GROUP_TOOLS, []]);
});

test("F1.63 an agent is spawned with its task, wired to a channel, woken by what others write there, asked for its status and sent a message", async () => {
  const write = { calls: [{ name: "channels::send_message", input: { channel: "desk", message: "Draft." } }] };
  const { said, run, settle, runtime, channels } = bench({
    writer: [{ text: "ready" }, write, { text: "written" }],
    critic: [{ text: "ready" }, { text: "Read it." }],
  });
  for (const name of ["writer", "critic"]) expect((await run("spawn", { name, task: "Be ready." })).output).toEqual({ name });
  await run("channel", { channel: "desk" });
  for (const name of ["writer", "critic"]) expect((await run("wire", { channel: "desk", name })).status).toBe("ok");
  await settle();
  expect((await run("status")).output).toEqual([
    { name: "writer", state: "idle" },
    { name: "critic", state: "idle" },
  ]);
  expect((await run("send", { name: "writer", message: "Write." })).status).toBe("ok");
  await settle();

  expect(said).toEqual(["writer: ready", "critic: ready", "writer: written", "critic: Read it."]);
  const heard =
    runtime.sessions
      .get("lead/critic")
      ?.messages()
      .filter(({ role }) => role === "user") ?? [];
  expect(heard.map((message) => "content" in message && message.content)).toEqual(["Be ready.", "lead/writer writes on desk: Draft."]);
  expect(channels.find("desk", "other")).toBeUndefined();
});

test("F1.63 unknown agents, a name that is taken, an unknown channel and empty words are refused, and nothing is spawned twice", async () => {
  const { run, runtime } = bench();
  await run("spawn", { name: "ann", task: "Wait." });
  const codes: unknown[] = [];
  for (const [name, input] of [
    ["spawn", { name: "ann", task: "Again." }],
    ["spawn", { name: "", task: "x" }],
    ["send", { name: "bob", message: "Hi." }],
    ["wire", { channel: "desk", name: "ann" }],
    ["wire", { channel: "desk", name: "bob" }],
  ] as const)
    codes.push((await run(name, input)).error?.code);
  expect(codes).toEqual(["duplicate", "invalid_input", "not_found", "not_found", "not_found"]);
  expect((await run("status")).output).toEqual([{ name: "ann", state: expect.any(String) }]);
  expect(runtime.sessions.get("lead/ann")).toBeDefined();
});

test("F1.63 a leader is an agent like any other", async () => {
  const { runtime, said, settle } = bench({ ann: [{ text: "Done." }] });
  const spawn = { calls: [{ name: "group::spawn", input: { name: "ann", task: "Do it." } }] };
  const session = runtime.sessions.get("lead");
  if (session === undefined) return;
  const lead = createAgent({ session, model: scriptedModel([spawn, { text: "She does it." }]), onResult: ({ text }) => said.push(text) });
  lead.start();
  await lead.send("Get it done.");
  await lead.whenIdle();
  await settle();
  expect(said.toSorted()).toEqual(["She does it.", "ann: Done."]);
  await lead.stop();
});
