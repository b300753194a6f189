import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../../src/core/base/json.ts";
import type { ModelReply } from "../../../src/core/model.ts";
import type { JsonSchema } from "../../../src/core/tool.ts";
import { WEATHER, answer, modelOf, toolWith } from "./lm-calls.ts";

const GOOD = '{"celsius":12,"sky":"grey"}';
const OUTPUT = { celsius: 12, sky: "grey" };
const FREE = toolWith(undefined);

function invalid(...details: readonly unknown[]): object {
  return {
    error: {
      code: "invalid_output",
      message: "failed to generate valid tool result",
      retryable: false,
      outcome: "failed",
      operatorHint: "Call it again, or let the engine try more often.",
      details,
    },
  };
}

const NOTHING = "the reply contains no JSON object that is not empty";

describe("F0.43 the result is found in a reply with", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["plain JSON", GOOD],
    ["JSON with space and a byte order mark around it", `\uFEFF\n  ${GOOD}\n`],
    ["a fence", `\`\`\`json\n${GOOD}\n\`\`\``],
    ["a fence among prose", `Here is {the} result:\n\`\`\`\n${GOOD}\n\`\`\`\nIt rains {often}.`],
    ["a fence that is never closed", `\`\`\`json\n${GOOD}`],
    ["thinking before it", `<think>Is it {"celsius": 40}? No.</think>\n\n${GOOD}`],
    ["thinking in other marks before it", `<thinking>Is it {"celsius": 40, "sky": "red"}? No.</thinking>\n${GOOD}`],
    ["thinking of Mistral before it", `[THINK]Is it {"celsius": 40, "sky": "red"}? No.[/THINK]${GOOD}`],
    ["thinking that the prompt began, and a fence", `Is it {"celsius": 40}? No.\n</think>\n\`\`\`json\n${GOOD}\n\`\`\``],
    ["prose around it", `The weather of {city} is ${GOOD}, I think.`],
    ["an object of another kind before it", `{"thought": "they want the weather"}\n${GOOD}`],
    ["single quotes, a comma too many and a comment", "{'celsius': 12, // mild\n 'sky': 'grey',}"],
    ["words of Python among prose", "Result: {'celsius': 12, 'sky': 'grey', 'rain': None} (done)"],
  ];
  test.each(cases)("%s", async (_what, text) => {
    expect(await answer(WEATHER, [text])).toEqual({ output: OUTPUT });
  });
});

describe("F0.43 a reply without a non-empty object is invalid", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["nothing", ""],
    ["prose", "I am sorry, but I cannot know the weather."],
    ["prose with brackets", "Use {city} and {country}: {celsius}."],
    ["a list", "[1,2,3]"],
    ["a number", "42"],
    ["null", "null"],
    ["an empty object", "{}"],
    ["an object in thinking that led to none", '<think>Perhaps {"celsius":12}.</think>I do not know.'],
    ["an object that lost its end among others", 'First {"celsius": 12, "more": {"a": 1}'],
  ];
  test.each(cases)("%s", async (_what, text) => {
    expect(await answer(WEATHER, [text])).toMatchObject(invalid(NOTHING));
    expect(await answer(FREE, [text])).toMatchObject(invalid(NOTHING));
  });

  test.each([
    ["an object that was cut off", '{"celsius":12,"sky":"gr', expect.stringMatching(/^Not valid JSON at line 1, column \d+: /u)],
    [
      "an object with a key twice",
      '{"celsius":12,"celsius":13}',
      'Not valid JSON at line 1, column 15: the key "celsius" is given twice in one object.',
    ],
    [
      "an integer that would lose digits",
      '```json\n{"celsius":12345678901234567890}\n```',
      "Not valid JSON at line 1, column 12: the integer 12345678901234567890 would lose digits.",
    ],
  ])("%s: the error says what is wrong with it", async (_what, text: string, problem: unknown) => {
    expect(await answer(WEATHER, [text])).toMatchObject(invalid(problem));
    expect(await answer(FREE, [text])).toMatchObject(invalid(problem));
  });
});

describe("F0.43 with an output schema", () => {
  const list = { type: "array", items: { type: "string" } };
  const cases: readonly (readonly [string, JsonSchema, JsonValue, JsonValue])[] = [
    ["keys that it does not declare are dropped", WEATHER.outputSchema ?? true, { celsius: 1, humidity: 3 }, { celsius: 1 }],
    [
      "empty values are dropped at every depth",
      {
        type: "object",
        properties: { a: { type: "object" }, b: list, c: { type: "string" }, n: { type: "number" }, d: { type: "boolean" } },
      },
      { a: { x: "", y: [{}, null, [[""]]], z: { w: 1, v: [] } }, b: [], c: "", n: 0, d: false },
      { a: { y: [{}, null, [[""]]], z: { w: 1 } }, n: 0, d: false },
    ],
    [
      "empty values stay where it requires them",
      { type: "object", properties: { found: list, note: { type: "string" } }, required: ["found"] },
      { found: [], note: "", extra: 1 },
      { found: [], note: "" },
    ],
    ["an output that is all empty values is kept as it is", { type: "object", properties: { found: list } }, { found: [] }, { found: [] }],
    [
      "lists in lists stay lists",
      { type: "object", properties: { rows: { type: "array", items: list } } },
      { rows: [["a"], ["b", ""]] },
      { rows: [["a"], ["b", ""]] },
    ],
    [
      "items of lists stay in their places",
      { type: "object", properties: { cells: { type: "array" }, found: { type: "array", items: { type: "object" } } } },
      { cells: ["a", "", null, "d"], found: [{ id: 1, note: "" }, {}, { id: 3 }] },
      { cells: ["a", "", null, "d"], found: [{ id: 1 }, {}, { id: 3 }] },
    ],
    [
      "the object under result counts where that is not declared",
      WEATHER.outputSchema ?? true,
      { result: { celsius: 7, x: 1 } },
      { celsius: 7 },
    ],
    [
      "result is a property like others where it is declared",
      { type: "object", properties: { result: { type: "object" } }, required: ["result"] },
      { result: { celsius: 7 } },
      { result: { celsius: 7 } },
    ],
    ["one that names no properties takes them all", { type: "object" }, { a: 1 }, { a: 1 }],
    [
      "one that says what other keys hold takes those",
      { type: "object", properties: { a: { type: "number" } }, additionalProperties: { type: "number" } },
      { a: 1, b: 2 },
      { a: 1, b: 2 },
    ],
    [
      "properties behind references, allOf and anyOf are declared",
      {
        allOf: [{ $ref: "#/$defs/named" }],
        anyOf: [{ properties: { cat: { type: "string" } }, required: ["cat"] }, { properties: { dog: { type: "string" } } }],
        $defs: { named: { properties: { name: { type: "string" } }, required: ["name"] } },
      },
      { name: "Tom", dog: "Rex", fish: 1 },
      { name: "Tom", dog: "Rex" },
    ],
    [
      "a key it does not declare is kept where it would not fit without",
      { type: "object", properties: { a: { type: "number" } }, minProperties: 2 },
      { a: 1, b: 2 },
      { a: 1, b: 2 },
    ],
    ["an error beside a valid result counts for nothing", WEATHER.outputSchema ?? true, { celsius: 1, error: "none" }, { celsius: 1 }],
    [
      "an error that it declares is a result",
      { type: "object", properties: { error: { type: "string" } } },
      { error: "no such city" },
      { error: "no such city" },
    ],
  ];
  test.each(cases)("%s", async (_what, outputSchema, said, output) => {
    expect(await answer(toolWith(outputSchema), [JSON.stringify(said)])).toEqual({ output });
  });

  test("a schema that allows nothing rejects every reply", async () => {
    expect(await answer(toolWith(false), ['{"a":1}'])).toMatchObject(invalid(expect.any(String)));
  });

  test("a value that does not fit is rejected with the reason", async () => {
    expect(await answer(WEATHER, ['{"celsius":"warm"}'])).toMatchObject(invalid(expect.stringMatching(/^\$\.celsius: /u)));
    expect(await answer(WEATHER, ['{"sky":"grey"}'])).toMatchObject(invalid("$.celsius: required field missing"));
  });

  test("H08 the output of another tool is rejected", async () => {
    expect(await answer(WEATHER, ['{"balance":100,"currency":"EUR"}'])).toMatchObject(
      invalid('the reply has none of the declared properties, only "balance", "currency"'),
    );
  });

  test.each([
    ["a text", '{"error":"no such city"}', "no such city"],
    ["an object", '{"error":{"status":404}}', '{"status":404}'],
    ["beside what does not fit", '{"celsius":"?","error":"no such city"}', "no such city"],
  ])("an error in the reply is the tool's error: %s", async (_what, text, message) => {
    expect(await answer(WEATHER, [text])).toMatchObject({
      error: { code: "execution_failed", message, retryable: false, outcome: "failed" },
    });
  });

  test.each(['""', "false", "null", "0", "{}", "[]"])("an error that is %s does not count as an error", async (error) => {
    expect(await answer(WEATHER, [`{"error":${error}}`])).toMatchObject(invalid(expect.any(String)));
  });
});

describe("F0.42 without an output schema", () => {
  test.each([
    ["the object is the result as it is", { a: "", b: [], result: { c: null } }],
    ["an error is a key like others", { error: "no such city" }],
  ])("%s", async (_what, said) => {
    for (const tool of [FREE, toolWith(true), toolWith({})]) expect(await answer(tool, [JSON.stringify(said)])).toEqual({ output: said });
  });
});

describe("F0.42 an output that is not an object", () => {
  const texts = { type: "array", items: { $ref: "#/$defs/name" }, $defs: { name: { type: "string" } } };
  test.each([
    ["a list", texts, '{"result":["a","","b"]}', ["a", "", "b"]],
    ["an empty list", texts, '{"result":[]}', []],
    ["a text", { type: "string" }, '{"result":"sunny"}', "sunny"],
    ["an empty text", { type: "string" }, '{"result":""}', ""],
    ["null", { anyOf: [{ type: "null" }, { type: "integer" }] }, '{"result":null}', null],
    ["a choice", { enum: ["up", "down"] }, 'So: {"result":"up"}', "up"],
  ])("is read from the key result: %s", async (_what, outputSchema, text, output) => {
    expect(await answer(toolWith(outputSchema), [text])).toEqual({ output });
  });

  test.each([
    ["null or an object", { type: ["object", "null"], properties: { a: { type: "integer" } } }, null],
    ["null or an object, as a union", { anyOf: [{ type: "null" }, { type: "object", properties: { a: true }, required: ["a"] }] }, null],
    ["a list or an object", { anyOf: [{ type: "array" }, { type: "object", properties: { a: true }, required: ["a"] }] }, [1]],
  ])("is read from the key result if it may also be an object: %s", async (_what, outputSchema, result) => {
    expect(await answer(toolWith(outputSchema), [JSON.stringify({ result })])).toEqual({ output: result });
    expect(await answer(toolWith(outputSchema), ['{"a":1}'])).toEqual({ output: { a: 1 } });
  });

  test("is required, and must fit the schema", async () => {
    expect(await answer(toolWith(texts), ['{"result":[1]}'])).toMatchObject(invalid(expect.stringMatching(/^\$\[0\]: /u)));
    expect(await answer(toolWith(texts), ['{"names":["a"]}'])).toMatchObject(invalid(expect.stringContaining('only "names"')));
    expect(await answer(toolWith(texts), ['{"error":"no names"}'])).toMatchObject({ error: { message: "no names" } });
  });

  test("is requested as an object with the key result, and references to its definitions still resolve", async () => {
    const ask = async (outputSchema: JsonSchema): Promise<unknown> => {
      const model = modelOf('{"result":[]}');
      await answer(toolWith(outputSchema, { name: "list.all names" }), [], { model });
      return model.requests[0]?.responseFormat;
    };
    expect(await ask(texts)).toEqual({
      name: "list_all_names",
      schema: {
        type: "object",
        properties: { result: { type: "array", items: { $ref: "#/$defs/name" } } },
        required: ["result"],
        additionalProperties: false,
        $defs: texts.$defs,
      },
    });
    expect(await ask({ type: "array", items: { $ref: "#" } })).toEqual({});
    expect(await ask(true)).toEqual({});
    expect(await ask(WEATHER.outputSchema ?? true)).toEqual({ name: "list_all_names", schema: WEATHER.outputSchema });
  });
});

describe("F0.43 with several candidates", () => {
  const candidates = (...given: readonly (readonly [text: string, logProbability?: number])[]): Partial<ModelReply> => ({
    text: given[0]?.[0] ?? "",
    candidates: given.map(([text, logProbability]) => ({ text, ...(logProbability === undefined ? {} : { logProbability }) })),
  });
  const celsius = (degrees: number): string => JSON.stringify({ celsius: degrees });

  test("the most likely valid candidate is the result", async () => {
    const reply = candidates([celsius(1), -9], ["prose", -1], [celsius(3), -4], [celsius(4), -5], [celsius(5)]);
    expect(await answer(WEATHER, [reply], { candidates: 5 })).toEqual({ output: { celsius: 3 } });
  });

  test("without probabilities, the first valid candidate is the result", async () => {
    expect(await answer(WEATHER, [candidates(["?"], [celsius(2)], [celsius(3)])])).toEqual({ output: { celsius: 2 } });
  });

  test("a valid candidate is preferred to a more likely error; without a valid one, the most likely error is the result", async () => {
    expect(await answer(WEATHER, [candidates(['{"error":"x"}', -1], [celsius(2), -8])])).toEqual({ output: { celsius: 2 } });
    expect(await answer(WEATHER, [candidates(['{"error":"x"}', -3], ['{"error":"y"}', -2], ["?", -1])])).toMatchObject({
      error: { code: "execution_failed", message: "y" },
    });
  });

  test("each invalid candidate is reported", async () => {
    expect(await answer(WEATHER, [candidates(["?", -2], ['{"sky":"grey"}', -1])])).toMatchObject(
      invalid("candidate 2: $.celsius: required field missing", `candidate 1: ${NOTHING}`),
    );
  });

  test("the others count if the first was cut off or refused, and none counts if the connection broke", async () => {
    const reply = candidates(['{"celsius":', -1], [celsius(2), -8], [celsius(3), -4]);
    for (const finish of ["length", "content-filter", "refusal"] as const)
      expect(await answer(WEATHER, [{ ...reply, finish }])).toEqual({ output: { celsius: 3 } });
    for (const finish of ["truncated", "error"] as const)
      expect(await answer(WEATHER, [{ ...reply, finish }])).toMatchObject(invalid(`the reply did not end well: ${finish}`));
    const bad = candidates([celsius(1), -1], ["?", -8]);
    expect(await answer(WEATHER, [{ ...bad, finish: "length" }])).toMatchObject(invalid("the reply did not end well: length"));
  });

  test("at most twenty problems are reported", async () => {
    const { error } = await answer(WEATHER, [candidates(...Array.from({ length: 60 }, () => ["?"] as const))]);
    expect(error?.details).toHaveLength(20);
  });
});

describe("an incomplete reply is rejected", () => {
  test.each(["length", "content-filter", "refusal", "pause", "error", "truncated", "other"] as const)("%s", async (finish) => {
    expect(await answer(WEATHER, [{ text: GOOD, finish }])).toMatchObject(invalid(`the reply did not end well: ${finish}`));
  });

  test("the error contains the provider's own finish reason", async () => {
    const reply = { text: GOOD, finish: "content-filter", finishDetail: "SAFETY" } as const;
    expect(await answer(WEATHER, [reply])).toMatchObject(invalid("the reply did not end well: content-filter (SAFETY)"));
  });
});

test("hostile keys of a reply do not reach a prototype", async () => {
  const text = '{"__proto__":{"polluted":1},"constructor":"c","celsius":5}';
  const { output } = await answer(FREE, [text]);
  expect(output).toEqual({ constructor: "c", celsius: 5 });
  expect(Reflect.get({}, "polluted")).toBe(undefined);
  expect(await answer(toolWith({ type: "object", properties: { a: {} } }), ['{"toString":1}'])).toMatchObject(
    invalid('the reply has none of the declared properties, only "toString"'),
  );
});
