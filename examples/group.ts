/** One agent leads others: it spawns them, gives them a channel and asks how they are. They have none of these tools. */
import assert from "node:assert/strict";
import { createAgent, createRuntime, type Runtime } from "haft";
import { scriptedModel } from "haft/model";
import { fakePorts } from "haft/testing";
import { channelsToolset, createChannels, createTriggers } from "haft/triggers";
import { groupToolset } from "./group/group-tools.ts";

const ports = fakePorts(); // time that this program moves on by hand
const channels = createChannels({ ports });
const triggers = createTriggers({ channels });
const models = new Map([
  ["writer", scriptedModel([{ text: "I write." }, { calls: [say("Draft: Haft.")] }, { text: "It is on the desk." }])],
  ["critic", scriptedModel([{ text: "I wait." }, { calls: [{ name: "group::spawn", input: { name: "me", task: "x" } }] }, { text: "Good." }])],
]);
const runtime: Runtime = createRuntime({
  ports,
  toolsets: [
    channelsToolset({ channels }),
    groupToolset({
      leader: "lead",
      channels,
      triggers,
      runtime: () => runtime,
      modelOf: (name) => models.get(name) ?? scriptedModel([]),
      onSaid: (name, text) => console.log(`${name}: ${text}`),
    }),
  ],
});
const group = (name: string, input: object = {}) => ({ name: `group::${name}`, input });
const model = scriptedModel([
  { calls: [group("spawn", { name: "writer", task: "Write a title." }), group("spawn", { name: "critic", task: "Read what is written." })] },
  { calls: [group("channel", { channel: "desk" }), group("wire", { channel: "desk", name: "writer" }), group("wire", { channel: "desk", name: "critic" })] },
  { calls: [group("send", { name: "writer", message: "Put it on the desk." }), group("status")] },
  { text: "They work." },
]);
const lead = createAgent({ session: runtime.session("lead"), model, onResult: ({ text }) => console.log(`lead: ${text}`) });
lead.start();
await lead.send("Get a title.");
await lead.whenIdle();
for (let turn = 0; turn < 20; turn++) await ports.clock.advance(0);

const critic = runtime.sessions.get("lead/critic");
assert.equal(critic?.history[0]?.result?.error?.code, "permission_denied"); // it may not spawn anybody
console.log(await runtime.session("other").execute(group("status")).then(({ error }) => error?.message));
await lead.stop();
await runtime.close();

function say(message: string) {
  return { name: "channels::send_message", input: { channel: "desk", message } };
}
