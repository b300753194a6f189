/** Refuses unknown options by name, because a misspelt limit would limit nothing. */
import { ToolError } from "./error.ts";
import { findNearNames } from "./base/near-names.ts";
import { isOptionsObject, quoteValue, withArticle } from "./base/wording.ts";
import { wrongTypeError } from "./check-argument.ts";

/** How many options are listed for a value that is not an object. */
const MAX_LISTED = 12;

/** Former names of options, and their names in other libraries. The first of the listed options that a function has is suggested. */
const OPTION_ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
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
  ["maxRetries", ["maxAttempts", "retry"]],
  ["concurrency", ["maxConcurrent"]],
  ["maxConcurrency", ["maxConcurrent"]],
  ["needsApproval", ["approval"]],
  ["requireApproval", ["approval"]],
  ["baseURL", ["baseUrl"]],
  ["cwd", ["root", "workingFolder"]],
  ["connectionString", ["url"]],
  ["file", ["path"]],
  ["filename", ["path"]],
  ["middleware", ["hooks"]],
  ["authProvider", ["auth"]],
  ["context", ["data"]],
  ["events", ["types"]],
  ["fullCommand", ["command"]],
  ["inputGuardrails", ["hooks"]],
  ["maxTokens", ["maxOutputTokens"]],
  ["mcpServers", ["toolsets"]],
  ["name", ["agentName"]],
  ["outputGuardrails", ["hooks"]],
  ["outputType", ["output"]],
  ["parallelToolCalls", ["parallelCalls"]],
  ["requestInit", ["headers"]],
  ["toolDescription", ["description"]],
  ["toolFilter", ["include"]],
  ["toolName", ["name"]],
  ["tools", ["allow", "include"]],
]);

const CHECKS_HINT =
  "Check calls with hooks of createRuntime(), and end a run early with stopWhen of createLoop(). Check the message of a user before run(), and the text of the run after it.";
const OUTPUT_HINT = "The schema is an option of the run: loop.run(prompt, { output: schema }).";
const LIMITS_HINT = "The limits belong to the loop: createLoop({ limits: { maxRounds } }).";

/** The functions whose options include those of an agent, or of its run, in other libraries. */
const AGENT_FUNCTIONS: ReadonlySet<string> = new Set(["createRuntime()", "createLoop()", "createAgent()", "delegateTool()", "run()"]);

/** Agent options of other libraries for which those functions have no option, with the place where each is set in Haft. */
const AGENT_OPTION_HINTS: ReadonlyMap<string, string> = new Map([
  [
    "context",
    "Data for handlers is the option data of createRuntime(), or for one loop createLoop({ calls: { data } }); handlers read it from context.data.",
  ],
  [
    "handoffs",
    "An agent that another one calls is a tool: delegateTool() of haft/delegate. For one that takes over, change system and allow, both of which may be functions.",
  ],
  ["inputGuardrails", CHECKS_HINT],
  ["outputGuardrails", CHECKS_HINT],
  ["maxSteps", LIMITS_HINT],
  ["maxTurns", LIMITS_HINT],
  ["model", "A model belongs to a loop: runtime.loop({ model })."],
  ["mcpServers", "MCP servers are toolsets of the runtime: createRuntime({ toolsets: [mcpToolset(name, options)] })."],
  [
    "modelSettings",
    "Model settings are options of their own: temperature, toolChoice, parallelCalls, maxOutputTokens, reasoningEffort, and native for the provider's own.",
  ],
  ["outputType", OUTPUT_HINT],
  ["structuredOutput", OUTPUT_HINT],
  ["runtime", "A loop or an agent has a session of the runtime: { model, session: runtime.session() }."],
  ["session", "A loop has one session for all its runs: runtime.loop({ model, session })."],
  ["stream", "loop.stream(prompt) returns the events of a run."],
  ["toolUseBehavior", "A tool with endsTurn: true ends the run."],
]);

/** Settings of calls, which a toolset has in `defaults`. */
const TOOL_SETTINGS: ReadonlySet<string> = new Set(["timeoutMs", "deadlineMs", "maxAttempts", "maxResultBytes", "promoteAfterMs"]);

/**
 * The names of all options of an interface, and of each member of a union: the type makes sure that none is missing. The value is the option's type,
 * or types, if nothing else checks the option, and `true` if something does.
 */
export type OptionNames<Options> = Readonly<Record<Options extends unknown ? keyof Options : never, unknown>>;

/** Refuses what is not an object, unknown keys, and wrong types. @param owner for example `session()` @throws ToolError `invalid_argument` */
export function checkKnownKeys<Options extends object>(options: Options, known: OptionNames<Options>, owner: string): void {
  if (!isOptionsObject(options))
    throw wrongTypeError(`The options of ${inSentence(owner)} must be an object`, options, `Write { ${listOptions(known)} }.`);
  const unknown = findUnknownKeyError(options, known, owner);
  if (unknown !== undefined) throw unknown;
  // Walks the known names, because an option may come from a getter of a class, which does not show up as a key of the options.
  for (const name in known) {
    const type: unknown = Reflect.get(known, name);
    if (typeof type === "string" || Array.isArray(type)) checkType(options, name, type, owner);
  }
}

function listOptions(known: object): string {
  const names = Object.keys(known);
  return names.length > MAX_LISTED ? `${names.slice(0, MAX_LISTED).join(", ")}, …` : names.join(", ");
}

/** The type of an option's value: JSON's name for it, or the class name of a value that is not JSON; `strings` for an array of strings. */
export type OptionType = keyof typeof TYPES;

/** Refuses options that are set but not of their type. @param owner for example `createLoop()` @throws ToolError `invalid_argument` */
export function checkOptionTypes(options: object, types: Readonly<Record<string, OptionType>>, owner: string): void {
  for (const [name, type] of Object.entries(types)) checkType(options, name, type, owner);
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
  strings: (value: unknown) => Array.isArray(value) && findNonString(value) < 0,
};

function findNonString(items: readonly unknown[]): number {
  return items.findIndex((item) => typeof item !== "string");
}

function isSignal(value: unknown): boolean {
  return typeof value === "object" && value !== null && "aborted" in value && "addEventListener" in value;
}

function checkType(options: object, name: string, type: unknown, owner: string): void {
  const value: unknown = Reflect.get(options, name);
  if (value === undefined) return;
  const wanted = (Array.isArray(type) ? type : [type]).filter(isOptionType);
  if (wanted.length === 0 || wanted.some((each) => TYPES[each](value))) return;
  const hint = hintFor(wanted, value);
  throw wrongTypeError(
    `The option ${JSON.stringify(name)} of ${inSentence(owner)} must be ${wanted.map(describeOptionType).join(" or ")}`,
    value,
    hint,
  );
}

/** "The run of a chain" begins a sentence; within one, it is "the run of a chain". */
function inSentence(owner: string): string {
  return owner.replace(/^(?:The|An?) /u, (article) => article.toLowerCase());
}

function describeOptionType(type: OptionType): string {
  return type === "strings" ? "an array of strings" : withArticle(type);
}

function hintFor(wanted: readonly OptionType[], value: unknown): string | undefined {
  if (wanted.includes("AbortSignal") && value instanceof AbortController) return "Give controller.signal.";
  if (wanted.includes("strings") && Array.isArray(value))
    return `Its item ${findNonString(value)} is ${quoteValue(value[findNonString(value)])}.`;
  if (wanted.includes("array") && typeof value === "function") return "Put it into an array: [one].";
  if (wanted.includes("array") && isOptionsObject(value)) return "Put one into an array: [one]. For a record, give Object.values(record).";
  return undefined;
}

function isOptionType(type: unknown): type is OptionType {
  return typeof type === "string" && Object.hasOwn(TYPES, type);
}

/** Returns the error for an unknown own key, or undefined. Allocates nothing else, because it checks the options of every call. */
export function findUnknownKeyError(options: object, known: Readonly<Record<string, unknown>>, owner: string): ToolError | undefined {
  for (const key in options)
    if (!Object.hasOwn(known, key) && Object.hasOwn(options, key)) return unknownOptionError(key, Object.keys(known), owner);
  return undefined;
}

function unknownOptionError(key: string, known: readonly string[], owner: string): ToolError {
  return new ToolError("invalid_argument", `${owner} has no option ${JSON.stringify(key.slice(0, 100))}.`, {
    hint: unknownOptionHint(key, known, owner),
  });
}

function unknownOptionHint(key: string, known: readonly string[], owner: string): string {
  const other = OPTION_ALIASES.get(key)?.find((name) => known.includes(name));
  const place = other === undefined ? findPlaceHint(key, known, owner) : undefined;
  if (place !== undefined) return place;
  const near = other ?? findNearNames(key, known, 1)[0];
  return near === undefined ? `Known options: ${known.join(", ")}.` : `Did you mean ${JSON.stringify(near)}?`;
}

function findPlaceHint(key: string, known: readonly string[], owner: string): string | undefined {
  if (AGENT_FUNCTIONS.has(owner)) return AGENT_OPTION_HINTS.get(key);
  if (key === "token" && owner === "createServer()") return "Give auth: staticToken({ token }).";
  if (owner.startsWith("The toolset ") && known.includes("defaults") && TOOL_SETTINGS.has(key))
    return `It is a setting of its tools: defaults: { ${key} }.`;
  if (key === "maxAttempts" && owner === "createRuntime({ retry })") return "It is set beside retry: createRuntime({ maxAttempts }).";
  return key === "name" && owner === "mcpToolset()" ? "The name is the first argument: mcpToolset(name, options)." : undefined;
}
