/** Refuses unknown options by name: a misspelt limit is no limit. */
import { ToolError } from "./error.ts";
import { nearNames } from "./base/near-names.ts";
import { isOptionsObject, withArticle } from "./base/wording.ts";
import { wrongKind } from "./check-argument.ts";

/** Options by the names that they had before, and those that other libraries have for them: the first that a function has is meant. */
const OTHER_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["ladder", ["answers"]],
  ["abortSignal", ["signal"]],
  ["checkpointer", ["store"]],
  ["storage", ["store"]],
  ["instructions", ["system"]],
  ["prompt", ["system"]],
  ["systemPrompt", ["system"]],
  ["maxIterations", ["limits"]],
  ["maxSteps", ["limits"]],
  ["maxTurns", ["limits"]],
  ["recursionLimit", ["limits"]],
  ["experimental_output", ["output"]],
  ["responseFormat", ["output"]],
  ["schema", ["output"]],
  ["structuredOutput", ["output"]],
  ["callbacks", ["onEvent"]],
  ["onStepFinish", ["onEvent"]],
  ["maxRetries", ["retry"]],
  ["needsApproval", ["approval"]],
  ["requireApproval", ["approval"]],
  ["baseURL", ["baseUrl"]],
  ["cwd", ["root", "workingFolder"]],
  ["connectionString", ["url"]],
  ["file", ["path"]],
  ["filename", ["path"]],
  ["middleware", ["hooks"]],
]);

/**
 * The names of all options of an interface, of each member of a union: the type lets none be forgotten. Each has its type, or types, where
 * nothing else checks it, and `true` where something does.
 */
export type OptionNames<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, unknown>>;

/** Refuses a value that is not an object, unknown keys, and options of another type. @param owner for example `session()` @throws ToolError `invalid_argument` */
export function checkKnownKeys<Options extends object>(options: Options, known: OptionNames<Options>, owner: string): void {
  if (!isOptionsObject(options)) throw wrongKind(`The options of ${owner.replace(/^The /u, "the ")} are an object`, options);
  const unknown = unknownKey(options, known, owner);
  if (unknown !== undefined) throw unknown;
  for (const key in options) {
    const type: unknown = Reflect.get(known, key);
    if (typeof type === "string" || Array.isArray(type)) checkType(options, key, type, owner);
  }
}

/** The JSON word for the type of an option's value, or the name of what JSON lacks. */
export type OptionType = keyof typeof TYPES;

/** The option types of an interface whose values have one type that nothing else checks. */
export type OptionTypes<Options> = { readonly [Name in keyof Options]?: OptionType | readonly OptionType[] };

/** Refuses options that are given and of another type. @param owner for example `createLoop()` @throws ToolError `invalid_argument` */
export function checkOptionTypes<Options extends object>(options: Options, types: OptionTypes<Options>, owner: string): void {
  for (const [name, type] of Object.entries<OptionType | readonly OptionType[] | undefined>(types)) checkType(options, name, type, owner);
}

const TYPES = {
  AbortSignal: (value: unknown) => isSignal(value),
  Map: (value: unknown) => value instanceof Map,
  array: (value: unknown) => Array.isArray(value),
  boolean: (value: unknown) => typeof value === "boolean",
  function: (value: unknown) => typeof value === "function",
  number: (value: unknown) => typeof value === "number",
  object: (value: unknown) => isOptionsObject(value),
  string: (value: unknown) => typeof value === "string",
};

function isSignal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
}

function checkType(options: object, name: string, type: unknown, owner: string): void {
  const value: unknown = Reflect.get(options, name);
  if (value === undefined) return;
  const wanted = (Array.isArray(type) ? type : [type]).filter(isOptionType);
  if (wanted.length === 0 || wanted.some((each) => TYPES[each](value))) return;
  const hint = hintFor(wanted, value);
  throw wrongKind(`The option ${JSON.stringify(name)} of ${owner} is ${wanted.map(withArticle).join(" or ")}`, value, hint);
}

function hintFor(wanted: readonly OptionType[], value: unknown): string | undefined {
  if (wanted.includes("AbortSignal") && value instanceof AbortController) return "Give controller.signal.";
  if (wanted.includes("array") && isOptionsObject(value)) return "Put one into an array: [one]. Of a record, give Object.values(record).";
  return undefined;
}

function isOptionType(type: unknown): type is OptionType {
  return typeof type === "string" && Object.hasOwn(TYPES, type);
}

/** The error for an unknown own key; undefined where there is none. Makes nothing else, for options that are given with each call. */
export function unknownKey(options: object, known: Readonly<Record<string, unknown>>, owner: string): ToolError | undefined {
  for (const key in options)
    if (!Object.hasOwn(known, key) && Object.hasOwn(options, key)) return unknownOption(key, Object.keys(known), owner);
  return undefined;
}

function unknownOption(key: string, known: readonly string[], owner: string): ToolError {
  const near = OTHER_NAMES.get(key)?.find((name) => known.includes(name)) ?? nearNames(key, known, 1)[0];
  return new ToolError("invalid_argument", `${owner} has no option ${JSON.stringify(key.slice(0, 100))}.`, {
    hint: near === undefined ? `There are ${known.join(", ")}.` : `Did you mean ${JSON.stringify(near)}?`,
  });
}
