/** A model delegates tasks to sub-agents: each has its own session and some of the tools, and can be cancelled. */
import { createLoop, createRuntime, defineTool, readOnly, resultText } from "haft";
import { delegateTool } from "haft/delegate";
import { scriptedModel } from "haft/model";

const text = { type: "string" } as const;
const search = defineTool({
  name: "search",
  description: "Searches the archive.",
  inputSchema: { type: "object", properties: { words: text }, required: ["words"] },
  effects: readOnly("archive"),
  execute: ({ words }) => [`${words}: 3 reports, the latest of May`],
});
const publish = defineTool({
  name: "publish",
  description: "Publishes a text.",
  inputSchema: { type: "object", properties: { text }, required: ["text"] },
  effects: { writes: ["site"], destructive: true },
  execute: () => "published",
});

const research = delegateTool({
  name: "research",
  description: "Finds something out in the archive, and answers in one sentence.",
  model: scriptedModel([
    { text: "I look for bees.", calls: [{ name: "default::search", input: { words: "bees" } }] },
    { text: "There are three reports on bees, the latest of May." },
  ]),
  system: "You look things up in an archive.",
  allow: { allow: ["default::search"] },
  limits: { maxRounds: 5, budget: { tokens: { hard: 20_000 } } },
});

const runtime = createRuntime({
  tools: [search, publish, research],
  onEvent: (event) => {
    if (event.type === "call-start") console.log(`${event.sessionId === "editor" ? "" : "  "}${event.call.name}`);
  },
});
const session = runtime.session("editor");
const editor = scriptedModel([
  { calls: [{ name: "default::research", input: { task: "What do we have on bees?" } }] },
  { text: "We have three reports on bees." },
]);
const { text: answer, results } = await createLoop({ model: editor, session }).run("Do we know anything about bees?");
for (const result of results) console.log(resultText(result));
console.log(answer);
await runtime.close();

/* Prints:
default::research
  default::search
There are three reports on bees, the latest of May.
We have three reports on bees.
*/
