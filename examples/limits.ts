/** Holds a model that would never stop to a budget: it is warned when the budget runs low, and refused when it is used up. */
import { createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/model";

const search = defineTool({
  name: "search",
  description: "Searches the library.",
  inputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
  effects: readOnly("library"),
  execute: () => "nothing",
});
const runtime = createRuntime({ tools: [search] });

let page = 0;
const model = scriptedModel(({ toolChoice }) =>
  toolChoice === "none" ? { text: "I found nothing." } : { calls: [{ name: "search", input: { words: `page ${++page}` } }] },
);
const loop = runtime.loop({
  model,
  limits: { maxRounds: 20, maxDurationMs: 60_000, budget: { calls: { soft: 2, hard: 3 }, tokens: { hard: 100_000 } } },
  onEvent: (event) => event.type === "note-add" && console.log("told:", event.note),
});
const { reason, text, results } = await loop.run("Look everywhere.");
console.log(`${reason}: ${text} ${results.length} calls`);
await runtime.close();

/* Prints:
told: The budget of this task is running out (2 of 3 tool calls). Finish soon: make only the calls that the answer needs.
told: The budget of this task is used up (3 of 3 tool calls). Make no more calls. Answer in text now, with what you have.
answered: I found nothing. 3 calls
*/
