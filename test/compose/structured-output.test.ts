import { expect, test } from "vitest";
import { StructuredOutput } from "../../src/compose/structured-output.ts";

const schema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;

function answer(keys: number, end = "}"): string {
  return `{"name": "a", ${Array.from({ length: keys - 1 }, (_, index) => `"key${index}": {}`).join(", ")}${end}`;
}

const TOO_WIDE = { problems: ["The objects of the answer have more than 10000 keys in all; only smaller ones are read."] };

test.each([
  ["alone", answer(50_000)],
  ["cut off", answer(50_000, "")],
  ["in a fence", `Here it is.\n\`\`\`json\n${answer(50_000)}\n\`\`\``],
  ["in single quotes", answer(50_000).replaceAll('"', "'")],
  ["behind another", `{"name": "b"} ${answer(50_000)}`],
  ["inside another", `{"name": ${answer(50_000)}}`],
])("an answer of 50,000 keys, %s, is rejected before it is parsed", async (_, text) => {
  expect(await new StructuredOutput(schema).read(text)).toEqual(TOO_WIDE);
});

test("an answer of 10,000 keys is read, and so is one next to many colons or with many small objects", async () => {
  const output = new StructuredOutput(schema);
  const small = `{"name": "a", "items": [${Array.from({ length: 20_000 }, () => '{"id": 1}').join(", ")}]}`;
  expect(await output.read(answer(10_000))).toHaveProperty("value.name", "a");
  expect(await output.read(small)).toHaveProperty("value.name", "a");
  expect(await output.read(`${"so: ".repeat(20_000)} {"name": "a"}`)).toEqual({ value: { name: "a" } });
});

test("an empty object is a valid answer if nothing is required, alone or in a fence", async () => {
  const output = new StructuredOutput({ type: "object", properties: { note: { type: "string" } } });
  expect([await output.read(" {} "), await output.read("Nothing.\n```json\n{ }\n```")]).toEqual([{ value: {} }, { value: {} }]);
  expect(await output.read('`main() {}` says: {"note": "Hi"}')).toEqual({ value: { note: "Hi" } });
  expect(await output.read("`main() {}` says nothing.")).toEqual({ problems: ["the answer is not a JSON object"] });
  expect(await new StructuredOutput(schema).read("{}")).toEqual({ problems: ["$.name: required field missing"] });
});
