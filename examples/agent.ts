/** An agent that is idle until it gets a message, or until a job that it started ends. */
import assert from "node:assert/strict";
import { createAgent, createRuntime, defineTool } from "haft";
import { scriptedModel } from "haft/model";

const compiled = Promise.withResolvers<string>();
const build = defineTool({
  name: "build",
  description: "Builds the program.",
  inputSchema: { type: "object", properties: {} },
  effects: { reads: ["sources"], writes: ["out"] },
  mode: "background",
  execute: () => compiled.promise,
});
const runtime = createRuntime({ tools: [build] });
const model = scriptedModel([
  { calls: [{ name: "default::build", input: {} }] },
  { text: "It builds. I will tell you." },
  { text: "Nothing else to do meanwhile." },
  { text: "The build has ended: 12 files." },
]);
const agent = createAgent({ model, session: runtime.session("work"), onResult: ({ text }) => console.log(`agent: ${text}`) });

await agent.send("Build it.");
assert.equal(agent.state, "stopped"); // the message is queued; in a stored session it also survives a restart
agent.start();
await agent.whenIdle();

await agent.send("Anything else?");
await agent.whenIdle();

compiled.resolve("12 files");
await runtime.jobs.wait(runtime.jobs.list()[0]?.id ?? "");
await agent.whenIdle();
await agent.stop();
await runtime.close();

/* Prints:
agent: It builds. I will tell you.
agent: Nothing else to do meanwhile.
agent: The build has ended: 12 files.
*/
