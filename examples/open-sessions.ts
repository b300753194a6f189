/** Lists the open sessions of a runtime and gets one by its id, as a server does for each request. */
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "haft";

const greet = defineTool({ name: "greet", description: "Says hello.", execute: () => "hello" });
const runtime = createRuntime({ tools: [greet] });

const monday = runtime.session("monday");
const plan = monday.fork({ id: "plan" });
const trial = monday.fork({ id: "trial", simulated: true });

for (const { id, parent } of runtime.sessions.list()) console.log(id, parent === undefined ? "begins anew" : `is a branch of ${parent.id}`);

const found = runtime.sessions.get("monday");
const result = await found?.execute({ name: "greet" });
assert.equal(result?.output, "hello");
assert.equal(runtime.sessions.get("trial"), trial); // a simulated branch is found by its id, but is not listed
await plan.close();
console.log(runtime.sessions.get("plan"), runtime.sessions.list().length);
await runtime.close();

/* Prints:
monday begins anew
plan is a branch of monday
undefined 1
*/
