/** A loop joins a model and a session: it runs rounds until the model answers, accepts messages meanwhile, and stops at its limits. */
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
await runtime.close();

/* Prints:
model: I look.
call: search {"words":"knots"}
call: search {"words":"bread"}
model: Take Ashley for knots, and Tartine for bread.
answered after 3 rounds, 2 calls, 310 tokens
*/
