/** A model and a session, joined: rounds until the model answers, a word said meanwhile, and an end where it would find none. */
import assert from "node:assert/strict";
import { createLoop, createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/model";

const shelf: Readonly<Record<string, string>> = { knots: "The Ashley Book of Knots", bread: "Tartine Bread" };
const search = defineTool({
  name: "search",
  description: "Searches the library.",
  inputSchema: { type: "object", properties: { words: { type: "string" } }, required: ["words"] },
  effects: readOnly("library"),
  execute: ({ words }) => shelf[words] ?? "nothing",
});
const runtime = createRuntime({ tools: [search] });

const model = scriptedModel([
  { text: "I look.", calls: [{ name: "search", input: { words: "knots" } }] },
  { calls: [{ name: "search", input: { words: "bread" } }] },
  { text: "Take Ashley for knots, and Tartine for bread.", usage: { inputTokens: 310, outputTokens: 14 } },
]);
const loop = createLoop({
  model,
  session: runtime.session(),
  system: "You look after a library.",
  onEvent(event) {
    if (event.type === "text-delta") console.log("model:", event.text);
    if (event.type === "call-seal") console.log("call:", event.call.name, JSON.stringify(event.call.input));
    if (event.type === "round-start" && event.round === 1) loop.steer("And one about bread.");
  },
});
const result = await loop.run("A book about knots?");
console.log(`${result.reason} after ${result.rounds} rounds, ${result.results.length} calls, ${result.usage.inputTokens} tokens`);
assert.equal(result.reason, "answered");

let page = 0;
const restless = scriptedModel(({ toolChoice }) =>
  toolChoice === "none" ? { text: "I found nothing." } : { calls: [{ name: "search", input: { words: `page ${++page}` } }] },
);
const limited = createLoop({
  model: restless,
  session: runtime.session(),
  limits: { maxRounds: 20, maxDurationMs: 60_000, budget: { calls: { soft: 2, hard: 3 }, tokens: { hard: 100_000 } } },
  onEvent: (event) => event.type === "note-add" && console.log("told:", event.note),
});
const { reason, text, results } = await limited.run("Look everywhere.");
console.log(`${reason}: ${text} ${results.length} calls`);
await runtime.close();

/* Prints:
model: I look.
call: search {"words":"knots"}
call: search {"words":"bread"}
model: Take Ashley for knots, and Tartine for bread.
answered after 3 rounds, 2 calls, 310 tokens
told: The budget of this task is running out (2 of 3 tool calls). Come to an end soon: make only the calls that the answer needs.
told: The budget of this task is used up (3 of 3 tool calls). Make no more calls. Answer in text now, with what you have.
answered: I found nothing. 3 calls
*/
