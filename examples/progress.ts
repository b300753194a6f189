/** Reports the progress of a call to its caller, and subscribes a listener for a while. */
import { createRuntime, defineTool, pure } from "haft";

const count = defineTool({
  name: "count",
  description: "Counts words, page by page.",
  inputSchema: { type: "object", properties: { pages: { type: "array", items: { type: "string" } } }, required: ["pages"] },
  effects: pure,
  execute({ pages }, { progress }) {
    let words = 0;
    for (const [index, page] of pages.entries()) {
      words += page.split(" ").length;
      progress({ message: `${words} words`, done: index + 1, total: pages.length });
    }
    return words;
  },
});
const runtime = createRuntime({ tools: [count] });

const ended: string[] = [];
const stop = runtime.subscribe((event) => event.type === "call-end" && ended.push(`${event.result.name} ${event.result.status}`));
const result = await runtime.execute(
  { id: "1", name: "count", input: { pages: ["one two", "three"] } },
  { onProgress: ({ message, done, total }, { id }) => console.log(`${id}: ${done} of ${total}, ${message}`) },
);
stop();
console.log(ended.join(), result.output);

await runtime.execute({ name: "count", input: { pages: [] } });
await runtime.close();

/* Prints:
1: 1 of 2, 2 words
1: 2 of 2, 3 words
default::count ok 3
*/
