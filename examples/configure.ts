/** Creates a runtime from a configuration file. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, resultText } from "haft";
import { configuredRuntime } from "haft/config";

const folder = await mkdtemp(join(tmpdir(), "haft-"));
const path = join(folder, "haft.toml");
await writeFile(
  path,
  `
[toolsets.oven]
type = "inline"
engine = "replies"
tools = [{ name = "heat", description = "Heats the oven.", parameters = { type = "object", properties = { celsius = { type = "integer" } } } }]

[engines.replies]
type = "stub"
stubs = [{ tool = "heat", output = "The oven is hot." }]
`,
);

const runtime = createRuntime({ ...(await configuredRuntime(path)), timeoutMs: 5_000 });
const { opened } = await runtime.open();
console.log(opened.join(", "));

const result = await runtime.execute({ name: "oven::heat", input: { celsius: 180 } });
console.log(resultText(result));

assert.equal(result.status, "ok");
await runtime.close();
await rm(folder, { recursive: true });

/* Prints:
oven
The oven is hot.
*/
