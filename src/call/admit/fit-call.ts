/** Makes the input fit the tool's schema, or returns the error that says why it cannot. */
import { ToolError } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { PENDING_CHECKS, SAFETY_DECISION, isComputerTool, readSafetyChecks, withoutSafetyChecks } from "../../core/safety-checks.ts";
import type { ParsedInput } from "../../core/tool.ts";
import { compileSchema } from "../../schema/compile-schema.ts";
import { InputRepairer } from "../../schema/repair/repair-input.ts";
import { readProblems } from "../../registry/check-input.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";
import { toFittedCall, type FittedCall, type ResolvedCall } from "../call-run.ts";
import { applyFlag, mayHaveFlag, takeBackgroundFlag } from "../jobs/background-flag.ts";
import { settleParsing } from "./settle-parsing.ts";

/** Accepts any object. Text is parsed as JSON, as it would be for the tool's own schema. */
const ANY_OBJECT = compileSchema(true);
const ANY_OBJECT_REPAIRER = new InputRepairer(ANY_OBJECT);

type Fitted = FittedCall | ToolError;

export function fitCall(run: ResolvedCall): Fitted | Promise<Fitted> {
  const sent = run.takesFlag === true ? takeLateFlag(run) : sentInput(run);
  if (sent instanceof Error) return sent;
  return mayHaveSafetyChecks(sent) && isComputerTool(run.plan.tool) ? fitWithSafetyChecks(run, sent) : fitInput(run, sent);
}

function sentInput({ call }: ResolvedCall): JsonValue {
  return call.input as JsonValue; // copied into plain JSON by readCall
}

/** Returns the input without the flag `run_in_background`, if it was sent as JSON text, or added by a hook. */
function takeLateFlag(run: ResolvedCall): JsonValue | ToolError {
  const { call, repairs, services } = run;
  const sent = sentInput(run);
  if (typeof sent === "string" && !mayHaveFlag(sent)) return sent;
  const input = typeof sent === "string" ? repairInput(run, sent, ANY_OBJECT_REPAIRER) : sent;
  if (input instanceof Error) return input;
  const flagged = takeBackgroundFlag({ ...call, input }, services.registry);
  if (flagged === undefined) {
    run.repairs = repairs; // the text is read once more, for the tool's schema
    return sent;
  }
  applyFlag(run, flagged);
  return flagged.input;
}

function mayHaveSafetyChecks(sent: JsonValue): boolean {
  // the key may be escaped
  if (typeof sent === "string") return sent.includes(PENDING_CHECKS) || sent.includes(SAFETY_DECISION) || sent.includes("\\u");
  return isJsonObject(sent) && (Object.hasOwn(sent, PENDING_CHECKS) || Object.hasOwn(sent, SAFETY_DECISION));
}

/** Fits an input with a provider's safety checks: shown and recorded with it, but not passed to the tool, whose schema may lack them. */
function fitWithSafetyChecks(run: ResolvedCall, sent: JsonValue): Fitted | Promise<Fitted> {
  const input = isJsonObject(sent) ? sent : repairInput(run, sent, ANY_OBJECT_REPAIRER);
  if (input instanceof Error) return input;
  const checks = (run.safetyChecks = readSafetyChecks(input));
  if (checks === undefined) return fitInput(run, sent);
  const fitted = fitInput(run, withoutSafetyChecks(input, checks));
  const withChecks = (call: Fitted): Fitted =>
    call instanceof Error ? call : toFittedCall(call, { ...call.input, ...checks }, call.parsed);
  return fitted instanceof Promise ? fitted.then(withChecks) : withChecks(fitted);
}

function fitInput(run: ResolvedCall, sent: JsonValue): Fitted | Promise<Fitted> {
  const { plan } = run;
  const validate = run.options.validate && plan.tool.providerExecuted !== true; // a provider's question does not follow the tool's schema
  if (!plan.registered.hasWarned && validate) warnOnce(run, plan.registered);
  // Without validation, the input must still be an object, as it is recorded and passed on as one.
  const repairer = (validate ? plan.inputRepairer : undefined) ?? ANY_OBJECT_REPAIRER;
  const input = repairer.needsNoRepair(sent) ? sent : repairInput(run, sent, repairer);
  if (input instanceof Error) return input;
  return validate ? applyToolRules(run, input) : toFittedCall(run, input, input);
}

function repairInput(run: ResolvedCall, sent: JsonValue, repairer: InputRepairer): JsonObject | ToolError {
  const outcome = repairer.repairInvalid(sent, run.plan);
  if (!outcome.ok)
    return invalidInputError(
      run,
      outcome.problems.map((problem) => `${problem.path}: ${problem.message}`),
    );
  const limitError = findLimitError(run, outcome.value);
  if (limitError !== undefined) return limitError;
  if (outcome.repairs.length > 0) run.repairs = run.repairs.length === 0 ? outcome.repairs : [...run.repairs, ...outcome.repairs];
  return outcome.value;
}

/** The error of an input that exceeds the limits only now that its JSON text has been read; `readCall` checks all others. */
function findLimitError({ toolName, services: { inputLimits } }: ResolvedCall, input: JsonObject): ToolError | undefined {
  if (Object.keys(inputLimits).length === 0) return undefined; // the reader of the text has the default limits
  try {
    copyJson(input, inputLimits);
    return undefined;
  } catch (thrown: unknown) {
    return new ToolError("too_large", `The input of ${toolName} cannot be read: ${ToolError.fromUnknown(thrown).message}`);
  }
}

const MAX_WARNINGS = 5;

/** Logs the schema's warnings. Schemas are compiled on first use, so the warnings are known only here. */
function warnOnce(run: ResolvedCall, registered: RegisteredTool): void {
  registered.hasWarned = true;
  const { warnings, qualifiedName } = registered;
  for (const warning of warnings.slice(0, MAX_WARNINGS)) {
    run.services.ports.log.warn(`The input schema of ${JSON.stringify(qualifiedName)} has a mistake: ${warning}.`);
  }
}

/** Applies the tool's own `validate`, then its schema library. */
function applyToolRules(run: ResolvedCall, input: JsonObject): Fitted | Promise<Fitted> {
  const { tool } = run.plan;
  run.input = input; // recorded even if the rules refuse it
  if (tool.validate !== undefined) {
    const problems = readProblems(tool.validate(input));
    if (problems.length > 0) return invalidInputError(run, problems);
  }
  if (tool.parseInput === undefined) return toFittedCall(run, input, input);
  return settleParsing(run, { what: "input", work: tool.parseInput(input), onParsed: (parsed) => applyParsed(run, input, parsed) });
}

function applyParsed(run: ResolvedCall, input: JsonObject, parsed: ParsedInput): FittedCall | ToolError {
  return "issues" in parsed ? invalidInputError(run, parsed.issues) : toFittedCall(run, input, parsed.value);
}

function invalidInputError(run: ResolvedCall, problems: readonly string[]): ToolError {
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
