/** Uses a Zod schema unchanged: a typed handler, a transform, a default, and a JSON Schema for the model. */
import { createRuntime, defineTool, pure, resultText } from "haft";
import { z } from "zod";

const age = defineTool({
  name: "age",
  description: "Says how long ago a day was.",
  inputSchema: z.object({ day: z.iso.date().transform((text) => new Date(text)), unit: z.enum(["days", "weeks"]).default("days") }),
  effects: pure,
  execute: ({ day, unit }) => `${day.getUTCFullYear()} in ${unit}`,
});

const runtime = createRuntime({ tools: [age] });
console.log(resultText(await runtime.execute({ name: "age", input: { day: "2026-02-01" } })));
console.log(resultText(await runtime.execute({ name: "age", input: { day: "2026-02-01", unit: "months" } })));
await runtime.close();

/* Prints:
2026 in days
Error (invalid_input): The input of default::age does not fit its schema.
- $.unit: expected one of "days", "weeks", got "months"
Hint: Its properties: day (required), unit.
*/
