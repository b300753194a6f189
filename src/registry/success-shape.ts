/** A preset for tools that return `{success, error?, data?}`, as those of the Evennia AI assistant do. */
import { ANSWER_LIMITS } from "../core/answers/answer-limits.ts";
import { deepFreeze } from "../core/base/frozen.ts";
import { fitJson, isJsonObject } from "../core/base/json.ts";
import { ToolOutput } from "../core/content.ts";
import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import { ReturnedFailure } from "../core/answers/returned-failure.ts";
import type { CacheScope, JsonSchema, Tool } from "../core/tool.ts";
import { FilePlaceholders, replaceInAnswer } from "../policy/results/artifact-parts.ts";
import { classifyError } from "../policy/attempts/classify-error.ts";
import { mayHaveDataUrls } from "../policy/results/data-urls.ts";
import { isPromiseLike } from "../policy/attempts/deadline.ts";
import { readCacheFromJson } from "./check-cache.ts";
import type { NewTool } from "./check-registration.ts";
import { toPlainTool, rejectFieldAliases } from "./check-tool-fields.ts";

/** A tool with the field names of `Tool`, or with those of the Evennia AI assistant. */
export interface SuccessShapeTool extends NewTool {
  /** Alternative name of `inputSchema`. */
  readonly parameters?: JsonSchema;
  /** Whether `cache_scope` and `cache_ttl` apply. @default false */
  readonly cacheable?: boolean;
  /** @default "tick" */
  readonly cache_scope?: CacheScope;
  /** In seconds; null = unlimited. @default null */
  readonly cache_ttl?: number | null;
}

/**
 * Wraps a tool so that it follows the rules of the Evennia AI assistant. Unexpected input keys are dropped and reported. An answer that is not an
 * object, has a `success` that is not a boolean or an `error` that is not a string, is `invalid_output`. An answer with `success: false` is an error
 * result with the tool's own text. Extra fields are kept.
 *
 * A returned failure is classified like a thrown one: if its text suggests a temporary problem ("timeout", "try again"), a tool that may be repeated
 * is retried. The whole answer is the `output` of the error result, which the model reads. Answers of an engine in place of the tool are read the
 * same way, but not retried. The tool may be an instance of a class, and use the assistant's names `parameters`, `cacheable`, `cache_scope` and
 * `cache_ttl` (in seconds).
 *
 * @throws ToolError `invalid_argument` for names that contradict Haft's, and for an invalid `cache_scope` or `cache_ttl`
 */
export function withSuccessShape(given: SuccessShapeTool): Tool {
  const tool = toToolFields(given);
  const { execute, parseOutput } = tool;
  return {
    ...tool,
    inputSchema: closeSchema(tool.inputSchema),
    unknownKeys: "drop",
    ...(execute === undefined ? {} : { execute: (input: never, context) => checkAnswerSuccess(execute(input, context)) }),
    parseOutput: (answer) => {
      checkShape(answer);
      checkSuccess(answer);
      return parseOutput === undefined ? { value: answer } : parseOutput(answer);
    },
  };
}

/** Returns the tool as a plain object with the field names of `Tool`. */
function toToolFields(given: SuccessShapeTool): Tool {
  checkArgument(typeof given === "object" && given !== null, "withSuccessShape()", "a tool", given, "defineTool() makes one.");
  const { parameters, cacheable, cache_scope, cache_ttl } = given;
  const named = toPlainTool(given as Tool); // missing fields are rejected when the tool is registered
  rejectFieldAliases(given, named, ALIASES);
  if (parameters !== undefined && named.inputSchema !== undefined)
    throw new ToolError("invalid_argument", `The tool ${JSON.stringify(named.name)} has both inputSchema and parameters: leave one out.`);
  const tool = Object.fromEntries(Object.entries(named).filter(([field]) => !ALIASES.includes(field)));
  const cache = readCacheFromJson({ name: named.name, cache: named.cache, cacheable, cache_scope, cache_ttl });
  const inputSchema = parameters ?? named.inputSchema ?? { type: "object" };
  const isSchema = typeof inputSchema === "object" || typeof inputSchema === "boolean";
  checkArgument(isSchema, "withSuccessShape({ inputSchema })", "a schema", inputSchema);
  return { ...tool, inputSchema, ...(cache === undefined ? {} : { cache }) } as unknown as Tool; // checked when the tool is registered
}

const ALIASES: readonly string[] = ["parameters", "cacheable", "cache_scope", "cache_ttl"] satisfies readonly (keyof SuccessShapeTool)[];

/** Keywords whose subschemas apply to the same object: `ALL_HOLD` always, `SOME_HOLD` for some inputs. */
const ALL_HOLD = ["allOf", "$ref"];
const SOME_HOLD = [
  "anyOf",
  "oneOf",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "dependencies",
  "dependentRequired",
  "$dynamicRef",
  "unevaluatedProperties",
];
const OPEN_KEYWORDS = ["$ref", "$dynamicRef", "patternProperties", "additionalProperties", "unevaluatedProperties"];

/** Closes a schema, so that only properties that no part of it declares are unexpected. */
function closeSchema(schema: Tool["inputSchema"]): Tool["inputSchema"] {
  if (typeof schema === "boolean") return schema ? { type: "object" } : schema;
  if ("additionalProperties" in schema || !isJsonObject(schema["properties"])) return schema;
  const known = new Set(Object.keys(schema["properties"]));
  const adds = (words: readonly string[]): boolean => subschemasOf(schema, words).some((part) => declaresOthers(part, known));
  if (["unevaluatedProperties", "$dynamicRef"].some((word) => word in schema) || adds(SOME_HOLD)) return schema;
  if (!adds(ALL_HOLD)) return { ...schema, additionalProperties: false };
  const branches = subschemasOf(schema, ALL_HOLD).flatMap((part) => (isJsonObject(part) ? subschemasOf(part, SOME_HOLD) : []));
  return branches.some((part) => declaresOthers(part, known)) ? schema : { ...schema, unevaluatedProperties: false };
}

/** The subschemas of these keywords; for a reference its text, and for an array of property names the names. */
function subschemasOf(schema: Readonly<Record<string, unknown>>, words: readonly string[]): readonly unknown[] {
  return words.flatMap((word) => {
    const part = schema[word];
    if (part === undefined) return [];
    if (word.startsWith("depend") && isJsonObject(part)) return Object.values(part).flat();
    return Array.isArray(part) ? (part as unknown[]) : [part];
  });
}

/** Whether a part of a schema declares properties other than these. */
function declaresOthers(part: unknown, known: ReadonlySet<string>): boolean {
  if (!isJsonObject(part)) return typeof part === "string" && !known.has(part); // a reference, or the name of a required property
  if (OPEN_KEYWORDS.some((word) => part[word] !== undefined && part[word] !== false)) return true;
  const { properties } = part;
  if (isJsonObject(properties) && Object.keys(properties).some((key) => !known.has(key))) return true;
  return subschemasOf(part, ["required", ...ALL_HOLD, ...SOME_HOLD]).some((inner) => declaresOthers(inner, known));
}

function checkAnswerSuccess(answer: unknown): unknown {
  return isPromiseLike(answer) ? answer.then(checkSuccess) : checkSuccess(answer);
}

/** Throws the failure that an answer reports. Any other answer is returned unchanged. */
function checkSuccess(answer: unknown): unknown {
  const output = answer instanceof ToolOutput ? answer.output : answer;
  if (shapeProblem(output) !== undefined || !isJsonObject(output) || output["success"] !== false) return answer;
  const text = typeof output["error"] === "string" && output["error"] !== "" ? output["error"] : "The tool reported success: false.";
  const { code, message, retryable } = classifyError(new Error(text));
  const { value, found } = fitJson(output, ANSWER_LIMITS, mayHaveDataUrls);
  // the model reads the whole answer, and base64 in it would be shown as text
  const shown = found ? deepFreeze(replaceInAnswer({ output: value, content: undefined }, new FilePlaceholders())?.output ?? value) : value;
  throw new ReturnedFailure(code, message, { retryable, outcome: retryable ? "unknown" : "failed", answer: shown });
}

function checkShape(answer: unknown): void {
  const problem = shapeProblem(answer);
  if (problem !== undefined) throw new ToolError("invalid_output", `The tool's answer is not {success, error?, data?}: ${problem}.`);
}

function shapeProblem(answer: unknown): string | undefined {
  if (answer === null || answer === undefined) return "there is no answer";
  if (!isJsonObject(answer)) return "it is not an object";
  if (answer["success"] !== undefined && typeof answer["success"] !== "boolean") return '"success" is not a boolean';
  if (answer["error"] !== undefined && answer["error"] !== null && typeof answer["error"] !== "string") return '"error" is not a string';
  return undefined;
}
