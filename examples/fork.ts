/** Continues one conversation in two ways, each on its own branch, and commits one of them. */
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "haft";

const plan = defineTool({
  name: "plan",
  description: "Plans a course of the dinner.",
  inputSchema: {
    type: "object",
    properties: { course: { type: "string" }, dish: { type: "string" } },
    required: ["course", "dish"],
  },
  effects: { writes: ["session:menu"] },
  execute({ course, dish }, { state }) {
    state.update("menu", (menu) => ({ ...(menu as object), [course]: dish }));
    return `${course}: ${dish}`;
  },
});

const runtime = createRuntime({ tools: [plan] });
const dinner = runtime.session("dinner");
await dinner.execute({ name: "plan", input: { course: "main", dish: "trout" } });

const soup = dinner.fork({ id: "with soup" });
const salad = dinner.fork({ id: "with salad" });
await soup.execute({ name: "plan", input: { course: "starter", dish: "soup" } });
await salad.execute({ name: "plan", input: { course: "starter", dish: "salad" } });

for (const { toolset, key, patch } of soup.diff().state) console.log(toolset, key, ...patch);
console.log("before:", dinner.state("default", "menu"));
await soup.commit();
console.log("after: ", dinner.state("default", "menu"));

await assert.rejects(salad.commit(), (error: Error) => {
  console.log(error.message);
  return true;
});
console.log("the log:", dinner.log.map((event) => event.type).join(" "));
assert.deepEqual(dinner.state("default", "menu"), { main: "trout", starter: "soup" });
await runtime.close();

/* Prints:
default menu { op: 'add', path: '/starter', value: 'soup' }
before: { main: 'trout' }
after:  { main: 'trout', starter: 'soup' }
The branch "with salad" cannot be committed: its session "dinner" has moved on since the branch was taken.
the log: call-start state-change call-end branch-commit call-start state-change call-end
*/
