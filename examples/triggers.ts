import assert from "node:assert/strict";
import { createAgent, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { fakePorts } from "haft/testing";
import { channelsToolset, createChannels, createTriggers, triggersToolset } from "haft/triggers";

const ports = fakePorts(); // its virtual clock advances only when this program says so
const channels = createChannels({ ports });
const news = channels.open("news", { kind: "broadcast" });
const triggers = createTriggers({ channels });
const runtime = createRuntime({ ports, toolsets: [triggersToolset({ triggers }), channelsToolset({ channels })] });
const session = runtime.session("assistant");
const model = scriptedModel([
  { calls: [{ name: "triggers::add_timer", input: { interval: 3600, prompt: "Look at the mail.", name: "mail" } }] },
  { text: "I look every hour." },
  { text: "No mail." },
  { text: "I take an umbrella." },
]);
const agent = createAgent({ session, model, triggers, onResult: ({ text }) => console.log(`agent: ${text}`) });
agent.start();
await agent.send("Look at my mail every hour.");
await agent.whenIdle();

await ports.clock.advance(3_600_000);
await agent.whenIdle();

const mine = triggers.of(session); // the triggers of this session, for use in code
await mine.add({ type: "channel", channel: "news", name: "rain", prompt: "{sender} says: {content}" });
await news.send("It rains.", { sender: "station" });
await ports.clock.advance(0);
await agent.whenIdle();

console.log(mine.list().map(({ id, type, sent }) => `${id}: ${type}, ${sent} sent`));
await mine.remove("mail");
await ports.clock.advance(86_400_000);
assert.equal(agent.state, "idle"); // a removed trigger never fires
await agent.stop();
await runtime.close();

/* Prints:
agent: I look every hour.
agent: No mail.
agent: I take an umbrella.
[ 'mail: timer, 1 sent', 'rain: channel, 1 sent' ]
*/
