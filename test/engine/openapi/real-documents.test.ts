/** Documents of real services, as far as they are at hand: `../shared/cases` or `$HAFT_CASES`. Figures are printed, caps are generous. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { parseJson } from "../../../src/core/base/parse-json.ts";
import { importOpenApi, type ImportedOperation } from "../../../src/engine/openapi/import-openapi.ts";
import { Registry } from "../../../src/registry/registry.ts";
import { IN_CI, inCI } from "../../ci.ts";

const FOLDER = join(process.env["HAFT_CASES"] ?? join(import.meta.dirname, "../../../../shared/cases"), "openapi");
const SUFFIX = ".expected.json.gz";
const NAMES = existsSync(FOLDER)
  ? readdirSync(FOLDER).flatMap((file) => (file.endsWith(SUFFIX) ? [file.slice(0, -SUFFIX.length)] : []))
  : [];

/** What the expected files say of one operation. */
interface Expected {
  readonly method: string;
  readonly path: string;
  readonly operationId: string | null;
  readonly params: readonly { readonly name: string; readonly in: string; readonly required: boolean }[];
  readonly bodyTypes: readonly string[];
  readonly bodyRequired: boolean;
  readonly cyclicInput?: boolean;
  readonly collidingNames?: readonly string[];
  readonly deprecated?: boolean;
}

function readFile(name: string): unknown {
  const bytes = readFileSync(join(FOLDER, name));
  const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString();
  return parseJson(text, { maxChars: Number.MAX_SAFE_INTEGER, maxDepth: 200 });
}

function readDocument(name: string): JsonObject {
  const file = [`${name}.json`, `${name}.json.gz`].find((each) => existsSync(join(FOLDER, each)));
  const document = readFile(file ?? `${name}.json`);
  if (!isJsonObject(document)) throw new Error(`${name} is not an object`);
  return document;
}

function readExpected(name: string): readonly Expected[] {
  const expected = readFile(name + SUFFIX);
  if (!Array.isArray(expected)) throw new Error(`the expected file of ${name} is not a list`);
  return expected as readonly Expected[]; // the case folder is checked when it is made
}

/** The same of what was imported; fields of a form count as parameters in Swagger 2.0. */
function found({ tool, operation }: ImportedOperation, isSwagger: boolean): Omit<Expected, "cyclicInput" | "collidingNames"> {
  const fields = isSwagger && Array.isArray(operation.body?.fields) ? operation.body.fields : [];
  const params = [
    ...operation.parameters.map((parameter) => ({ name: parameter.name, in: parameter.in, required: parameter.required })),
    ...fields.map(({ name, required }) => ({ name, in: "formData", required })),
  ];
  const http: unknown = tool.metadata?.["http"];
  return {
    method: operation.method,
    path: operation.path,
    operationId: isJsonObject(http) && typeof http["operationId"] === "string" ? http["operationId"] : null,
    params: sorted(params),
    bodyTypes: operation.body?.mediaTypes ?? [],
    bodyRequired: operation.body?.required ?? false,
    ...(tool.description.startsWith("Deprecated.") ? { deprecated: true } : {}),
  };
}

function sorted(params: Expected["params"]): Expected["params"] {
  return params.toSorted((one, other) => (`${one.in} ${one.name}` < `${other.in} ${other.name}` ? -1 : 1));
}

/** What of the input a request takes: nothing that is asked for is lost. */
function sentKeys({ operation: { parameters, body } }: ImportedOperation): readonly string[] {
  const asked = parameters.flatMap(({ key, supplied }) => (supplied === true ? [] : [key]));
  if (body === undefined) return asked;
  return [...asked, ...("key" in body.fields ? [body.fields.key] : body.fields.map(({ key }) => key))];
}

/** Keys of the input that stand for one name. */
function keysOf({ operation }: ImportedOperation, name: string): ReadonlySet<string> {
  const fields = Array.isArray(operation.body?.fields) ? operation.body.fields : [];
  return new Set([...operation.parameters, ...fields].filter((each) => each.name === name).map(({ key }) => key));
}

/** The three largest say the same; CI takes them all. */
const TRIED = NAMES.filter((name) => inCI || !["kubernetes", "stripe"].includes(name));

test.skipIf(TRIED.length === 0).each(TRIED)(
  "F0.19 F0.20 F12 F13 F14 L22 %s: every operation has the parameters, bodies and names of its expected file (skipped without the case folder)",
  { timeout: 240_000 },
  (name) => {
    const document = readDocument(name);
    const startedAt = performance.now();
    const { operations, warnings } = importOpenApi(document, { origin: `${name}.json` });
    const ms = performance.now() - startedAt;
    const expected = readExpected(name);
    const isSwagger = Object.hasOwn(document, "swagger");

    const byAddress = new Map(operations.map((each) => [`${each.operation.method} ${each.operation.path}`, each]));
    expect([operations.length, byAddress.size]).toEqual([expected.length, expected.length]);
    for (const { cyclicInput, collidingNames = [], params, ...rest } of expected) {
      const operation = byAddress.get(`${rest.method} ${rest.path}`);
      expect(operation === undefined ? undefined : found(operation, isSwagger)).toEqual({ ...rest, params: sorted(params) });
      if (operation === undefined) continue;
      expect(Object.keys(Object(Reflect.get(Object(operation.tool.inputSchema), "properties")))).toEqual(sentKeys(operation));
      for (const each of collidingNames) expect(keysOf(operation, each).size).toBeGreaterThan(1);
      if (cyclicInput === true) expect(JSON.stringify(operation.tool.inputSchema)).toContain("#/$defs/");
    }

    const registry = new Registry();
    registry.addToolset({ name: "api", tools: operations.map(({ tool }) => tool) });
    const registered = registry.list();
    expect(registered.length).toBe(expected.length);
    expect(registered.flatMap(({ quarantine }) => quarantine?.message ?? [])).toEqual([]);
    expect(registered.filter(({ tool }) => !/^[A-Za-z0-9_-]{1,64}$/u.test(tool.name))).toEqual([]);
    console.info(`${name}: ${operations.length} operations in ${ms.toFixed(0)} ms, ${warnings.length} warnings`);
  },
);

test.skipIf(!inCI || !NAMES.includes("github"))(
  `F13 L22 GitHub's 1,223 operations stay within 512 MB (skipped without the case folder) ${IN_CI}`,
  { timeout: 240_000 },
  () => {
    const document = readDocument("github");
    const before = process.memoryUsage().heapUsed;
    const { operations } = importOpenApi(document, { origin: "github.json" });
    const used = process.memoryUsage().heapUsed - before;
    expect(operations.length).toBe(1_223);
    expect(used).toBeLessThan(512 * 1024 * 1024);
  },
);

test.skipIf(!NAMES.includes("github") || !inCI)(
  `F14 importing twice gives the same names ${IN_CI} (skipped without the case folder)`,
  { timeout: 240_000 },
  () => {
    const names = (): readonly string[] =>
      importOpenApi(readDocument("github"), { origin: "github.json" }).operations.map(({ tool }) => tool.name);
    const first = names();
    expect(new Set(first).size).toBe(1_223);
    expect(names()).toEqual(first);
  },
);
