import { expect, test } from "vitest";
import { readFaultRules, type FaultRulesOptions } from "../../src/config/tables/faults-config.ts";
import { TableReader } from "../../src/config/table-reader.ts";
import type { FaultRule } from "../../src/core/answers/fault.ts";
import { KeyPositions } from "../../src/documents/key-positions.ts";
import { Problems } from "../../src/documents/problems.ts";
import { faultPolicy } from "../../src/policy/faults/fault.ts";

interface Read {
  readonly rules: readonly FaultRule[] | undefined;
  readonly problems: readonly string[];
}

function read(list: unknown, options?: FaultRulesOptions): Read {
  const problems = new Problems("haft.yaml", new KeyPositions());
  const rules = readFaultRules(
    new TableReader(list === undefined ? {} : { error_categories: list }, ["engines", "lm"], problems),
    "error_categories",
    options,
  );
  return { rules, problems: problems.formatLines().map((line) => line.replace("haft.yaml:1:1: engines.lm.", "")) };
}

test("F0.46 the error_categories of fms-dgt are read, and their errors are not retried", () => {
  const list = [
    { type: "network_error", probability: 0.05, message: "Connection timed out" },
    { type: "unparseable_result", probability: 0.05 },
    { type: "schema_violation", probability: 0.05, retryable: true },
  ];
  expect(read(list, { retryable: false })).toEqual({
    rules: [{ ...list[0], retryable: false }, { ...list[1], retryable: false }, list[2]],
    problems: [],
  });
  expect(read(undefined)).toEqual({ rules: undefined, problems: [] });
  expect(read([])).toEqual({ rules: [], problems: [] });
});

test("F0.46 every key of a rule is read, and faultPolicy accepts the rules", () => {
  const rule = { type: "latency", probability: 1, tools: ["a::*", "*::b"], message: "m", attempts: 2, delayMs: [1, 2], retryAfterMs: 5 };
  const { rules, problems } = read([rule, { ...rule, tools: "a::*", delayMs: 7 }]);
  expect(problems).toEqual([]);
  expect(rules).toEqual([rule, { ...rule, tools: "a::*", delayMs: 7 }]);
  expect(() => faultPolicy({ rules: rules ?? [] })).not.toThrow();
});

test.each([
  [
    { type: "netwrok_error" },
    'type: must be one of "network_error", "unparseable_result", "schema_violation", "empty_result", "latency", "timeout", "rate_limited", "partial_result", "crash_before_commit", "crash_after_commit", not "netwrok_error". Did you mean "network_error"?',
  ],
  [{ probability: 1.5 }, "probability: must be a number from 0 to 1, not 1.5."],
  [{ probability: -0.01 }, "probability: must be a number from 0 to 1, not -0.01."],
  [{ probability: Number.NaN }, "probability: must be a number from 0 to 1, not NaN."],
  [{ probability: "5%" }, "probability: must be a number from 0 to 1, not a string."],
  [{ probabilty: 1 }, 'probabilty: unknown key. Did you mean "probability"?'],
  [{ message: 5 }, "message: must be a string, not a number."],
  [
    { tools: "send" },
    'tools: "tools" has the pattern "send", which matches no tool: names are toolset::tool. Write "*::send" for this tool in every toolset, or "send::*" for the whole toolset.',
  ],
  [{ tools: ["a::*", ""] }, 'tools[1]: "tools" has an empty pattern.'],
  [{ attempts: 0 }, "attempts: must be an integer from 1, not 0."],
  [{ delayMs: [2, 1] }, "delayMs: must be a number of milliseconds or two of them, the smaller first, each up to 315576000000."],
  [{ delayMs: "1s" }, "delayMs: must be a number from 0 to 315576000000, not a string."],
])("F0.47 a rule with %j is reported with its place", (change, problem) => {
  expect(read([{ type: "timeout", probability: 0.5, ...change }]).problems).toEqual([`error_categories[0].${problem}`]);
});

test("F0.47 an incomplete rule and a value that is not a rule are reported and left out", () => {
  const { rules, problems } = read([{}, "network_error", { type: "timeout", probability: 1 }]);
  expect(rules).toEqual([{ type: "timeout", probability: 1 }]);
  expect(problems.map((problem) => problem.split(":")[0])).toEqual(["error_categories[1]", "error_categories[0]", "error_categories[0]"]);
  expect(read({ type: "timeout" }).problems).toEqual(["error_categories: must be an array of objects, not an object."]);
});

test("F0.50 a search may use its own error types, unless one is a misspelling of a built-in type", () => {
  const rules = [
    { type: "index_not_found", probability: 1 },
    { type: "quota_used_up", probability: 0 },
  ];
  expect(read(rules, { otherTypes: true })).toEqual({ rules, problems: [] });
  expect(read([{ type: "network-eror", probability: 1 }], { otherTypes: true }).problems).toEqual([
    'error_categories[0].type: is "network-eror". Did you mean "network_error"?',
  ]);
  expect(read(rules).problems.length).toBe(2);
});
