/** Values for the schemas of the official JSON Schema Test Suite, as far as it is at hand: `../shared/cases` or `$HAFT_CASES`. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { isJsonObject } from "../../../src/core/base/json.ts";
import { seededRandom } from "../../../src/core/base/seeded-random.ts";
import type { JsonSchema } from "../../../src/core/tool.ts";
import { compileSchema } from "../../../src/schema/compile-schema.ts";
import { exampleValue } from "../../../src/schema/example/example-value.ts";

const SUITE = join(process.env["HAFT_CASES"] ?? resolve("../shared/cases"), "json-schema-test-suite/tests");

interface SuiteCase {
  readonly description: string;
  readonly schema: JsonSchema;
  readonly tests: readonly { readonly valid: boolean }[];
}

const DRAFTS = [
  { directory: "draft2020-12", dialect: "https://json-schema.org/draft/2020-12/schema", least: 330 },
  { directory: "draft2019-09", dialect: "https://json-schema.org/draft/2019-09/schema", least: 300 },
  { directory: "draft7", dialect: "http://json-schema.org/draft-07/schema#", least: 228 },
];

function casesIn(folder: string): readonly SuiteCase[] {
  const files = readdirSync(join(SUITE, folder)).filter((name) => name.endsWith(".json"));
  return files.flatMap((file): readonly SuiteCase[] => JSON.parse(readFileSync(join(SUITE, folder, file), "utf8")));
}

function compiles(schema: JsonSchema): boolean {
  try {
    compileSchema(schema);
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!existsSync(SUITE)).each(DRAFTS)(
  `F0.40 every schema of $directory terminates, and 98 % of the satisfiable ones get a valid value (skipped when ${SUITE} is absent)`,
  ({ directory, dialect, least }) => {
    const count = { schemas: 0, elsewhere: 0, satisfiable: 0, valid: 0 };
    const missed: string[] = [];
    const optional = join(directory, "optional");
    const required = casesIn(directory);
    for (const suiteCase of [...required, ...casesIn(optional)]) {
      const raw = suiteCase.schema;
      const schema = isJsonObject(raw) && !Object.hasOwn(raw, "$schema") ? { $schema: dialect, ...raw } : raw;
      count.schemas++;
      if (!compiles(schema)) {
        count.elsewhere++;
        continue;
      }
      const { value, valid } = exampleValue(schema, { random: seededRandom(1) });
      expect(compileSchema(schema).check(value), suiteCase.description).toBe(valid);
      if (!required.includes(suiteCase) || !suiteCase.tests.some((each) => each.valid)) continue;
      count.satisfiable++;
      if (valid) count.valid++;
      else missed.push(`${suiteCase.description}: ${JSON.stringify(value)}`);
    }
    console.log(directory, JSON.stringify(count), missed.join("\n"));
    expect(count.satisfiable).toBeGreaterThanOrEqual(least);
    expect(count.valid / count.satisfiable, missed.join("\n")).toBeGreaterThanOrEqual(0.98);
  },
);
