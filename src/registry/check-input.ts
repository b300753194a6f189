/** Checks an input as a call does before its tool runs, and runs nothing. */
import { copyJson, isJsonObject } from "../core/base/json.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { ParsedInput, Tool } from "../core/tool.ts";
import { isPromiseLike } from "../policy/attempts/deadline.ts";
import type { Validator } from "../schema/compile-schema.ts";
import { fitInput, type RepairOptions } from "../schema/repair/repair-input.ts";
import { ValidationResult } from "../schema/validation-result.ts";

/** In the order of a call: the schema with its repairs, the rules of the tool itself, the program's own schema library. */
export async function checkInput(
  tool: Tool,
  validator: Validator,
  options: RepairOptions & { readonly given: unknown },
): Promise<ValidationResult> {
  const fit = fitInput(copied(options.given), validator, options);
  if (!fit.ok) return new ValidationResult(fit.problems.map(({ path, message }) => `${path}: ${message}`));
  const problems = tool.validate === undefined ? [] : readProblems(tool.validate(fit.value));
  const parsed = problems.length > 0 || tool.parseInput === undefined ? undefined : readParsed(await tool.parseInput(fit.value), "input");
  const issues = parsed !== undefined && "issues" in parsed ? parsed.issues : [];
  return new ValidationResult([...problems, ...issues], "input", {
    warnings: fit.repairs.map(({ path, note }) => `${path}: ${note}`),
    input: fit.value,
  });
}

function copied(given: unknown): ReturnType<typeof copyJson>["value"] {
  try {
    return copyJson(given ?? {}).value;
  } catch (error: unknown) {
    throw new ToolError("invalid_argument", `The input cannot be read: ${describeThrown(error)}`, { cause: error });
  }
}

/** The problems that a tool's own rules found. @throws TypeError for anything but an array: it has not said that the input is right */
export function readProblems(problems: unknown): readonly string[] {
  if (Array.isArray(problems)) return problems.map((problem) => describeThrown(problem));
  if (isPromiseLike(problems)) void Promise.resolve(problems).then(undefined, () => {}); // its failure needs no handling: the promise itself is the mistake
  throw new TypeError("its validate() did not answer with an array of problems");
}

/** The answer of a schema library. @throws TypeError for what is no answer: it has not said that the value is right */
export function readParsed(answer: unknown, what: "input" | "output"): ParsedInput {
  if (isJsonObject(answer)) {
    const { issues } = answer;
    if (Array.isArray(issues)) return { issues: issues.map((issue) => describeThrown(issue)) };
    if (issues === undefined && "value" in answer) return { value: answer["value"] };
  }
  throw new TypeError(`its ${what} check gave neither a value nor an array of issues`);
}
