/** Reads and writes calls as text without a model: in a custom format with its own delimiters, and in built-in formats by name. */
import assert from "node:assert/strict";
import type { ModelTool } from "haft/model";
import { delimitedFormat, textFormat } from "haft/wire";

const stock: ModelTool = {
  name: "stock",
  description: "Counts what is on the shelf.",
  inputSchema: { type: "object", properties: { item: { type: "string" }, least: { type: "integer" } }, required: ["item"] },
};

const curly = delimitedFormat("curly", { start: "{{", end: "}}", slash: "closes", arguments: "attributes" });
const decoding = curly.decodeText({ tools: [stock] });
for (const piece of ["I count. {{stock item=", '"salt" least="1"}}{{/sto', "ck}} {{stick}}", " is not a tool."]) {
  for (const event of decoding.push(piece)) {
    if (event.type === "text-delta") console.log("text:", JSON.stringify(event.text));
    if (event.type === "call-seal") console.log("call:", event.call);
  }
}
for (const event of decoding.end())
  if (event.type === "reply-end") console.log("end:", event.reply.finish, JSON.stringify(event.reply.text));

const calls = [{ name: "stock", input: { item: "salt" } }];
for (const name of ["hermes", "llama-3", "pythonic", "mistral"]) console.log(`${name}: ${textFormat(name).writeCalls(calls)}`);

const [reply] = textFormat("auto")
  .decodeText({ tools: [stock] })
  .end();
assert.equal(reply?.type, "reply-end");

/* Prints:
text: "I count."
call: { name: 'stock', input: { item: 'salt', least: 1 } }
text: "  {{stick}}"
text: " is not a tool."
end: calls "I count.  {{stick}} is not a tool."
hermes: <tool_call>
{"name": "stock", "arguments": {"item": "salt"}}
</tool_call>
llama-3: {"name": "stock", "parameters": {"item": "salt"}}
pythonic: [stock(item="salt")]
mistral: [TOOL_CALLS][{"name": "stock", "arguments": {"item": "salt"}}]
*/
