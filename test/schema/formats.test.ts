/** `format`, where it is asked for: the official suite's cases, then what messages say and what they cost. */
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { isJsonObject } from "../../src/core/base/json.ts";
import { seededRandom } from "../../src/core/base/seeded-random.ts";
import { compileSchema } from "../../src/schema/compile-schema.ts";
import { exampleValue } from "../../src/schema/example/example-value.ts";
import { KNOWN_FORMATS } from "../../src/schema/format/known-formats.ts";
import { repeated } from "../ci.ts";

const SUITE = join(process.env["HAFT_CASES"] ?? resolve("../shared/cases"), "json-schema-test-suite/tests");

interface SuiteCase {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly { readonly description: string; readonly data: unknown; readonly valid: boolean }[];
}

const DRAFTS = [
  { directory: "draft2020-12", dialect: "https://json-schema.org/draft/2020-12/schema" },
  { directory: "draft2019-09", dialect: "https://json-schema.org/draft/2019-09/schema" },
  { directory: "draft7", dialect: "http://json-schema.org/draft-07/schema#" },
];
/** What an encoded label decodes to is not looked at: that would need tables of all scripts. */
const NEEDS_TABLES = /^hostname\.json: validation of A-label.*"xn--/iu;
/** Not checked: see `KNOWN_FORMATS`. */
const UNKNOWN = new Set(["idn-hostname.json"]);

function run(directory: string, dialect: string): { readonly total: number; readonly failures: readonly string[] } {
  const folder = join(SUITE, directory, "optional/format");
  const failures: string[] = [];
  let total = 0;
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".json") && !UNKNOWN.has(name))) {
    const cases: readonly SuiteCase[] = JSON.parse(readFileSync(join(folder, file), "utf8"));
    for (const { description, schema, tests } of cases) {
      const whole = isJsonObject(schema) && !Object.hasOwn(schema, "$schema") ? { $schema: dialect, ...schema } : schema;
      const validator = compileSchema(whole, { formats: true });
      for (const { description: title, data, valid } of tests) {
        total++;
        if (validator.check(data) !== valid) failures.push(`${file}: ${description}: ${title} (${JSON.stringify(data)})`);
      }
    }
  }
  return { total, failures };
}

describe.skipIf(!existsSync(SUITE))(`F2.5 formats of the official test suite (skipped when ${SUITE} is absent)`, () => {
  test.each(DRAFTS)("$directory: the cases of checked formats pass, except those that need Unicode tables", ({ directory, dialect }) => {
    const { total, failures } = run(directory, dialect);
    console.log(`${directory} optional/format: ${total - failures.length}/${total}`);
    expect(failures.filter((failure) => !NEEDS_TABLES.test(failure))).toEqual([]);
    expect(failures.length / total).toBeLessThan(0.04);
  });
});

describe("checked formats", () => {
  test("F2.5 a message has the expected format with an example, and the actual value", () => {
    const validator = compileSchema({ properties: { day: { type: "string", format: "date" } } }, { formats: true });
    expect(validator.problems({ day: "2026-02-30" })).toEqual([
      { path: "$.day", pointer: "/day", keyword: "format", message: 'expected a date such as 2026-01-31, got "2026-02-30"' },
    ]);
  });

  test("a pattern beside a format is mentioned only if the text has the format", () => {
    const day = { type: "string", format: "date", pattern: "^2026-" };
    const lines = (formats: boolean, text: string): readonly string[] =>
      compileSchema(day, { formats })
        .problems(text)
        .map(({ message }) => message);
    for (const formats of [true, false]) {
      expect(lines(formats, "today")).toEqual(['expected a date such as 2026-01-31, got "today"']);
      expect(lines(formats, "2025-01-31")).toEqual(['expected a date such as 2026-01-31 that matches ^2026-, got "2025-01-31"']);
      expect(lines(formats, "2026-01-31")).toEqual([]);
    }
    expect(compileSchema({ ...day, format: "coffee" }).problems("x")[0]?.message).toBe('expected a string that matches ^2026-, got "x"');
  });

  test.each([
    [
      "regex",
      ["^[\\w-.]+@[\\w-]+$", "\\-\\_\\@", "[^]]", "a{", "\\p{L}", "(?<year>\\d{4})"],
      ["(?i)abc", "[a-z", "a\\Z", "(?P<n>x)", "[\\w-.]\\e"],
    ],
    ["hostname", ["r3---sn-abc.googlevideo.com", "ab--cd.com", "xn--bcher-kva.example"], ["xn--.com", "xn--X", "-a.com"]],
  ])("%s: values in real use are accepted", (format, fitting, others) => {
    const validator = compileSchema({ format }, { formats: true });
    expect([...fitting, ...others].filter((text) => validator.check(text))).toEqual(fitting);
  });

  test.each([...KNOWN_FORMATS])("%s: its example and generated values are valid, and other types are ignored", (format, { example }) => {
    const schema = { format };
    const validator = compileSchema(schema, { formats: true });
    expect(validator.check(example)).toBe(true);
    expect(validator.check(5)).toBe(true);
    for (let seed = 0; seed < 50; seed++) {
      const { value } = exampleValue({ type: "string", format }, { random: seededRandom(seed) });
      expect([value, validator.check(value)]).toEqual([value, true]);
    }
  });

  test.each([...KNOWN_FORMATS.keys()])(
    "%s: a text of a million characters (200,000 outside CI) is checked without an exception",
    (format) => {
      const validator = compileSchema({ format }, { formats: true });
      for (const piece of ["a", "1", "a.", "-", "/a", "~", "%", "{a}", "(", "1:", "@", "é", "[", "P1"]) {
        const text = piece.repeat(repeated(1_000_000) / piece.length);
        expect(typeof validator.check(text)).toBe("boolean");
        expect(typeof validator.check(`${text}\n`)).toBe("boolean");
      }
    },
  );

  test("formats are not enforced by default, nor if they are unknown", () => {
    expect(compileSchema({ format: "date" }).check("tomorrow")).toBe(true);
    expect(compileSchema({ format: "colour" }, { formats: true }).check("tomorrow")).toBe(true);
  });
});
