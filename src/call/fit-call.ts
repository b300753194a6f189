/** Makes the input fit the tool's schema, or says why it cannot. */
import { ToolError, describeThrown } from "../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ParsedInput } from "../core/tool.ts";
import { isPromiseLike } from "../policy/deadline.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { fitInput } from "../schema/repair-input.ts";
import type { RegisteredTool } from "../registry/registered-tool.ts";
import { fitted, type FittedCall, type ResolvedCall } from "./call-run.ts";
import { settleParsing } from "./settle-parsing.ts";

/** What any object fits; text is read as the JSON it spells, as it will be for the tool's own schema. */
export const ANY_OBJECT = compileSchema(true);

export function fitCall(run: ResolvedCall): FittedCall | ToolError | Promise<FittedCall | ToolError> {
  const { plan } = run;
  const { validate } = run.options;
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  // Without validation an input still is an object: there is nothing else to record and to hand on.
  const validator = (validate ? plan.inputValidator : undefined) ?? ANY_OBJECT;
  if (!plan.registered.hasWarned && validate) warnOnce(run, plan.registered);
  const outcome = fitInput(sent, validator, plan);
  if (!outcome.ok)
    return invalidInput(
      run,
      outcome.problems.map((problem) => `${problem.path}: ${problem.message}`),
    );
  if (outcome.repairs.length > 0) run.repairs = run.repairs.length === 0 ? outcome.repairs : [...run.repairs, ...outcome.repairs];
  return validate ? applyOwnRules(run, outcome.value) : fitted(run, outcome.value, outcome.value);
}

const MAX_WARNINGS = 5;

/** Schemas are compiled when they are first needed, so this is when their warnings are known. */
function warnOnce(run: ResolvedCall, registered: RegisteredTool): void {
  registered.hasWarned = true;
  const { warnings, qualifiedName } = registered;
  for (const warning of warnings.slice(0, MAX_WARNINGS)) {
    run.parts.ports.log.warn(`The input schema of ${JSON.stringify(qualifiedName)} has a mistake: ${warning}.`);
  }
}

/** The tool's own rules, then its own schema library. */
function applyOwnRules(run: ResolvedCall, input: JsonObject): FittedCall | ToolError | Promise<FittedCall | ToolError> {
  const { tool } = run.plan;
  run.input = input; // recorded, whatever the rules say
  if (tool.validate !== undefined) {
    const problems = readProblems(tool.validate(input));
    if (problems.length > 0) return invalidInput(run, problems);
  }
  if (tool.parseInput === undefined) return fitted(run, input, input);
  return settleParsing(run, { what: "input", work: tool.parseInput(input), take: (parsed) => takeParsed(run, input, parsed) });
}

/** A rule that answers with anything but a list has not said that the input is right. */
function readProblems(problems: unknown): readonly string[] {
  if (Array.isArray(problems)) return problems.map((problem) => describeThrown(problem));
  if (isPromiseLike(problems)) void Promise.resolve(problems).then(undefined, () => {}); // its failure is nobody's: the promise itself is the mistake
  throw new TypeError("its validate() did not answer with an array of problems");
}

function takeParsed(run: ResolvedCall, input: JsonObject, parsed: ParsedInput): FittedCall | ToolError {
  return "issues" in parsed ? invalidInput(run, parsed.issues) : fitted(run, input, parsed.value);
}

function invalidInput(run: ResolvedCall, problems: readonly string[]): ToolError {
  const properties = propertyNames(run);
  return new ToolError("invalid_input", `The input of ${run.toolName} does not fit its schema.`, {
    details: problems,
    ...(properties.length === 0 ? {} : { hint: `Its properties: ${properties.join(", ")}.` }),
  });
}

function propertyNames(run: ResolvedCall): readonly string[] {
  const schema = run.plan.tool.inputSchema;
  if (typeof schema === "boolean" || !isJsonObject(schema["properties"])) return [];
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const properties: JsonObject = schema["properties"];
  return Object.keys(properties)
    .slice(0, 30)
    .map((name) => (required.has(name) ? `${name} (required)` : name));
}
