/** Tools that are described in a YAML file, which changes while it is in use. */
import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, resultText } from "haft";
import { fileSource } from "haft/config";
import { searchEngine } from "haft/search";

const folder = await mkdtemp(join(tmpdir(), "haft-"));
const path = join(folder, "kitchen.yaml");
await writeFile(
  path,
  `namespace: kitchen
tools:
  - name: find_recipe
    description: Finds recipes by words, the best first.
    parameters:
      type: object
      properties:
        words: { type: string, description: What to cook, or what with. }
        size: { type: integer, minimum: 1, default: 2 }
      required: [words]
    effects: readOnly
`,
);
const documents = [
  { id: "soup", text: "Potato soup with leeks and a little cream" },
  { id: "tart", text: "Apple tart with almonds" },
];

const warn = (message: string): void => console.log(message.replaceAll(join(folder, "/"), ""));
const runtime = createRuntime({
  sources: [fileSource({ path, toolset: { engine: searchEngine({ documents, toolName: null }) } })],
  ports: { log: { debug() {}, warn } },
});
await runtime.open();
const result = await runtime.execute({ name: "kitchen::find_recipe", input: { words: "potato", size: "1" } });
console.log(resultText(result));

await appendFile(path, "  - { name: find_wine, description: Finds a wine. }\n  - { name: plan_week, parameters: monday }\n");
const { changed } = await runtime.refresh();
console.log("changed:", JSON.stringify(changed));

await appendFile(path, "  - { name: ");
const { failed } = await runtime.refresh();
for (const { error } of failed) warn(`failed: ${error.message}`);
console.log(runtime.registry.names("kitchen").join(", "));

assert.deepEqual([changed.length, failed.length], [1, 1]);
await runtime.close();
await rm(folder, { recursive: true });

/* Prints:
[{"id":"soup","text":"Potato soup with leeks and a little cream","metadata":{},"score":0.4}]
A tool is left out: kitchen.yaml:13:5: tools[2]: parameters must be a JSON Schema, not a string.
changed: [{"toolset":"kitchen","added":["find_wine"],"removed":[],"changed":[]}]
failed: kitchen.yaml:14:13: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }.
kitchen::find_recipe, kitchen::find_wine
*/
