/** Checks the fields of a tool that a program defines, so that an error is found when the tool is made, not when a model calls it. */
import { checkName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import { COUNT, isWithinBounds, describeBounds, type Bounds } from "../core/base/number-bounds.ts";
import { CALL_SETTINGS } from "../core/call-settings.ts";
import { copyJson, isJsonObject, isStringArray } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { TOOL_CATEGORIES, type Tool } from "../core/tool.ts";
import { describeValueType } from "../core/base/wording.ts";
import { getOwn } from "../core/base/get-own.ts";
import { checkCache } from "./check-cache.ts";
import { didYouMean } from "../core/base/near-names.ts";
import { truncateText } from "../core/base/truncate-text.ts";

/** A check of a field, with a description of valid values. */
export interface FieldRule {
  readonly isValid: (value: unknown) => boolean;
  /** Completes "must be …". */
  readonly expected: string;
}

const anyText: FieldRule = { isValid: (value) => typeof value === "string", expected: "a string" };
const nonEmptyText: FieldRule = { isValid: (value) => typeof value === "string" && value !== "", expected: "a string that is not empty" };
const anyBoolean: FieldRule = { isValid: (value) => typeof value === "boolean", expected: "a boolean" };
const handler: FieldRule = { isValid: (value) => typeof value === "function", expected: "a function" };
const textList: FieldRule = { isValid: isStringArray, expected: "an array of strings" };
const variables: FieldRule = {
  isValid: (value) => isJsonObject(value) && Object.values(value).every((item) => typeof item === "string"),
  expected: "an object of strings",
};
const anyObject: FieldRule = { isValid: isJsonObject, expected: "an object" };
const schema: FieldRule = {
  isValid: (value) => typeof value === "boolean" || typeof value === "function" || isJsonObject(value),
  expected: "a JSON Schema or a schema of a library with Standard Schema",
};
const resourceKeys: FieldRule = {
  isValid: (value) => typeof value === "function" || typeof value === "string" || isStringArray(value),
  expected: 'a key or a template such as "stock:{item}", an array of them, or a function that returns them',
};

const contribution: FieldRule = {
  isValid: (value) => isJsonObject(value) && isContribution(value),
  expected: 'an object with a "text" and optionally a "bucket", both strings',
};
const declarations: FieldRule = {
  isValid: (value) => isJsonObject(value) && Object.values(value).every(isPlainJson),
  expected: "an object with one object of plain JSON for each wire format",
};

/** For fields that are checked together with others, or at their first use. */
const checkedElsewhere: FieldRule = { isValid: () => true, expected: "anything" };

function oneOf(...words: readonly string[]): FieldRule {
  return {
    isValid: (value) => typeof value === "string" && words.includes(value),
    expected: words.map((word) => JSON.stringify(word)).join(" or "),
  };
}

function number(bounds: Bounds): FieldRule {
  return { isValid: (value) => isWithinBounds(value, bounds), expected: describeBounds(bounds) };
}

function isContribution({ text, bucket, ...others }: Readonly<Record<string, unknown>>): boolean {
  return typeof text === "string" && (bucket === undefined || typeof bucket === "string") && Object.keys(others).length === 0;
}

/** The value is sent unchanged, so it must be plain JSON. */
function isPlainJson(value: unknown): boolean {
  try {
    return isJsonObject(value) && copyJson(value, DECLARATION_LIMITS).dropped.length === 0;
  } catch {
    return false;
  }
}

const DECLARATION_LIMITS = { maxDepth: 32, maxNodes: 10_000, maxChars: 262_144 };

/** Fields that affect what a model is shown, or when it may call the tool. Also checked for tools registered without `defineTool`. */
export const MODEL_FIELDS = {
  requiresReading: anyBoolean,
  promptContribution: contribution,
  providers: declarations,
} as const satisfies Partial<Record<keyof Tool, FieldRule>>;

const FIELDS = {
  name: anyText,
  title: anyText,
  description: anyText,
  inputSchema: schema,
  outputSchema: schema,
  effects: anyObject,
  execute: handler,
  parseInput: handler,
  parseOutput: handler,
  validate: handler,
  tags: textList,
  maxConcurrent: number(COUNT),
  oncePerTurn: anyBoolean,
  composite: anyBoolean,
  approveWhole: anyBoolean,
  endsTurn: anyBoolean,
  mode: oneOf("direct", "background", "stateful"),
  notify: anyBoolean,
  category: oneOf(...TOOL_CATEGORIES),
  providerExecuted: anyBoolean,
  unknownKeys: oneOf("drop", "refuse"),
  cache: checkedElsewhere,
  supersedes: handler,
  reducer: handler,
  requires: textList,
  documentation: anyText,
  workingFolder: nonEmptyText,
  environment: variables,
  ...MODEL_FIELDS,
  enabled: anyBoolean,
  unusable: anyText,
  metadata: anyObject,
  timeoutMs: number(CALL_SETTINGS.timeoutMs),
  deadlineMs: number(CALL_SETTINGS.deadlineMs),
  maxAttempts: number(CALL_SETTINGS.maxAttempts),
  maxResultBytes: number(CALL_SETTINGS.maxResultBytes),
  promoteAfterMs: number(CALL_SETTINGS.promoteAfterMs),
} as const satisfies Record<keyof Tool, FieldRule>;

const EFFECTS = {
  reads: resourceKeys,
  writes: resourceKeys,
  idempotent: anyBoolean,
  external: anyBoolean,
  destructive: anyBoolean,
  commutative: anyBoolean,
  undo: handler,
  reconcile: handler,
} as const satisfies Record<keyof NonNullable<Tool["effects"]>, FieldRule>;

const REGISTERED_FIELDS: Readonly<Record<string, FieldRule>> = { ...FIELDS, inputSchema: checkedElsewhere, outputSchema: checkedElsewhere };

/** All fields except the two that are derived from the schemas. */
const DEFINITION_FIELDS = Object.fromEntries(Object.entries(FIELDS).filter(([field]) => field !== "parseInput" && field !== "parseOutput"));

/**
 * Checks name, description, and the type and range of every field that is set.
 *
 * @throws ToolError `invalid_argument` with the tool, the field and what it must be
 */
export function checkToolFields(definition: unknown): asserts definition is Tool {
  if (!isPlainObject(definition))
    throw new ToolError("invalid_argument", "A tool must be defined by a plain object with name, description and inputSchema.");
  const fields = definition;
  checkName(fields["name"], "tool");
  if (fields["description"] === undefined)
    throw fieldError(fields["name"], "description", undefined, "a string: it is what the model reads");
  checkFields(fields["name"], "", fields, DEFINITION_FIELDS);
  if (fields["effects"] !== undefined) checkFields(fields["name"], "effects.", fields["effects"], EFFECTS);
  checkComposite(fields["name"], fields);
  checkCache(fields["name"], fields);
}

/**
 * Checks the type and range of every field that is set, and rejects unknown fields. Schemas are not checked: an unusable one quarantines its tool.
 *
 * @param tool a plain object with a name that was checked
 * @throws ToolError `invalid_argument` with the tool, the field and what it must be
 */
export function checkRegisteredFields(tool: Tool): void {
  checkFields(tool.name, "", tool, REGISTERED_FIELDS);
  if (tool.effects !== undefined) checkFields(tool.name, "effects.", tool.effects, EFFECTS);
  checkComposite(tool.name, tool);
}

function checkComposite(name: string, { composite, effects }: Pick<Tool, "composite" | "effects">): void {
  if (composite === true && effects !== undefined)
    throw new ToolError(
      "invalid_argument",
      `The composite tool ${JSON.stringify(name)} declares effects, but its effects are those of its calls.`,
      {
        hint: "Leave out effects, or leave out composite if the tool itself reads or writes something.",
      },
    );
}

const PLAIN_TOOLS = new WeakMap<Tool, Tool>();

/**
 * Converts a tool to a plain object, the same one each time. Of an instance of a class, the fields of `Tool` are kept, including those of its
 * prototype, with methods bound to the instance; other fields are ignored.
 */
export function toPlainTool(tool: Tool): Tool {
  if (isPlainObject(tool)) return tool;
  let plain = PLAIN_TOOLS.get(tool);
  if (plain === undefined) {
    const fields = Object.keys(FIELDS).flatMap((field) => {
      const value: unknown = Reflect.get(tool, field);
      return value === undefined ? [] : [[field, isMethod(field, value) ? bindMethod(tool, value) : value] as const];
    });
    plain = Object.fromEntries(fields) as unknown as Tool; // checked by its caller, as the instance would be
    PLAIN_TOOLS.set(tool, plain);
  }
  return plain;
}

/** Field names of other systems, and Haft's. Checked for instances of classes only; a plain object may have no unknown fields at all. */
const FIELD_ALIASES: Readonly<Record<string, keyof Tool>> = {
  parameters: "inputSchema",
  input_schema: "inputSchema",
  output_schema: "outputSchema",
  handler: "execute",
  cacheable: "cache", // cache_scope and cache_ttl have no effect without it
};

/**
 * Rejects an instance of a class with a field under another system's name, which would have no effect. Other fields of its own are allowed.
 *
 * @param tool the result of `toPlainTool`
 * @param handled names that the caller reads itself
 * @throws ToolError `invalid_argument` with the word and the field
 */
export function rejectFieldAliases(given: object, tool: Tool, handled: readonly string[] = []): void {
  if (tool === given) return;
  for (const [word, field] of Object.entries(FIELD_ALIASES)) {
    const value: unknown = Reflect.get(given, word);
    if (handled.includes(word) || value === undefined || value === null || value === false || tool[field] !== undefined) continue;
    throw new ToolError("invalid_argument", `The tool ${JSON.stringify(tool.name)} has ${JSON.stringify(word)}, which is ${field} here.`, {
      hint: SUCCESS_SHAPE_ALIASES.has(word)
        ? `Call it ${field}, or give the tool to withSuccessShape(), which reads ${word}.`
        : `Call it ${field}.`,
    });
  }
}

const SUCCESS_SHAPE_ALIASES: ReadonlySet<string> = new Set(["parameters", "cacheable"]);

/** Whether a field is a method. A schema of a library may be a function too, and is not. */
function isMethod(field: string, value: unknown): value is (...given: never) => unknown {
  return typeof value === "function" && field !== "inputSchema" && field !== "outputSchema";
}

/** Binds a method and keeps the properties of the function, such as `locationOf` of `supersedes`. */
function bindMethod(tool: Tool, method: (...given: never) => unknown): unknown {
  return Object.assign(method.bind(tool), method);
}

/** Whether a value is an object that is not an instance of a class. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function checkFields(tool: string, prefix: string, fields: unknown, rules: Readonly<Record<string, FieldRule>>): void {
  if (!isJsonObject(fields)) return;
  for (const field of Object.keys(fields)) {
    const value = fields[field];
    if (value === undefined) continue;
    const rule = getOwn(rules, field);
    if (rule === undefined) throw unknownFieldError(tool, prefix, field, Object.keys(rules));
    if (!rule.isValid(value)) throw fieldError(tool, prefix + field, value, rule.expected, field === "effects" ? EFFECTS_HINT : undefined);
  }
}

const EFFECTS_HINT = 'In code, import pure, readOnly or external from "haft", or write { reads: "…" } or { writes: "…" }.';
const INPUT_HINT = 'Did you mean "inputSchema"?';
const EXECUTE_HINT = 'Did you mean "execute"?';
const APPROVAL_HINT =
  "Did you mean effects: { destructive: true }, which asks before each call? Or the option approval of createRuntime().";
const GUARDRAILS_HINT = "Check a tool's calls with a hook: defineHook({ tool, beforeCall, afterCall }), in hooks of createRuntime().";

const WAITS_HINT = "A tool sets only maxAttempts; the option retry of createRuntime() sets the waits between attempts.";

/** Hints for the fields that other libraries have in a tool, and for options of a runtime that read like fields of a tool. */
const LIBRARY_FIELD_HINTS: Readonly<Record<string, string>> = {
  parameters: INPUT_HINT,
  schema: INPUT_HINT,
  input: INPUT_HINT,
  args: INPUT_HINT,
  argsSchema: INPUT_HINT,
  paramsSchema: INPUT_HINT,
  handler: EXECUTE_HINT,
  run: EXECUTE_HINT,
  func: EXECUTE_HINT,
  invoke: EXECUTE_HINT,
  call: EXECUTE_HINT,
  callback: EXECUTE_HINT,
  needsApproval: APPROVAL_HINT,
  requireApproval: APPROVAL_HINT,
  id: 'Did you mean "name"?',
  toolName: 'Did you mean "name"?',
  annotations:
    'Did you mean "effects"? For readOnlyHint write effects: readOnly("…"), and for destructiveHint effects: { destructive: true }.',
  errorFunction: "Throw a ToolError: its message and its hint are what the model reads.",
  inputGuardrails: GUARDRAILS_HINT,
  outputGuardrails: GUARDRAILS_HINT,
  retry: WAITS_HINT,
  retries: WAITS_HINT,
  circuit: "Set it for all tools: the option circuit of createRuntime().",
  orphanHoldMs: "Set it for all tools: the option orphanHoldMs of createRuntime().",
  isEnabled: 'Did you mean "enabled"? For a rule per request, use allow of createLoop(), which may be a function.',
  strict: "Leave it out: every input is repaired and checked against the schema, whatever the provider does.",
  _meta: 'Did you mean "metadata"?',
};

function unknownFieldError(tool: string, prefix: string, field: string, known: readonly string[]): ToolError {
  return new ToolError("invalid_argument", `Tool ${JSON.stringify(tool)} has an unknown field ${JSON.stringify(prefix + field)}.`, {
    hint:
      getOwn(LIBRARY_FIELD_HINTS, field) ??
      didYouMean(field, known, (near) => JSON.stringify(prefix + near)) ??
      `Fields: ${known.join(", ")}.`,
  });
}

function fieldError(tool: string, field: string, value: unknown, expected: string, hint?: string): ToolError {
  const message = `${field} of tool ${JSON.stringify(tool)} is ${describe(value)}; it must be ${expected}.`;
  return new ToolError("invalid_argument", message, omitUndefined({ hint }));
}

function describe(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") return JSON.stringify(truncateText(value, 60));
  return (typeof value === "object" && value !== null) || typeof value === "function" ? describeValueType(value) : String(value);
}
