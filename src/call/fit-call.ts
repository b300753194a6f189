/** Makes the input fit the tool's schema, or says why it cannot. */
import { ToolError, describeThrown } from "../core/error.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import type { ParsedInput } from "../core/tool.ts";
import { isPromiseLike } from "../policy/deadline.ts";
import { fitInput } from "../schema/repair-input.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { settleParsing } from "./settle-parsing.ts";
import { ANY_OBJECT, guardsOf, toolOf } from "./resolve-tool.ts";

export function fitCall(run: CallRun): StepEnd | Promise<StepEnd> {
  const registered = toolOf(run);
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  // Without validation an input still is an object: there is nothing else to record and to hand on.
  const validator = run.options.validate ? registered.inputValidator : ANY_OBJECT;
  if (!registered.hasWarned && run.options.validate) warnOnce(run, registered);
  const fitted = fitInput(sent, validator, guardsOf(run));
  if (!fitted.ok)
    return invalidInput(
      run,
      fitted.problems.map((problem) => `${problem.path}: ${problem.message}`),
    );
  if (fitted.repairs.length > 0) run.repairs = run.repairs.length === 0 ? fitted.repairs : [...run.repairs, ...fitted.repairs];
  run.input = fitted.value;
  run.parsed = fitted.value;
  return run.options.validate ? applyOwnRules(run, fitted.value) : undefined;
}

const MAX_WARNINGS = 5;

/** Schemas are compiled when they are first needed, so this is when their warnings are known. */
function warnOnce(run: CallRun, registered: RegisteredTool): void {
  registered.hasWarned = true;
  const { warnings, qualifiedName } = registered;
  for (const warning of warnings.slice(0, MAX_WARNINGS)) {
    run.parts.ports.log.warn(`The input schema of ${JSON.stringify(qualifiedName)} has a mistake: ${warning}.`);
  }
}

/** The tool's own rules, then its own schema library. */
function applyOwnRules(run: CallRun, input: JsonObject): StepEnd | Promise<StepEnd> {
  const { validate, parseInput } = toolOf(run).tool;
  if (validate !== undefined) {
    const problems = readProblems(validate(input));
    if (problems.length > 0) return invalidInput(run, problems);
  }
  if (parseInput === undefined) return undefined;
  return settleParsing(run, { what: "input", work: parseInput(input), take: (parsed) => takeParsed(run, parsed) });
}

/** A rule that answers with anything but a list has not said that the input is right. */
function readProblems(problems: unknown): readonly string[] {
  if (Array.isArray(problems)) return problems.map((problem) => describeThrown(problem));
  if (isPromiseLike(problems)) void Promise.resolve(problems).then(undefined, () => {}); // its failure is nobody's: the promise itself is the mistake
  throw new TypeError("its validate() did not answer with an array of problems");
}

function takeParsed(run: CallRun, parsed: ParsedInput): StepEnd {
  if ("issues" in parsed) return invalidInput(run, parsed.issues);
  run.parsed = parsed.value;
  return undefined;
}

function invalidInput(run: CallRun, problems: readonly string[]): ToolError {
  const properties = propertyNames(run);
  return new ToolError("invalid_input", `The input of ${run.toolName} does not fit its schema.`, {
    details: problems,
    ...(properties.length === 0 ? {} : { hint: `Its properties: ${properties.join(", ")}.` }),
  });
}

function propertyNames(run: CallRun): readonly string[] {
  const schema = toolOf(run).tool.inputSchema;
  if (typeof schema === "boolean" || !isJsonObject(schema["properties"])) return [];
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties: JsonObject = schema["properties"];
  return Object.keys(properties)
    .slice(0, 30)
    .map((name) => (required.has(name) ? `${name} (required)` : name));
}
