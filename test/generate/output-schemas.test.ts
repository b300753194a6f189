import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import { enrich } from "../../src/generate/enrich.ts";
import { outputSchemas, type OutputSchemasOptions, type SchemaModel, type SchemaPrompt } from "../../src/generate/output-schemas.ts";
import { readOutputSchema } from "../../src/generate/read-output-schema.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { TEXT, objectOf, tool, toolset } from "./tools.ts";

const CITY = objectOf({ city: TEXT });

/** Infers schemas for the tools of the namespace `a`; what was asked and warned comes along. */
async function infer(model: SchemaModel, tools: readonly ReturnType<typeof tool>[], options: Partial<OutputSchemasOptions> = {}) {
  const prompts: SchemaPrompt[] = [];
  const log = new MemoryLog();
  const asking: SchemaModel = (prompt, more) => {
    prompts.push(prompt);
    return model(prompt, more);
  };
  const enriched = await enrich([toolset("a", ...tools)], [outputSchemas({ model: asking, ...options })], { log });
  return {
    schemas: enriched.tools.map((entry) => entry.tool.outputSchema),
    artifact: enriched.artifacts.get("output-schemas"),
    prompts,
    warnings: log.lines.map(({ message }) => message),
  };
}

const answering =
  (answer: string | JsonValue): SchemaModel =>
  () =>
    Promise.resolve(answer);

describe("F0.22 an answer is accepted as", () => {
  const cases: readonly (readonly [what: string, answer: string | JsonValue, schema: unknown])[] = [
    ["a schema", { type: "object", properties: { city: { type: "string" } } }, CITY],
    ["a schema in text", JSON.stringify(CITY), CITY],
    ["a schema in a code block, with prose", `Here it is:\n\`\`\`json\n${JSON.stringify(CITY)}\n\`\`\`\nBye.`, CITY],
    ["a schema with a trailing comma", '{"type": "object", "properties": {"city": {"type": "string"},}}', CITY],
    ["a wrapped schema", { output_schema: { type: "object", properties: { city: { type: "string" } } } }, CITY],
    ["a schema wrapped twice, with a name", { name: "x", json_schema: { strict: true, schema: { city: { type: "string" } } } }, CITY],
    ["a flat map of properties", { city: { type: "string" } }, CITY],
    ["a flat map of type words", { city: "str", count: "int" }, objectOf({ city: TEXT, count: { type: "integer" } })],
    [
      "a flat map whose properties are called like keywords",
      { type: { type: "string" }, items: { type: "array" }, properties: { type: "object" } },
      objectOf({ type: TEXT, items: { type: "array" }, properties: { type: "object" } }),
    ],
    [
      "a flat map with a property called schema",
      { schema: { type: "string" }, city: { type: "string" } },
      objectOf({ schema: TEXT, city: TEXT }),
    ],
    ["the schema of a text", { type: "string", description: "A name." }, { type: "string", description: "A name." }],
    ["a choice of schemas", { anyOf: [{ type: "string" }, { type: "null" }] }, { anyOf: [{ type: "string" }, { type: "null" }] }],
  ];
  test.each(cases)("%s", async (_what, answer, schema) => {
    expect(await infer(answering(answer), [tool("get")])).toMatchObject({ schemas: [schema], warnings: [] });
  });
});

describe("F0.22 an answer that is not a schema is logged, and the tool stays unchanged:", () => {
  test.each([
    ["prose", "I cannot say.", /^No output schema for a::get: Not valid JSON/u],
    ["a list", [1], /^No output schema for a::get: The answer does not contain a schema: it is not an object\.$/u],
    ["nothing", {}, /it is empty/u],
    ["an error", { error: "cannot" }, /"error" is neither a schema nor a type/u],
    ["a schema that cannot be used", { type: "object", properties: { n: { type: "number", minimum: "one" } } }, /minimum/u],
    ["a type that does not exist", { type: "object", properties: { n: { type: "numeral" } } }, /numeral/u],
  ])("%s", async (_what, answer: string | JsonValue, warning) => {
    expect(await infer(answering(answer), [tool("get")])).toMatchObject({
      schemas: [undefined],
      artifact: new Map(),
      warnings: [expect.stringMatching(warning)],
    });
  });

  test("or a model that fails for one tool, while others get their schema", async () => {
    const model: SchemaModel = ({ user }) =>
      user.includes('"bad"') ? Promise.reject(new Error("rate limit")) : Promise.resolve({ city: "string" });

    expect(await infer(model, [tool("bad"), tool("good")])).toMatchObject({
      schemas: [undefined, CITY],
      artifact: new Map([["a::good", CITY]]),
      warnings: ["No output schema for a::bad: rate limit"],
    });
  });
});

test("F0.22 only tools without an output schema are asked about, with their name, description and input schema", async () => {
  const { schemas, prompts } = await infer(answering({ city: "string" }), [
    { ...tool("find", { name: TEXT }), description: "Finds a city." },
    tool("known", {}, { id: TEXT }),
  ]);

  expect(schemas).toEqual([CITY, objectOf({ id: TEXT })]);
  expect(prompts).toEqual([
    {
      system: expect.stringContaining("JSON Schema"),
      user: JSON.stringify({ name: "find", description: "Finds a city.", inputSchema: objectOf({ name: TEXT }) }),
    },
  ]);
});

test("F0.22 at most concurrency requests run at a time, and progress reports each", async () => {
  let open = 0;
  let most = 0;
  const told: number[] = [];
  const model: SchemaModel = async () => {
    most = Math.max(most, ++open);
    await Promise.resolve();
    await Promise.resolve();
    open--;
    return { city: "string" };
  };
  const tools = Array.from({ length: 20 }, (_, at) => tool(`t${at}`));

  await enrich([toolset("a", ...tools)], [outputSchemas({ model, concurrency: 3 })], { onProgress: ({ done }) => told.push(done) });

  expect([most, told]).toEqual([3, Array.from({ length: 20 }, (_, at) => at + 1)]);
});

test("F0.22 a cancellation does not wait for the model, and no more requests are made", async () => {
  const controller = new AbortController();
  let asked = 0;
  const model: SchemaModel = () => {
    if (++asked === 2) controller.abort();
    return new Promise(() => undefined);
  };
  const tools = Array.from({ length: 10 }, (_, at) => tool(`t${at}`));

  await expect(enrich([toolset("a", ...tools)], [outputSchemas({ model, concurrency: 2 })], { signal: controller.signal })).rejects.toThrow(
    expect.objectContaining({ code: "cancelled" }),
  );
  expect(asked).toBe(2);
});

test.each([
  ["no model", { model: undefined }],
  ["a concurrency of 0", { concurrency: 0 }],
])("F0.22 %s is rejected at once", (_what, options) => {
  const all: unknown = { model: answering({}), ...options };

  expect(() => outputSchemas(all as OutputSchemasOptions)).toThrow(expect.objectContaining({ code: "invalid_argument" }));
});

describe("a model's answer with more than a schema", () => {
  const whole = { type: "object", properties: { id: { type: "string" } } };

  test("is read after the model's reasoning", () => {
    const thought = `<think>It returns {id}, maybe {"type": "string"}.</think>\n${JSON.stringify(whole)}`;
    expect(readOutputSchema(thought)).toEqual(whole);
  });

  test("is read whole when the schema itself mentions think tags", () => {
    const speaks = { type: "object", properties: { id: { type: "string", description: "The text behind </think>." } } };
    for (const text of [JSON.stringify(speaks), `\`\`\`json\n${JSON.stringify(speaks)}\n\`\`\``])
      expect(readOutputSchema(text)).toEqual(speaks);
  });

  test.each([',"na', '},"requ', ""])("is rejected when it is cut off: %j", (rest) => {
    expect(() => readOutputSchema(`{"type":"object","properties":{"id":{"type":"string"}${rest}`)).toThrow("Not valid JSON");
  });
});
