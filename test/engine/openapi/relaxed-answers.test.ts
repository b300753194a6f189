/** No answer that the document's own schema allows is refused, however the schema was relaxed. */
import fc from "fast-check";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import { importOpenApi } from "../../../src/engine/openapi/import-openapi.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { exampleValue } from "../../../src/schema/example/example-value.ts";
import { arbitrarySchema } from "../../schema/arbitrary-schema.ts";
import { only, openApi } from "./imported.ts";
import { OriginalSchema } from "./original-schema.ts";
import { inCI } from "../../ci.ts";

function answering(schema: JsonValue): JsonObject {
  return openApi("3.1", { "/a": { get: { responses: { "200": { content: { "application/json": { schema } } } } } } });
}

function refusals(document: JsonObject, value: unknown): readonly string[] {
  const { outputSchema } = only(document).tool;
  return outputSchema === undefined
    ? []
    : compileSchema(outputSchema)
        .problems(value, 5)
        .map(({ message }) => message);
}

const CLOSED = (key: string): JsonObject => ({
  type: "object",
  properties: { [key]: { type: "string" } },
  required: [key],
  additionalProperties: false,
});

test.each<readonly [what: string, schema: JsonObject, answer: JsonValue]>([
  [
    "two closed objects, of which the first came",
    {
      oneOf: [
        { ...CLOSED("a"), required: [] },
        { ...CLOSED("b"), required: [] },
      ],
    },
    { a: "x" },
  ],
  [
    "alternatives told apart by a bound",
    {
      oneOf: [
        { type: "integer", maximum: 5 },
        { type: "integer", minimum: 6 },
      ],
    },
    3,
  ],
  [
    "alternatives told apart by an optional field",
    { oneOf: [{ type: "object", properties: { k: { const: 1 } } }, { type: "null" }] },
    null,
  ],
  ["two choices", { anyOf: [{ type: "string" }, { type: "integer" }], oneOf: [{ minLength: 3 }, { maxLength: 2 }] }, "x"],
  ["what it must not be, by a bound", { not: { type: "integer", minimum: 5 } }, 3],
  ["what it must not be, by closed fields", { type: "object", not: { ...CLOSED("a"), required: [] } }, { b: 1 }],
  ["a condition on a bound", { type: "integer", if: { maximum: 5 }, then: { multipleOf: 2 }, else: { const: 7 } }, 7],
  ["no matching item is asked for", { type: "array", contains: { const: 1 }, minContains: 0 }, []],
  [
    "fields that nothing else evaluated",
    { type: "object", if: { required: ["a"], properties: { a: {} } }, unevaluatedProperties: { type: "string" } },
    { a: 1 },
  ],
  ["items that nothing else evaluated", { type: "array", contains: { type: "integer" }, unevaluatedItems: { type: "string" } }, [1, "a"]],
  [
    "fields whose pattern cannot be used",
    { type: "object", patternProperties: { "(?=x)": { type: "integer" } }, additionalProperties: { type: "string" } },
    { x: 1 },
  ],
  [
    "a field that is only written",
    { type: "object", properties: { p: { type: "integer", writeOnly: true } }, additionalProperties: { type: "string" } },
    { p: 1 },
  ],
])("F0.20 an answer that its own schema allows is accepted: %s", (_, schema, answer) => {
  expect(refusals(answering(schema), answer)).toEqual([]);
});

const RANDOM_SCHEMAS = inCI ? 400 : 30;

test("F0.20 an answer that a random schema allows is accepted by the imported schema", { timeout: 240_000 }, () => {
  let compared = 0;
  fc.assert(
    fc.property(arbitrarySchema, fc.integer({ min: 0, max: 1_000_000 }), (schema, seed) => {
      const { value, valid } = exampleValue(schema, { random: seededRandom(seed) });
      if (!valid) return;
      compared++;
      expect(refusals(answering(schema), value)).toEqual([]);
    }),
    { numRuns: RANDOM_SCHEMAS },
  );
  expect(compared).toBeGreaterThan(RANDOM_SCHEMAS * 0.3);
});

const FOLDER = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases"), "openapi");
const FILES = existsSync(FOLDER)
  ? readdirSync(FOLDER).filter((file) => /\.json(?:\.gz)?$/u.test(file) && !/expected|^index/u.test(file))
  : [];

/** Each takes some seconds; outside CI the small ones show the way. */
const CHOSEN = inCI ? FILES : FILES.filter((file) => !file.endsWith(".gz"));

test.skipIf(CHOSEN.length === 0).each(CHOSEN)(
  "F0.20 %s: every answer that an operation's own schema allows is accepted (skipped without the case folder)",
  { timeout: 300_000 },
  (file) => {
    const bytes = readFileSync(join(FOLDER, file));
    const text = (file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
    const document = parseJson(text, { maxChars: Number.MAX_SAFE_INTEGER, maxDepth: 200 });
    if (!isJsonObject(document)) throw new Error(`${file} is not an object`);
    const refused: string[] = [];
    /** Most operations of a large document answer with what another one does; each answer is tried once. */
    const tried = new Set<string>();
    let compared = 0;
    let operations = 0;
    for (const { tool, operation } of importOpenApi(document, { origin: file }).operations) {
      if (tool.outputSchema === undefined) continue;
      operations++;
      const schemas = successSchemas(document, operation.method, operation.path);
      const answers = JSON.stringify(schemas);
      if (tried.has(answers)) continue;
      tried.add(answers);
      const relaxed = compileSchema(tool.outputSchema);
      for (const schema of schemas) {
        const { value, valid } = exampleValue(new OriginalSchema(document).read(schema), { random: seededRandom(operations) });
        if (!valid) continue;
        compared++;
        const [problem] = relaxed.problems(value, 1);
        if (problem !== undefined) refused.push(`${tool.name} ${problem.path} ${problem.message}`);
      }
    }
    console.info(`${file}: ${compared} different answers of ${operations} operations`);
    expect(refused).toEqual([]);
  },
);

/** The schemas of JSON that an operation answers with when it succeeds, as the document has them. */
function successSchemas(document: JsonObject, method: string, path: string): readonly JsonObject[] {
  const original = new OriginalSchema(document);
  const follow = (raw: unknown): unknown => {
    const reference: unknown = Reflect.get(Object(raw), "$ref");
    return typeof reference === "string" ? follow(original.target(reference)) : raw;
  };
  const at = (raw: unknown, key: string): unknown => follow(Reflect.get(Object(follow(raw)), key));
  const operation = at(at(at(document, "paths"), path), method.toLowerCase());
  const responses = Object.entries(Object(at(operation, "responses")));
  return responses
    .filter(([status]) => /^2(?:\d\d|XX)$/iu.test(status))
    .flatMap(([, response]) => {
      const schema: unknown = Object.hasOwn(document, "swagger")
        ? Reflect.get(Object(follow(response)), "schema")
        : Reflect.get(Object(at(at(response, "content"), "application/json")), "schema");
      return isJsonObject(schema) ? [schema] : [];
    });
}
