/** Uses schemas of Zod, Valibot and ArkType unchanged: typed handlers, transforms, and a JSON Schema for the model. */
import assert from "node:assert/strict";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createRuntime, defineTool, resultText } from "haft";
import * as v from "valibot";
import { z } from "zod";

const byZod = defineTool({
  name: "zod",
  description: "Says how long ago a day was.",
  inputSchema: z.object({ day: z.iso.date().transform((text) => new Date(text)), unit: z.enum(["days", "weeks"]).default("days") }),
  execute: ({ day, unit }) => `${day.getUTCFullYear()} in ${unit}`,
});

const byValibot = defineTool({
  name: "valibot",
  description: "Greets somebody.",
  inputSchema: toStandardJsonSchema(v.object({ name: v.pipe(v.string(), v.minLength(2)) })),
  execute: ({ name }) => `hello ${name}`,
});

const byArktype = defineTool({
  name: "arktype",
  description: "Adds up.",
  inputSchema: type({ numbers: "number[]" }),
  outputSchema: type("number"),
  execute: ({ numbers }) => numbers.reduce((sum, number) => sum + number, 0),
});

const runtime = createRuntime({ tools: [byZod, byValibot, byArktype] });
const results = await runtime.execute([
  { name: "zod", input: { day: "2026-02-01" } },
  { name: "valibot", input: { name: "A" } },
  { name: "arktype", input: { numbers: [1, "2", 3] } },
]);
for (const result of results) console.log(resultText(result));
console.log(JSON.stringify(byArktype.inputSchema));

assert.deepEqual(
  results.map((result) => result.status),
  ["ok", "error", "ok"],
);
await runtime.close();

/* Prints:
2026 in days
Error (invalid_input): The input of default::valibot does not fit its schema.
- $.name: expected at least 2 characters, got 1
Hint: Its properties: name (required).
6
{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"numbers":{"type":"array","items":{"type":"number"}}},"required":["numbers"]}
*/
