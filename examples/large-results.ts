/** Cuts a result that is too large at a readable place; the model reads the rest by its handle. */
import assert from "node:assert/strict";
import { createRuntime, defineTool, pure, resultText } from "haft";
import { countingIds } from "haft/testing";

const list = defineTool({
  name: "list",
  description: "Lists all parts.",
  effects: pure,
  maxResultBytes: 300,
  execute: () => ({ parts: Array.from({ length: 500 }, (_, index) => ({ id: index, name: `bolt ${index}` })) }),
});

const runtime = createRuntime({ tools: [list], ports: { ids: countingIds() } });
const session = runtime.session();
const cut = await session.execute({ name: "list" });
console.log(resultText(cut));
console.log(cut.truncation);

const handle = cut.truncation?.handle;
const rest = await session.execute({ name: "haft::read_result", input: { handle, path: "$.parts[499]" } });
console.log(rest.output);
const found = await session.execute({ name: "haft::read_result", input: { handle, grep: "bolt 42", limit: 2 } });
console.log(found.output);

assert.match(resultText(rest), /bolt 499/u);
await runtime.close();

/* Prints:
{"parts":[{"id":0,"name":"bolt 0"},{"id":1,"name":"bolt 1"},{"id":2,"name":"bolt 2"},{"id":3,"name":"bolt 3"},{"id":4,"name":"bolt 4"},{"id":5,"name":"bolt 5"},"[494 more items]"],"[cut]":"[14111 of 14291 bytes left out. Read the rest with haft__read_result {\"handle\": \"call_1\"}]"}
{ handle: 'call_1', totalBytes: 14291, shownBytes: 180 }
{
  text: '{\n "id": 499,\n "name": "bolt 499"\n}',
  totalLines: 4,
  from: 0,
  to: 3
}
{
  text: '172:    "name": "bolt 42"\n1684:    "name": "bolt 420"',
  totalLines: 2004,
  from: 172,
  to: 1684,
  nextOffset: 1688
}
*/
