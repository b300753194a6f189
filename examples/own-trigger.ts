import { createAgent, createRuntime } from "haft";
import { scriptedModel } from "haft/model";
import { createTriggers, triggersToolset, type Trigger } from "haft/triggers";

let ring = (): void => {};
const bell: Trigger<{ readonly door: string }> = {
  name: "bell",
  description: "Wakes you when somebody rings at a door.",
  universal: true, // offers it to the model as the tool add_bell
  settingsSchema: { type: "object", properties: { door: { type: "string" } }, required: ["door"], additionalProperties: false },
  start({ settings, fire }) {
    ring = () => void fire(`Somebody rings at the ${settings.door}.`);
    return () => (ring = () => {});
  },
};

const triggers = createTriggers({ kinds: [bell] });
const runtime = createRuntime({ toolsets: [triggersToolset({ triggers })] });
const session = runtime.session("butler");
const answered = Promise.withResolvers<void>();
const agent = createAgent({
  session,
  triggers,
  model: scriptedModel([{ text: "I open the front door." }]),
  onResult: ({ text }) => {
    console.log(text);
    answered.resolve();
  },
});
agent.start();
await triggers.of(session).add({ type: "bell", door: "front door" });
ring();
await answered.promise;
await agent.stop();
await runtime.close();

/* Prints:
I open the front door.
*/
