/** Makes the input fit the tool's schema, or says why it cannot. */
import { ToolError } from "../core/error.ts";
import { isJsonObject } from "../core/json.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import type { ParsedInput } from "../core/tool.ts";
import { waitFor } from "../policy/deadline.ts";
import { fitInput } from "../schema/repair-input.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { guardsOf, toolOf } from "./resolve-tool.ts";

/** Longest time a schema library's asynchronous validation may take. */
const PARSE_TIMEOUT_MS = 10_000;

export function fitCall(run: CallRun): StepEnd | Promise<StepEnd> {
  const registered = toolOf(run);
  const sent = run.call.input as JsonValue; // copied into plain JSON by readCall
  if (!run.options.validate) {
    run.input = isJsonObject(sent) ? sent : {};
    run.parsed = run.input;
    return undefined;
  }
  const fitted = fitInput(sent, registered.inputValidator, { dropUnknownKeys: guardsOf(run).dropUnknownKeys });
  if (!fitted.ok) return invalidInput(run, fitted.problems.map((problem) => `${problem.path}: ${problem.message}`));
  if (fitted.repairs.length > 0) run.repairs = run.repairs.length === 0 ? fitted.repairs : [...run.repairs, ...fitted.repairs];
  run.input = fitted.value;
  run.parsed = fitted.value;
  const { validate, parseInput } = registered.tool;
  if (validate !== undefined) {
    const problems = validate(fitted.value);
    if (problems.length > 0) return invalidInput(run, problems);
  }
  return parseInput === undefined ? undefined : parse(run, parseInput(fitted.value));
}

function parse(run: CallRun, parsing: ParsedInput | Promise<ParsedInput>): StepEnd | Promise<StepEnd> {
  return parsing instanceof Promise ? parseLater(run, parsing) : takeParsed(run, parsing);
}

async function parseLater(run: CallRun, parsing: Promise<ParsedInput>): Promise<StepEnd> {
  const waited = await waitFor(run, parsing, {
    endsAt: Math.min(run.deadlineAt, run.clock.now() + PARSE_TIMEOUT_MS),
    late: () => new ToolError("timeout", `The input check of ${run.toolName} did not end in time.`, { outcome: "not_started" }),
  });
  if ("ended" in waited) return waited.ended;
  if ("thrown" in waited) throw waited.thrown;
  return takeParsed(run, waited.value);
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
  return Object.keys(properties).slice(0, 30).map((name) => (required.has(name) ? `${name} (required)` : name));
}
