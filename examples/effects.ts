/** Runs five parallel edits of one document beside reads of another: no edit is lost, and only conflicting calls wait. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createRuntime, defineTool } from "haft";

const documents = new Map([
  ["plan", ""],
  ["notes", "bring rope"],
]);
const running = { reads: 0, writes: 0 };
const most = { reads: 0, writes: 0 };

async function work(kind: "reads" | "writes"): Promise<void> {
  most[kind] = Math.max(most[kind], ++running[kind]);
  await pause(150);
  running[kind]--;
}

const append = defineTool({
  name: "append",
  description: "Adds a word to a document.",
  inputSchema: { type: "object", properties: { document: { type: "string" }, word: { type: "string" } }, required: ["document", "word"] },
  effects: { writes: "document:{document}" },
  async execute({ document, word }) {
    const before = documents.get(document) ?? "";
    await work("writes");
    documents.set(document, `${before} ${word}`);
  },
});

const read = defineTool({
  name: "read",
  description: "Reads a document.",
  inputSchema: { type: "object", properties: { document: { type: "string" } }, required: ["document"] },
  effects: { reads: "document:{document}" },
  async execute({ document }) {
    await work("reads");
    return documents.get(document) ?? "";
  },
});

const runtime = createRuntime({ tools: [append, read] });
const results = await runtime.execute([
  ...["one", "two", "three", "four", "five"].map((word) => ({ name: "append", input: { document: "plan", word } })),
  ...Array.from({ length: 4 }, () => ({ name: "read", input: { document: "notes" } })),
  { name: "read", input: { document: "plan" } },
]);

console.log(`the plan:${documents.get("plan")}`);
console.log(`the read after the edits saw:${String(results.at(-1)?.output)}`);
console.log(`at a time: ${most.writes} edit of the plan, ${most.reads} reads of the notes`);
assert.equal(documents.get("plan"), " one two three four five");
assert.deepEqual(most, { reads: 4, writes: 1 });
await runtime.close();

/* Prints:
the plan: one two three four five
the read after the edits saw: one two three four five
at a time: 1 edit of the plan, 4 reads of the notes
*/
