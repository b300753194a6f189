/** The mode decides which tools a model sees and may call. Tools that the provider runs are declared in the provider's format. */
import assert from "node:assert/strict";
import { createLoop, createRuntime, pure } from "haft";
import { providerTools } from "haft/prompt";
import { visibilityOf } from "haft/tools";
import { scriptedModel } from "haft/model";
import { anthropicMessages } from "haft/wire";

const named = (name: string) => ({
  name,
  description: `Tool ${name}.`,
  inputSchema: { type: "object" },
  effects: pure,
  execute: () => "done",
});
const format = anthropicMessages();
const runtime = createRuntime({
  tools: [...["read", "write"].map(named), ...providerTools([], format.name, { disable: ["web_fetch", "code_execution"] })],
});

const day = visibilityOf({ deny: ["haft::*"] });
const night = visibilityOf([day, { deny: ["*::write", "*::web_*"] }]);
let mode = day;
const model = scriptedModel(({ messages }) =>
  messages.at(-1)?.role === "user" ? { calls: [{ name: "write", input: {} }] } : { text: "Good." },
);
const loop = createLoop({ model, session: runtime.session(), allow: () => mode });
const codes: unknown[] = [];
for (const [name, allow] of Object.entries({ day, night })) {
  mode = allow;
  const { results } = await loop.run(`It is ${name}.`);
  const [{ output = null, error } = {}] = results;
  const told = model.requests.at(-1)?.tools ?? [];
  console.log(`${name}: ${told.map((tool) => tool.name).join(", ")}`);
  console.log("  write:", error?.message ?? output);
  codes.push(error?.code);
}
assert.deepEqual(codes, [undefined, "permission_denied"]);

const [request] = model.requests;
for (const tool of format.encodeTools(request?.tools ?? []).tools) console.log(JSON.stringify(tool));
await runtime.close();

/* Prints:
day: default::read, default::web_search, default::write
  write: done
night: default::read
  write: The tool "write" is not offered here and was not run.
{"name":"read","description":"Tool read.","input_schema":{"type":"object","properties":{}}}
{"type":"web_search_20250305","name":"web_search"}
{"name":"write","description":"Tool write.","input_schema":{"type":"object","properties":{}}}
*/
