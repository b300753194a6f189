/** The Berkeley function calling set against our import, validation and repair. Skipped where the data is absent. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type JsonObject, type JsonValue, copyJson, isJsonObject } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { compileSchema, type Validator } from "../../src/schema/compile-schema.ts";
import { importSchema } from "../../src/schema/import-schema.ts";
import { defaultWarnings, repairInput } from "../../src/schema/repair/repair-input.ts";

const folder = join(process.env["HAFT_CASES"] ?? "../shared/cases", "bfcl");
const present = existsSync(folder);
if (!present) console.log(`skipped: no cases in ${folder}`);

interface ToolRow {
  readonly id: string;
  readonly inputSchema: JsonObject;
  readonly rawParameters: JsonObject;
}

interface ExpectedCall {
  readonly tool: string;
  readonly arguments: JsonObject;
  readonly valid: boolean;
  readonly errors?: readonly { readonly path: string; readonly keyword: string }[];
}

interface NegativeRow {
  readonly tool: string;
  readonly mutation: string;
  readonly argumentsText: string;
  readonly oracle: { readonly open: boolean; readonly closed: boolean; readonly coerced: boolean };
}

function rows(name: string): readonly unknown[] {
  const lines = readFileSync(join(folder, name), "utf8").trim().split("\n");
  return lines.map((line) => JSON.parse(line));
}

interface Imported {
  readonly schema: JsonSchema;
  readonly open: Validator;
  readonly closed: Validator;
}

/** The oracle's "closed" forbids other keys at the top level only. */
function importTools(tools: readonly ToolRow[]): ReadonlyMap<string, Imported> {
  return new Map(
    tools.map(({ id, rawParameters }) => {
      const { schema } = importSchema(rawParameters);
      if (!isJsonObject(schema)) throw new Error(`${id} is not an object`);
      return [id, { schema, open: compileSchema(schema), closed: compileSchema({ ...schema, additionalProperties: false }) }];
    }),
  );
}

/** Theirs marks what it renamed: foreign type words beside the type, the foreign keyword `optional` as `x-optional`. */
function withoutMarks(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(withoutMarks);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).filter(([key]) => key !== "x-source-type");
  return Object.fromEntries(members.map(([key, item]) => [key === "x-optional" ? "optional" : key, withoutMarks(item)]));
}

/** What was sent, again: the fitted input without the defaults that were reported. */
function withoutDefaults(sent: JsonValue, fitted: JsonValue | undefined): JsonValue | undefined {
  if (!isJsonObject(sent) || !isJsonObject(fitted)) return fitted;
  return Object.fromEntries(Object.entries(sent).map(([key, item]) => [key, withoutDefaults(item, fitted[key]) ?? null]));
}

/** `coerced "horror" → "Horror"` */
function isCaseOnly(note: string): boolean {
  const [, from, to] = /^coerced (".*") → (".*")$/u.exec(note) ?? [];
  return from !== undefined && from.toLowerCase() === to?.toLowerCase();
}

function count(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

describe.skipIf(!present)("BFCL", () => {
  const toolRows = present ? (rows("tools.jsonl") as readonly ToolRow[]) : [];
  const tools = importTools(toolRows);
  const toolOf = (id: string): Imported => {
    const tool = tools.get(id);
    if (tool === undefined) throw new Error(`no tool ${id}`);
    return tool;
  };

  test("every published schema is imported without losing a type, and compiles", () => {
    const differing = toolRows.filter(({ id, inputSchema }) => {
      return JSON.stringify(withoutMarks(toolOf(id).schema as JsonObject)) !== JSON.stringify(withoutMarks(inputSchema));
    });
    console.log(`BFCL: ${tools.size} schemas imported and compiled`);
    expect(toolRows.length).toBeGreaterThan(3000);
    expect(tools.size).toBe(toolRows.length);
    expect(differing.map(({ id }) => id)).toEqual([]);
  });

  test("A23 defaults that do not fit their schema are found", () => {
    const warnings = [...tools.values()].flatMap((tool) => defaultWarnings(tool.open));
    console.log(`BFCL: ${warnings.length} defaults of optional properties break their own schema`);
    expect(warnings.length).toBeGreaterThan(500);
  });

  test("valid published calls are unchanged except for reported defaults; invalid ones are rejected, unless only letter case is wrong", () => {
    const cases = rows("cases.jsonl") as readonly { readonly expectedCalls?: readonly ExpectedCall[] }[];
    const calls = cases.flatMap((row) => row.expectedCalls ?? []);
    const repairs: Record<string, number> = {};
    const accepted: string[] = [];
    for (const call of calls) {
      const outcome = repairInput(copyJson(call.arguments).value, toolOf(call.tool).open, { dropUnknownKeys: false });
      expect(toolOf(call.tool).open.check(call.arguments), JSON.stringify(call)).toBe(call.valid);
      if (call.valid) {
        expect(outcome.ok && withoutDefaults(call.arguments, outcome.value), JSON.stringify(call)).toEqual(call.arguments);
        if (outcome.ok) for (const repair of outcome.repairs) count(repairs, repair.kind);
      } else if (outcome.ok) {
        accepted.push(...outcome.repairs.map((repair) => `${repair.kind} ${repair.note}`));
      } else {
        const first = call.errors?.[0];
        expect({ path: outcome.problems[0]?.pointer, keyword: outcome.problems[0]?.keyword }, JSON.stringify(call)).toEqual({
          path: first?.path,
          keyword: first?.keyword,
        });
      }
    }
    const valid = calls.filter((call) => call.valid).length;
    console.log(
      `BFCL: ${valid} valid calls accepted, ${calls.length - valid} violations, ${accepted.length} of them repaired: ${accepted.join("; ")}; repairs of valid calls: ${JSON.stringify(repairs)}`,
    );
    expect(Object.keys(repairs).filter((kind) => kind !== "defaulted")).toEqual([]);
    expect(accepted.filter((note) => !isCaseOnly(note))).toEqual([]);
  });

  test("A07 A18 mutated calls get the oracle's verdict, with open and closed schemas; repairs differ in four intended ways", () => {
    const negatives = rows("negatives.jsonl") as readonly NegativeRow[];
    const wrong = { open: 0, closed: 0 };
    const differing: Record<string, number> = {};
    const mutations: Record<string, number> = {};
    const leftOut: JsonValue[] = [];
    let acceptedByBoth = 0;
    for (const row of negatives) {
      const { open, closed } = toolOf(row.tool);
      const input = parseJson(row.argumentsText);
      if (open.check(input) !== row.oracle.open) wrong.open++;
      if (closed.check(input) !== row.oracle.closed) wrong.closed++;
      const outcome = repairInput(copyJson(input).value, open, { dropUnknownKeys: false });
      count(mutations, row.mutation);
      if (outcome.ok !== row.oracle.coerced) count(differing, `${row.mutation}: ours ${outcome.ok ? "accepts" : "refuses"}`);
      if (row.mutation === "null_value" && outcome.ok) {
        leftOut.push(outcome.value);
        if (row.oracle.coerced) acceptedByBoth++;
      }
    }
    console.log(
      `BFCL: ${negatives.length} mutated calls; verdicts against the oracle: open ${wrong.open}, closed ${wrong.closed} wrong; with repairs: ${JSON.stringify(differing)}`,
    );
    expect(wrong).toEqual({ open: 0, closed: 0 });
    // Text input is decoded once (the oracle does not); null is never made a value, nor a number text (the oracle does), but is how a
    // model in strict mode leaves an optional key out.
    expect(Object.keys(differing).sort()).toEqual([
      "args_is_string: ours accepts",
      "null_value: ours accepts",
      "null_value: ours refuses",
      "wrong_type: ours refuses",
    ]);
    expect(differing["args_is_string: ours accepts"]).toBe(mutations["args_is_string"]);
    const coercedByOracle = (mutation: string): number => negatives.filter((row) => row.mutation === mutation && row.oracle.coerced).length;
    expect(differing["null_value: ours refuses"]).toBe(coercedByOracle("null_value") - acceptedByBoth);
    expect(differing["wrong_type: ours refuses"]).toBe(coercedByOracle("wrong_type"));
    expect(JSON.stringify(leftOut)).not.toContain("null");
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});
