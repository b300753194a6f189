/** A model is shown two of many tools, and finds the others by what they do. */
import { createLoop, createRuntime, pure, type Tool } from "haft";
import { findToolsToolset } from "haft/find-tools";
import { scriptedModel } from "haft/model";

const SUBJECTS = ["rate of a currency", "weather of a town", "price of a stock", "route of a train", "size of a file"];
const tools = SUBJECTS.map((subject): Tool => {
  const name = subject.split(" ").join("_");
  return { name, description: `Looks up the ${subject}.`, inputSchema: { type: "object" }, effects: pure, execute: () => `the ${subject}` };
});

const runtime = createRuntime({ toolsets: [{ name: "data", tools }, findToolsToolset({ limit: 1 })] });
const model = scriptedModel([
  { calls: [{ name: "catalog::find_tools", input: { query: "exchange currencies" } }] },
  { calls: [{ name: "data::rate_of_a_currency", input: {} }] },
  { text: "Here it is." },
]);
const loop = createLoop({ model, session: runtime.session(), deferTools: { pinned: ["data::size_of_a_file"] } });
const { text, results } = await loop.run("What is a krone worth?");

for (const { tools: shown = [] } of model.requests) console.log(shown.map(({ name }) => name.replace(/^.*::/u, "")).join(", "));
console.log(JSON.stringify(results.map(({ output }) => output)));
console.log(text);
await runtime.close();

/* Prints:
find_tools, size_of_a_file, read_result
find_tools, size_of_a_file, read_result, rate_of_a_currency
find_tools, size_of_a_file, read_result, rate_of_a_currency
[{"tools":[{"name":"data::rate_of_a_currency","description":"Looks up the rate of a currency."}]},"the rate of a currency"]
Here it is.
*/
