/** Shared by all adapters: Haft's tools as plain functions under names that every provider accepts, and other frameworks' tools as Haft's. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Question } from "../core/approvals/ask.ts";
import { type ToolCall, OWN_NAMESPACE } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { describeThrown, isToolError, ToolError } from "../core/error.ts";
import { checkRuntime, checkArgument } from "../core/check-argument.ts";
import { markForeignHandler } from "../core/answers/foreign-handler.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { isOptionsObject, describeValueKind } from "../core/base/wording.ts";
import { resultText, type ResultStatus, type ToolResult } from "../core/result.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { createNameMatcher } from "../policy/permission.ts";
import { visibilityOf } from "../policy/visibility.ts";
import { findReplacedTools, replacesOtherTools } from "../registry/program-offer.ts";
import { READ_RESULT } from "../registry/read-result-tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { copySchema } from "../schema/import-schema.ts";
import { fromStandardSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";
import { ProviderNames, providerName } from "../wire/provider-name.ts";

/** Options of all adapters: the tools that a framework gets, and how their calls run. */
export interface AdapterOptions {
  /** The session of the calls, whose log and state they share. @default a new session for each call */
  readonly session?: RuntimeSession;
  /** Patterns over the qualified names of the tools to give: `weather::*`. @default all listed tools */
  readonly only?: readonly string[];
  /**
   * Makes the `data` of a call from the context that the framework passes to its tools: `context` of AI SDK and of OpenAI Agents, the configuration
   * of LangChain, `requestContext` of Mastra. `context` is undefined if there is none. If this returns nothing, the call has the data of the runtime.
   * It must be synchronous: a promise is refused. An error that it throws fails the call in the framework.
   *
   * Return only values that the program has set: logins and rules are decided by `data.principal`, and a context may have values of a client.
   * @default the data of the runtime
   */
  data?(context: unknown): Readonly<Record<string, unknown>> | undefined;
}

/** One of Haft's tools, for a framework that calls functions. */
export interface BridgedTool {
  /** The tool as the registry has it. */
  readonly tool: Tool;
  readonly qualifiedName: string;
  /** Has only characters that every provider accepts, and identifies one tool. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | undefined;
  /** Whether its calls need approval and the runtime has no approver of its own, so that the framework has to ask. */
  readonly needsApproval: boolean;
  /** Runs a call through the runtime, with all its checks. Never throws for a failed call. */
  readonly call: (input: unknown, options?: BridgedCallOptions) => Promise<ToolResult>;
}

export interface BridgedCallOptions {
  readonly id?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether a person has approved this call in the framework. */
  readonly approved?: boolean;
  /** The framework's context, passed to `data` of the options. */
  readonly context?: unknown;
  /** False if the framework does not get `read_result`: truncated results then do not mention it. @default whether the framework gets it */
  readonly canReadRest?: boolean;
}

/** Options of calls whose results must not mention `read_result`. */
const WITHOUT_READ_RESULT = { allow: visibilityOf({ deny: [READ_RESULT] }) };

/**
 * The tools that a runtime has now and may offer to a model, sorted by name. Quarantined tools are left out: a framework would send their schemas to
 * the provider, which would refuse the whole request. Without a session, `read_result` is left out too, as no results are kept. A call of a tool that
 * was removed later ends with `not_found`. If one of the tools is `run_program` with the mode `only`, it replaces the others, which its description
 * declares.
 */
export function bridgedTools(runtime: Runtime, options: AdapterOptions, owner: string): readonly BridgedTool[] {
  checkRuntime(runtime, owner);
  checkKnownKeys(options, { session: "object", only: true, data: "function" }, owner);
  const { session, only } = options;
  const isWanted = only === undefined ? undefined : createNameMatcher(only, "only");
  const names = new ProviderNames();
  const listed = runtime.registry
    .list()
    .filter(
      ({ tool, qualifiedName }) => tool.providerExecuted !== true && (isWanted === undefined || isWanted(qualifiedName) !== undefined),
    )
    .filter(({ quarantine, toolset }) => quarantine === undefined && (session !== undefined || toolset.name !== OWN_NAMESPACE));
  const program = listed.find(replacesOtherTools);
  const replacement = program === undefined ? undefined : findReplacedTools(program, listed);
  const given = replacement === undefined ? listed : listed.filter((registered) => !replacement.replaced.has(registered));
  const offersReadResult = session === undefined || given.some(({ qualifiedName }) => qualifiedName === READ_RESULT);
  const count = new Map<string, number>();
  for (const { qualifiedName } of listed) count.set(qualifiedName, (count.get(qualifiedName) ?? 0) + 1);
  return given.map((registered) => {
    const { tool, qualifiedName } = registered;
    return {
      tool,
      qualifiedName,
      name: names.encode(qualifiedName, count.get(qualifiedName) === 1 ? undefined : registered.fingerprint),
      description:
        replacement === undefined || registered !== program ? tool.description : `${tool.description}\n\n${replacement.declarations}`,
      inputSchema: tool.inputSchema,
      outputSchema: tool.outputSchema,
      needsApproval:
        !runtime.approvals.hasApprover &&
        runtime.approvals.reasonFor(qualifiedName, tool.effects?.destructive === true, session) !== undefined,
      call: createCaller(runtime, options, { qualifiedName, offersReadResult }),
    };
  });
}

/** @throws ToolError `invalid_argument` if it is not an object: handlers, rules and logins would find nothing in it */
function checkCallData(made: ReturnType<NonNullable<AdapterOptions["data"]>> | null): Readonly<Record<string, unknown>> | undefined {
  if (made === undefined || made === null) return undefined;
  if (isOptionsObject(made)) return made;
  const returned: unknown = made;
  if (returned instanceof Promise) returned.catch(() => undefined); // the promise is refused, so no code handles its rejection
  const hint =
    returned instanceof Promise
      ? "It is called for each call and cannot be async: put the values that it would wait for into the context."
      : undefined;
  throw new ToolError(
    "invalid_argument",
    `The function data of an adapter must return an object, not ${describeValueKind(returned)}.`,
    omitUndefined({ hint }),
  );
}

function createCaller(
  runtime: Runtime,
  adapterOptions: AdapterOptions,
  { qualifiedName, offersReadResult }: { readonly qualifiedName: string; readonly offersReadResult: boolean },
): BridgedTool["call"] {
  const { session } = adapterOptions;
  return async (input, { id, signal, approved = false, canReadRest = offersReadResult, context } = {}) => {
    const data = adapterOptions.data === undefined ? undefined : checkCallData(adapterOptions.data(context));
    const call: ToolCall = { name: qualifiedName, input, ...(id === undefined ? {} : { id }) };
    const options = {
      background: false, // a framework has no message for the end of a job
      ...(signal === undefined ? {} : { signal }),
      ...(data === undefined ? {} : { data }),
      ...(approved ? { approved } : {}),
      ...(canReadRest ? {} : WITHOUT_READ_RESULT),
    };
    // a framework executes the calls of one message separately, all at the same time
    return await (session === undefined ? runtime.execute(call, options) : session.execute(call, { ...options, concurrent: true }));
  };
}

/**
 * The text of a result for the model, with the tool names that the framework got.
 *
 * @param rename makes the name that the framework shows from the one that it got
 */
export function toModelText(result: ToolResult, rename: (name: string) => string = (name) => name): string {
  return resultText(result, (name) => rename(providerName(name)));
}

/** The output as JSON, or the text for the model if the result has content. @throws Error with the text for the model, if the call failed */
export function toOutput(result: ToolResult): JsonValue {
  throwIfFailed(result);
  return result.content === undefined && result.output !== undefined ? result.output : toModelText(result);
}

/** Statuses with an answer. A stateful tool always answers `pending`: its job continues. */
const ANSWERED_STATUSES: ReadonlySet<ResultStatus> = new Set<ResultStatus>(["ok", "partial", "pending"]);

/** @throws Error with the text for the model, if the call has no answer. The text begins with the code, as frameworks put "Error: " before it */
export function throwIfFailed(result: ToolResult): void {
  if (ANSWERED_STATUSES.has(result.status)) return;
  throw new Error(toModelText(result).replace(/^Error \((\w+)\): /u, "$1: "), { cause: result.error });
}

/**
 * A JSON Schema that is also a Standard Schema and accepts every input: the runtime checks, repairs and refuses inputs itself.
 *
 * @param read makes the input that the framework sees from the one that the model sent
 */
export function openSchema<Input = never>(schema: JsonSchema, read: (value: unknown) => unknown = (value) => value): OpenSchema<Input> {
  const json = typeof schema === "boolean" ? { type: "object" } : schema;
  const write = (): Record<string, unknown> => structuredClone({ ...json });
  return {
    ...json,
    // the type is a claim for the compiler: every value is accepted
    "~standard": {
      version: 1,
      vendor: "haft",
      validate: (value) => ({ value: read(value) as Input }),
      jsonSchema: { input: write, output: write },
    },
  };
}

/** A schema that accepts every input. `never` makes it assignable where a framework expects the schema of any input, as in AI SDK. */
export type OpenSchema<Input = never> = { readonly [keyword: string]: unknown } & {
  readonly "~standard": StandardSchemaV1.Props<unknown, Input> & StandardJSONSchemaV1.Props<unknown, Input>;
};

/** @throws ToolError `invalid_argument` if the framework's own function was not given */
export function checkFunction(make: unknown, owner: string, words: string): void {
  checkArgument(typeof make === "function", owner, words, make);
}

export function checkToolArray(tools: unknown, converter: string): void {
  if (!Array.isArray(tools))
    throw new ToolError("invalid_argument", `${converter} takes an array of tools.`, {
      hint: "For a record, pass Object.values(tools); for a Map, pass [...tools.values()].",
    });
  tools.forEach((tool: unknown, index) =>
    checkArgument(isToolObject(tool), converter, `an array of tools, and item ${index} must be an object`, tool),
  );
}

/** Whether a value can be a tool of a framework. A promise of a tool cannot: it would lack every field. */
export function isToolObject(tool: unknown): tool is object {
  return typeof tool === "object" && tool !== null && !(tool instanceof Promise);
}

/** A tool as its framework describes it. */
export interface ForeignTool extends Pick<Tool, "name" | "description" | "execute" | "parseInput"> {
  /** A JSON Schema, or a Standard Schema. */
  readonly schema: unknown;
  readonly outputSchema?: unknown;
}

/**
 * Makes a Haft tool of another framework's. It declares no effects, so it is assumed to write everything of its toolset: spread it and add `effects`
 * if you know better.
 *
 * @throws ToolError `invalid_schema` naming the tool
 */
export function foreignTool({ name, description, execute, parseInput, schema, outputSchema }: ForeignTool): Tool {
  return {
    name,
    description,
    inputSchema: toJsonSchema(schema, name),
    ...(outputSchema === undefined ? {} : { outputSchema: toJsonSchema(outputSchema, name) }),
    ...(execute === undefined ? {} : { execute: markForeignHandler(execute) }),
    ...(parseInput === undefined ? {} : { parseInput }),
  };
}

/**
 * Asks the runtime's `ask` about a call that its framework would stop for approval.
 *
 * @throws ToolError `approval_denied`; `approval_required` if there is no approver
 */
export async function askApproval({ toolName, ask }: ToolContext, input: unknown): Promise<void> {
  const question: Question = { message: `${toolName} asks for approval to run with ${inputText(input)}.` };
  const { action } = await ask(question);
  if (action === "accept") return;
  if (action === "decline") throw new ToolError("approval_denied", `${toolName} was not approved.`, { outcome: "not_started" });
  throw new ToolError("approval_required", `${toolName} needs approval, and there was no answer.`, { outcome: "not_started" });
}

/**
 * Runs a check of a framework's tool that precedes its handler, such as the function that decides whether a call needs approval.
 *
 * @throws ToolError with the outcome `not_started`, unless the check throws a ToolError
 */
export async function runBeforeHandler<T>(check: () => T | Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (thrown: unknown) {
    if (isToolError(thrown)) throw thrown;
    throw new ToolError("execution_failed", describeThrown(thrown), { outcome: "not_started", cause: thrown });
  }
}

function inputText(input: unknown): string {
  try {
    return JSON.stringify(input);
  } catch {
    return "input that cannot be shown"; // a value that a schema library made, such as a BigInt
  }
}

export function schemaError(name: string, thrown: unknown): ToolError {
  const { code, message, hint } = ToolError.fromUnknown(thrown, "invalid_schema");
  return new ToolError(code, `The schema of the tool ${JSON.stringify(name)}: ${message}`, { cause: thrown, ...omitUndefined({ hint }) });
}

function toJsonSchema(schema: unknown, name: string): JsonSchema {
  try {
    if (isStandardSchema(schema)) return copySchema(fromStandardSchema(schema).jsonSchema);
    checkJsonSchema(schema);
    if (typeof schema === "object" && schema !== null && !("_def" in schema)) return copySchema(schema);
  } catch (thrown: unknown) {
    throw schemaError(name, thrown);
  }
  throw new ToolError("invalid_schema", `The tool ${JSON.stringify(name)} has no schema that can be read as JSON Schema.`, {
    hint: "Give a JSON Schema, or a schema of a library that supports Standard Schema (zod ≥ 4.2).",
  });
}
