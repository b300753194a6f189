/** Mistakes in a model's calls are repaired where that loses nothing; other calls are refused with an error that says what would work. */
import { createRuntime, defineTool, resultText } from "haft";

const book = defineTool({
  name: "book",
  description: "Books a table.",
  inputSchema: {
    type: "object",
    properties: {
      guests: { type: "integer", minimum: 1, maximum: 12 },
      seating: { enum: ["inside", "outside"], default: "inside" },
      wishes: { type: "array", items: { type: "string" } },
    },
    required: ["guests"],
    additionalProperties: false,
  },
  effects: { writes: ["tables"] },
  execute: (input) => input,
});

const runtime = createRuntime({ tools: [book] });
const results = await runtime.execute([
  { name: "book", input: { guests: "4", seating: "Outside", wishes: '["window"]' } },
  { name: "book", input: '{"Guests": 2,}' },
  { name: "book", input: { guests: 40, table: 7 } },
  { name: "boook", input: { guests: 2 } },
]);
for (const result of results) {
  console.log(resultText(result));
  for (const repair of result.repairs) console.log(`  ${repair.kind} ${repair.path}: ${repair.note}`);
}

await runtime.close();

/* Prints:
{"guests":4,"seating":"outside","wishes":["window"]}
  coerced $.guests: "4" → 4
  coerced $.seating: "Outside" → "outside"
  parsed-json $.wishes: JSON text → array
{"guests":2,"seating":"inside"}
  fixed-json $: broken JSON text → object: extra comma left out
  renamed $.guests: "Guests" → "guests"
  defaulted $.seating: missing → "inside"
Error (invalid_input): The input of default::book does not fit its schema.
- $.guests: expected at most 12, got 40
- $.table: unexpected field; known fields: "guests", "seating", "wishes"
Hint: Its properties: guests (required), seating, wishes.
Error (not_found): No tool "boook". Did you mean "book"?
*/
