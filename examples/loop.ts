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
    if (event.type === "call-add") console.log("call:", JSON.stringify(event.call.input));
    if (event.type === "call-add" && loop.pending().length === 0 && model.requests.length === 1) loop.steer("And one about bread.");
  },
});
const result = await loop.run("A book about knots?");
console.log(`${result.reason} after ${result.rounds} rounds and ${result.usage.inputTokens} tokens`);
assert.equal(result.reason, "answered");

let page = 0;
const restless = createLoop({
  model: scriptedModel(({ toolChoice }) =>
    toolChoice === "none" ? { text: "I found nothing." } : { text: "On.", calls: [{ name: "search", input: { words: `page ${++page}` } }] },
  ),
  session: runtime.session(),
  limits: { maxRounds: 20, maxDurationMs: 60_000, budget: { calls: { soft: 2, hard: 3 } } },
  onEvent: (event) => event.type === "note-add" && console.log("told:", event.note),
});
const ended = await restless.run("Look everywhere.");
console.log(`${ended.reason}: ${ended.text} ${ended.results.length} calls`);
await runtime.close();
