/** Checks an input as a call does before its tool runs, without running anything. */
import { copyJson, isJsonObject } from "../core/base/json.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { ParsedInput, Tool } from "../core/tool.ts";
import { isPromiseLike } from "../policy/attempts/deadline.ts";
import type { Validator } from "../schema/compile-schema.ts";
import { repairInput, type RepairOptions } from "../schema/repair/repair-input.ts";
import { ValidationResult } from "../schema/validation-result.ts";

/** Checks in the order of a call: the schema with its repairs, the tool's own rules, the program's schema library. */
export async function checkInput(
  tool: Tool,
  validator: Validator,
  options: RepairOptions & { readonly given: unknown },
): Promise<ValidationResult> {
  const fit = repairInput(copyGiven(options.given), validator, options);
  if (!fit.ok) return new ValidationResult(fit.problems.map(({ path, message }) => `${path}: ${message}`));
  const problems = tool.validate === undefined ? [] : readProblems(tool.validate(fit.value));
  const parsed = problems.length > 0 || tool.parseInput === undefined ? undefined : readParsed(await tool.parseInput(fit.value), "input");
  const issues = parsed !== undefined && "issues" in parsed ? parsed.issues : [];
  return new ValidationResult([...problems, ...issues], "input", {
    warnings: fit.repairs.map(({ path, note }) => `${path}: ${note}`),
    input: fit.value,
  });
}

function copyGiven(given: unknown): ReturnType<typeof copyJson>["value"] {
  try {
    return copyJson(given ?? {}).value;
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", `The input cannot be read: ${describeThrown(error)}`, { cause: error });
  }
}

/** Returns the problems found by a tool's own rules. @throws TypeError for anything but an array, which would not prove that the input is valid */
export function readProblems(problems: unknown): readonly string[] {
  if (Array.isArray(problems)) return problems.map((problem) => describeThrown(problem));
  if (isPromiseLike(problems)) void Promise.resolve(problems).then(undefined, () => {}); // returning a promise is itself the error
  throw new TypeError("its validate() did not return an array of problems");
}

/** Reads the answer of a schema library. @throws TypeError for any other value, which would not prove that the value is valid */
export function readParsed(answer: unknown, what: "input" | "output"): ParsedInput {
  if (isJsonObject(answer)) {
    const { issues } = answer;
    if (Array.isArray(issues)) return { issues: issues.map((issue) => describeThrown(issue)) };
    if (issues === undefined && "value" in answer) return { value: answer["value"] };
  }
  throw new TypeError(`its ${what} check returned neither a value nor an array of issues`);
}
