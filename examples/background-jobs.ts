/** Calls that outlive their turn: they are started, read while they run, answered, and moved to the background midway. */
import { createRuntime, defineTool, pure } from "haft";

const build = defineTool({
  name: "build",
  description: "Builds a target.",
  inputSchema: { type: "object", properties: { target: { type: "string" } }, required: ["target"] },
  effects: { reads: ["sources"], writes: ["out"] },
  mode: "background",
  async execute({ target }, { output, signal }) {
    for (const file of ["a.ts", "b.ts"]) {
      signal.throwIfAborted();
      output(`compiled ${file}\n`);
      await Promise.resolve();
    }
    return `${target} is built`;
  },
});
const order = defineTool({
  name: "order_lunch",
  description: "Takes an order, question by question.",
  inputSchema: { type: "object", properties: {} },
  effects: { reads: [], writes: ["kitchen"] },
  mode: "stateful",
  async *execute() {
    const dish: unknown = yield "What would you like?";
    const drink: unknown = yield `${String(dish)}, and to drink?`;
    return { dish, drink };
  },
});
const lookUp = defineTool({
  name: "look_up",
  description: "Looks something up in a slow archive.",
  inputSchema: { type: "object", properties: {} },
  effects: pure,
  execute: () => new Promise((resolve) => setTimeout(() => resolve("found"), 50)),
});
const runtime = createRuntime({ tools: [build, order, lookUp] });
const { jobs } = runtime;
const session = runtime.session("work");

const { callId, status } = await session.execute({ name: "build", input: { target: "app" } });
console.log(`build: ${status}, then ${(await jobs.wait(callId)).state}; it wrote ${JSON.stringify(jobs.read(callId).text)}`);

const { id } = await session.submit({ name: "order_lunch" });
for (const answer of ["Soup", "Tea"]) {
  console.log(`order_lunch: ${(await jobs.wait(id, { untilAsked: true })).question} ${answer}.`);
  jobs.send(id, answer);
}
console.log(`order_lunch: ${(await jobs.wait(id)).state}`);

const answer = session.execute({ name: "look_up" });
const running = runtime.running.at(-1)?.callId ?? "";
console.log(`look_up: promoted ${jobs.promote(running)}, ${(await answer).status}, then ${(await jobs.wait(running)).state}`);
await runtime.close();

/* Prints:
build: pending, then done; it wrote "compiled a.ts\ncompiled b.ts\n"
order_lunch: What would you like? Soup.
order_lunch: Soup, and to drink? Tea.
order_lunch: done
look_up: promoted true, pending, then done
*/
