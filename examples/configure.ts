/** A runtime from a configuration file. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { createRuntime, resultText } from "haft";
import { configuredRuntime } from "haft/config";

const path = fileURLToPath(new URL("config/tool-files.toml", import.meta.url));

const runtime = createRuntime({ ...(await configuredRuntime(path)), timeoutMs: 5_000 });
const { opened } = await runtime.open();
console.log(opened.join(", "));

const result = await runtime.execute({ name: "pantry::take", input: { item: "flour", grams: 250 } });
console.log(resultText(result));

assert.equal(result.status, "ok");
await runtime.close();

/* Prints:
kitchen, pantry, cookbooks
250 g of flour
*/
