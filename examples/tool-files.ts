/** Tools that are described in files: a YAML file that an engine answers for, and descriptors with code beside them. */
import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRuntime, resultText } from "haft";
import { descriptorSource, fileSource } from "haft/config";
import { searchEngine } from "haft/search";

const given = fileURLToPath(new URL("config/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "haft-tool-files-")); // for a copy that is changed below
const path = join(folder, "kitchen.yaml");
copyFileSync(join(given, "kitchen.yaml"), path);
const warn = (message: string): void => console.log(message.replaceAll(join(folder, "/"), ""));

const engine = searchEngine({ documents: join(given, "recipes.jsonl"), toolName: null });
const runtime = createRuntime({
  sources: [fileSource({ path, toolset: { engine } }), descriptorSource({ name: "descriptors", path: join(given, "descriptors") })],
  ports: { log: { debug() {}, warn } },
});
await runtime.open();

const results = await runtime.execute([
  { name: "kitchen::find_recipe", input: { words: "potato", size: "1" } },
  { name: "pantry::take", input: { item: "potatoes" } },
]);
for (const result of results) console.log(result.name, resultText(result));

appendFileSync(path, "  - { name: find_wine, description: Finds a wine. }\n  - { name: plan_week, parameters: monday }\n");
const { changed } = await runtime.refresh();
console.log("changed:", JSON.stringify(changed));

appendFileSync(path, "  - { name: ");
const { failed } = await runtime.refresh();
for (const { error } of failed) warn(`failed: ${error.message}`);
console.log(runtime.registry.names("kitchen").join(", "));

assert.deepEqual([changed.length, failed.length], [1, 1]);
assert.deepEqual(await runtime.close(), []);
rmSync(folder, { recursive: true });

/* Prints:
kitchen::find_recipe [{"id":"salad","text":"Warm potato salad with mustard","metadata":{},"score":0.46357615894039733}]
pantry::take 500 g of potatoes
A tool is left out: kitchen.yaml:13:5: tools[2]: parameters must be a JSON Schema, not a string.
changed: [{"toolset":"kitchen","added":["find_wine"],"removed":[],"changed":[]}]
failed: kitchen.yaml:14:13: not valid YAML: Flow map in block collection must be sufficiently indented and end with a }.
kitchen::find_recipe, kitchen::find_wine
*/
