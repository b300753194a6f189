/** Makes the input fit the tool's schema, or returns the error that says why it cannot. */
import { ToolError } from "../../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { PENDING_CHECKS, SAFETY_DECISION, isComputer, safetyChecks, withoutChecks } from "../../core/safety-checks.ts";
import type { ParsedInput } from "../../core/tool.ts";
import { compileSchema } from "../../schema/compile-schema.ts";
import { InputFitter } from "../../schema/repair/repair-input.ts";
import { readProblems } from "../../registry/check-input.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { fitted, type FittedCall, type ResolvedCall } from "../call-run.ts";
import { settleParsing } from "./settle-parsing.ts";

/** Accepts any object. Text is parsed as JSON, as it would be for the tool's own schema. */
export const ANY_OBJECT = compileSchema(true);
const FITS_ANY_OBJECT = new InputFitter(ANY_OBJECT);

type Fitted = FittedCall | ToolError;

export function fitCall(run: ResolvedCall): Fitted | Promise<Fitted> {
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  return mayHaveChecks(sent) && isComputer(run.plan.tool) ? fitBeside(run, sent) : fitInput(run, sent);
}

function mayHaveChecks(sent: JsonValue): boolean {
  // the key may be escaped
  if (typeof sent === "string") return sent.includes(PENDING_CHECKS) || sent.includes(SAFETY_DECISION) || sent.includes("\\u");
  return isJsonObject(sent) && (Object.hasOwn(sent, PENDING_CHECKS) || Object.hasOwn(sent, SAFETY_DECISION));
}

/** Fits an input with a provider's safety checks: shown and recorded with it, but not passed to the tool, whose schema may lack them. */
function fitBeside(run: ResolvedCall, sent: JsonValue): Fitted | Promise<Fitted> {
  const input = isJsonObject(sent) ? sent : fitSent(run, sent, FITS_ANY_OBJECT);
  if (input instanceof Error) return input;
  const checks = (run.safetyChecks = safetyChecks(input));
  if (checks === undefined) return fitInput(run, sent);
  const came = fitInput(run, withoutChecks(input, checks));
  const withChecks = (call: Fitted): Fitted => (call instanceof Error ? call : fitted(call, { ...call.input, ...checks }, call.parsed));
  return came instanceof Promise ? came.then(withChecks) : withChecks(came);
}

function fitInput(run: ResolvedCall, sent: JsonValue): Fitted | Promise<Fitted> {
  const { plan } = run;
  const validate = run.options.validate && plan.tool.providerExecuted !== true; // a provider's question does not follow the tool's schema
  if (!plan.registered.hasWarned && validate) warnOnce(run, plan.registered);
  // Without validation, the input must still be an object, as it is recorded and passed on as one.
  const fitter = (validate ? plan.inputFitter : undefined) ?? FITS_ANY_OBJECT;
  const input = fitter.accepts(sent) ? sent : fitSent(run, sent, fitter);
  if (input instanceof Error) return input;
  return validate ? applyOwnRules(run, input) : fitted(run, input, input);
}

function fitSent(run: ResolvedCall, sent: JsonValue, fitter: InputFitter): JsonObject | ToolError {
  const outcome = fitter.refit(sent, run.plan);
  if (!outcome.ok)
    return invalidInput(
      run,
      outcome.problems.map((problem) => `${problem.path}: ${problem.message}`),
    );
  if (outcome.repairs.length > 0) run.repairs = run.repairs.length === 0 ? outcome.repairs : [...run.repairs, ...outcome.repairs];
  return outcome.value;
}

const MAX_WARNINGS = 5;

/** Logs the schema's warnings. Schemas are compiled on first use, so the warnings are known only here. */
function warnOnce(run: ResolvedCall, registered: RegisteredTool): void {
  registered.hasWarned = true;
  const { warnings, qualifiedName } = registered;
  for (const warning of warnings.slice(0, MAX_WARNINGS)) {
    run.parts.ports.log.warn(`The input schema of ${JSON.stringify(qualifiedName)} has a mistake: ${warning}.`);
  }
}

/** Applies the tool's own `validate`, then its schema library. */
function applyOwnRules(run: ResolvedCall, input: JsonObject): Fitted | Promise<Fitted> {
  const { tool } = run.plan;
  run.input = input; // recorded even if the rules refuse it
  if (tool.validate !== undefined) {
    const problems = readProblems(tool.validate(input));
    if (problems.length > 0) return invalidInput(run, problems);
  }
  if (tool.parseInput === undefined) return fitted(run, input, input);
  return settleParsing(run, { what: "input", work: tool.parseInput(input), take: (parsed) => takeParsed(run, input, parsed) });
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
