/** One agent leads others: it spawns them, gives them a channel and asks for their status. They cannot call these tools. */
import assert from "node:assert/strict";
import { createAgent, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { fakePorts } from "haft/testing";
import { channelsToolset, createChannels, createTriggers } from "haft/triggers";
import { groupToolset, type GroupOptions } from "./group/group-tools.ts";

const call = (name: string, input: object = {}) => ({ name, input });
const draft = call("channels::send_message", { channel: "desk", message: "Haft: a handle for tools." });
const models = new Map([
  ["writer", scriptedModel([{ text: "Ready." }, { calls: [draft] }, { text: "It is on the desk." }])],
  ["critic", scriptedModel([{ text: "Ready." }, { calls: [call("group::status")] }, { text: "A good title." }])],
]);
const ports = fakePorts(); // its virtual clock advances only when this program says so
const channels = createChannels({ ports });
const triggers = createTriggers({ channels });
const options: GroupOptions = {
  leader: "lead",
  channels,
  triggers,
  runtime: () => runtime,
  modelOf: (name) => models.get(name) ?? scriptedModel([]),
  onSaid: (name, text) => console.log(`${name}: ${text}`),
};
const runtime = createRuntime({ ports, toolsets: [channelsToolset({ channels }), groupToolset(options)] });

const wire = (name: string) => call("group::wire", { channel: "desk", name });
const model = scriptedModel([
  { calls: ["writer", "critic"].map((name) => call("group::spawn", { name, task: "Be ready." })) },
  { calls: [call("group::channel", { channel: "desk" }), wire("writer"), wire("critic")] },
  { calls: [call("group::status"), call("group::send", { name: "writer", message: "Write a title." })] },
  { text: "They work." },
]);
const lead = createAgent({ session: runtime.session("lead"), model, onResult: ({ text }) => console.log(`lead: ${text}`) });
lead.start();
await lead.send("Get a title.");
await lead.whenIdle();
for (let turn = 0; turn < 20; turn++) await ports.clock.advance(0);

const critic = runtime.sessions.get("lead/critic");
assert.equal(critic?.history[0]?.result?.error?.code, "permission_denied"); // its call of group::status was denied
const { error } = await runtime.session("other").execute(call("group::status"));
console.log(error?.message);
await lead.stop();
await runtime.close();

/* Prints:
writer: Ready.
critic: Ready.
lead: They work.
writer: It is on the desk.
critic: A good title.
Only the session that leads the group may do this.
*/
