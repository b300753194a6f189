/** Shared by all adapters: our tools as plain functions under names that every provider takes, and theirs as our tools. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { Question } from "../core/ask.ts";
import { type ToolCall, OWN_NAMESPACE } from "../core/call.ts";
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkRuntime, checkArgument } from "../core/check-argument.ts";
import { markForeign } from "../core/foreign-handler.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { isOptionsObject, kindInWords } from "../core/base/wording.ts";
import { resultText, type ResultStatus, type ToolResult } from "../core/result.ts";
import type { JsonSchema, Tool } from "../core/tool.ts";
import { nameMatcher } from "../policy/permission.ts";
import { visibilityOf } from "../policy/visibility.ts";
import { replacedBy, replacesOthers } from "../registry/program-offer.ts";
import { READ_RESULT } from "../registry/read-result-tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { checkJsonSchema } from "../schema/check-json-schema.ts";
import { copySchema } from "../schema/import-schema.ts";
import { fromStandardSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";
import { ProviderNames, providerName } from "../wire/provider-name.ts";

/** Which tools a framework is given, and how their calls run. */
export interface AdapterOptions {
  /** Where the calls are kept, and whose state they share. @default each call in a session of its own */
  readonly session?: RuntimeSession;
  /** Patterns over the qualified names of the tools to give: `weather::*`. @default all that are listed */
  readonly only?: readonly string[];
  /**
   * Makes the `data` of a call from what the framework passes to its tools: `context` of AI SDK and of OpenAI Agents, the configuration of LangChain, `requestContext` of Mastra;
   * undefined where there is none. A call has the data of the runtime where this returns nothing. It does not wait: a promise is refused. An error that it throws fails the call in the framework.
   *
   * Return only what the program has set: logins and rules go by `data.principal`, and a context may have values of a client. @default the data of the runtime
   */
  data?(context: unknown): Readonly<Record<string, unknown>> | undefined;
}

/** One of our tools, for a framework that calls functions. */
export interface BridgedTool {
  /** As the registry has it. */
  readonly tool: Tool;
  /** Of characters that every provider takes; leads back to one tool. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | undefined;
  /** A person has to allow its calls and the runtime has no approver of its own, so the framework's is to be asked. */
  readonly needsApproval: boolean;
  /** Runs a call through the runtime, with all that it checks. Never throws for what the call did. */
  readonly call: (input: unknown, options?: BridgedCallOptions) => Promise<ToolResult>;
}

export interface BridgedCallOptions {
  readonly id?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The framework says that a person has allowed this call. */
  readonly approved?: boolean;
  /** For `data` of the options. */
  readonly context?: unknown;
  /** False where the framework is not given the tool that reads the rest of a result, which then names no such tool. @default whether it is */
  readonly readsRest?: boolean;
}

/** Of calls whose results must not name the tool that reads the rest of them. */
const WITHOUT_REST = { allow: visibilityOf({ deny: [READ_RESULT] }) };

/**
 * The tools that a runtime has now and a model may be given, sorted by name; quarantined ones are left out, as a framework would send
 * their schemas on and have the whole request refused. So is `read_result` where there is no session: nothing is kept that it could read. A call of one that has gone since ends with `not_found`.
 * Where one of them is `run_program` with the mode `only`, it takes the place of the others, which its description declares.
 */
export function bridgedTools(runtime: Runtime, options: AdapterOptions, owner: string): readonly BridgedTool[] {
  checkRuntime(runtime, owner);
  checkKnownKeys(options, { session: "object", only: true, data: "function" }, owner);
  const { session, only } = options;
  const isWanted = only === undefined ? undefined : nameMatcher(only, "only");
  const names = new ProviderNames();
  const listed = runtime.registry
    .list()
    .filter(
      ({ tool, qualifiedName }) => tool.providerExecuted !== true && (isWanted === undefined || isWanted(qualifiedName) !== undefined),
    )
    .filter(({ quarantine, toolset }) => quarantine === undefined && (session !== undefined || toolset.name !== OWN_NAMESPACE));
  const program = listed.find(replacesOthers);
  const replacement = program === undefined ? undefined : replacedBy(program, listed);
  const given = replacement === undefined ? listed : listed.filter((registered) => !replacement.replaced.has(registered));
  const givesRest = session === undefined || given.some(({ qualifiedName }) => qualifiedName === READ_RESULT);
  const count = new Map<string, number>();
  for (const { qualifiedName } of listed) count.set(qualifiedName, (count.get(qualifiedName) ?? 0) + 1);
  return given.map((registered) => {
    const { tool, qualifiedName } = registered;
    return {
      tool,
      name: names.encode(qualifiedName, count.get(qualifiedName) === 1 ? undefined : registered.fingerprint),
      description:
        replacement === undefined || registered !== program ? tool.description : `${tool.description}\n\n${replacement.declarations}`,
      inputSchema: tool.inputSchema,
      outputSchema: tool.outputSchema,
      needsApproval:
        !runtime.approvals.hasApprover &&
        runtime.approvals.needed(qualifiedName, tool.effects?.destructive === true, session) !== undefined,
      call: caller(runtime, options, { qualifiedName, givesRest }),
    };
  });
}

/** @throws ToolError `invalid_argument` for what is no object: handlers, rules and logins would find nothing in it */
function dataOf(made: ReturnType<NonNullable<AdapterOptions["data"]>> | null): Readonly<Record<string, unknown>> | undefined {
  if (made === undefined || made === null) return undefined;
  if (isOptionsObject(made)) return made;
  const returned: unknown = made;
  if (returned instanceof Promise) returned.catch(() => undefined); // it is refused, and no one waits for it
  const hint =
    returned instanceof Promise
      ? "It is called for each call, and is no async function: put what it would wait for into the context."
      : undefined;
  throw new ToolError(
    "invalid_argument",
    `The function data of an adapter returns an object, not ${kindInWords(returned)}.`,
    omitUndefined({ hint }),
  );
}

function caller(
  runtime: Runtime,
  given: AdapterOptions,
  { qualifiedName, givesRest }: { readonly qualifiedName: string; readonly givesRest: boolean },
): BridgedTool["call"] {
  const { session } = given;
  return async (input, { id, signal, approved = false, readsRest = givesRest, context } = {}) => {
    const data = given.data === undefined ? undefined : dataOf(given.data(context));
    const call: ToolCall = { name: qualifiedName, input, ...(id === undefined ? {} : { id }) };
    const options = {
      background: false, // no message of a framework could bring the end of a job
      ...(signal === undefined ? {} : { signal }),
      ...(data === undefined ? {} : { data }),
      ...(approved ? { approved } : {}),
      ...(readsRest ? {} : WITHOUT_REST),
    };
    // a framework sends the calls of one message one by one, all at the same time
    return await (session === undefined ? runtime.execute(call, options) : session.execute(call, { ...options, concurrent: true }));
  };
}

/** The text of a result for the model, with tools named as the framework was given them. */
export function offeredText(result: ToolResult): string {
  return resultText(result, (name) => providerName(name));
}

/** The answer as JSON; as text where the model is shown something else than that. @throws Error with what the model reads, where there is none */
export function outputOf(result: ToolResult): JsonValue {
  refuseError(result);
  return result.content === undefined && result.output !== undefined ? result.output : offeredText(result);
}

/** A stateful tool always answers `pending`: its job continues. */
const ANSWERS: ReadonlySet<ResultStatus> = new Set<ResultStatus>(["ok", "partial", "pending"]);

/** @throws Error with what the model reads of a call that has no answer. Frameworks put "Error: " before it, so it begins with the code */
export function refuseError(result: ToolResult): void {
  if (ANSWERS.has(result.status)) return;
  throw new Error(offeredText(result).replace(/^Error \((\w+)\): /u, "$1: "), { cause: result.error });
}

/**
 * A JSON Schema that is a Standard Schema too, and lets everything through: the runtime checks, mends and refuses by itself.
 *
 * @param read gives the input that the framework sees, made from the one that came
 */
export function openSchema<Input = never>(schema: JsonSchema, read: (value: unknown) => unknown = (value) => value): OpenSchema<Input> {
  const json = typeof schema === "boolean" ? { type: "object" } : schema;
  const write = (): Record<string, unknown> => structuredClone({ ...json });
  return {
    ...json,
    // the type is a claim for the compiler: whatever comes is let through
    "~standard": {
      version: 1,
      vendor: "haft",
      validate: (value) => ({ value: read(value) as Input }),
      jsonSchema: { input: write, output: write },
    },
  };
}

/** Typed as giving `never` it is the schema of any input for frameworks: AI SDK asks for a schema of `never`. */
export type OpenSchema<Input = never> = { readonly [keyword: string]: unknown } & {
  readonly "~standard": StandardSchemaV1.Props<unknown, Input> & StandardJSONSchemaV1.Props<unknown, Input>;
};

/** @throws ToolError `invalid_argument` for tools in another shape than their framework's own */
export function checkMaker(make: unknown, owner: string, words: string): void {
  checkArgument(typeof make === "function", owner, words, make);
}

export function checkToolArray(tools: unknown, converter: string): void {
  if (Array.isArray(tools)) return;
  throw new ToolError("invalid_argument", `${converter} takes an array of tools.`, {
    hint: "Of a record, give Object.values(tools); of a Map, [...tools.values()].",
  });
}

/** A framework's description of one of its tools. */
export interface ForeignTool extends Pick<Tool, "name" | "description" | "execute" | "parseInput"> {
  /** A JSON Schema, or a schema of a library that speaks Standard Schema. */
  readonly schema: unknown;
  readonly outputSchema?: unknown;
}

/**
 * A tool of a framework as ours. It declares no effects, so it counts as one that may write everything of its toolset: spread it and add
 * `effects` where you know better.
 *
 * @throws ToolError `invalid_schema` naming the tool
 */
export function foreignTool({ name, description, execute, parseInput, schema, outputSchema }: ForeignTool): Tool {
  return {
    name,
    description,
    inputSchema: jsonSchemaOf(schema, name),
    ...(outputSchema === undefined ? {} : { outputSchema: jsonSchemaOf(outputSchema, name) }),
    ...(execute === undefined ? {} : { execute: markForeign(execute) }),
    ...(parseInput === undefined ? {} : { parseInput }),
  };
}

/**
 * Puts a call that its framework would stop for approval to whom the runtime asks (`ask`).
 *
 * @throws ToolError `approval_denied`; `approval_required` where there is no approver
 */
export async function askApproval({ toolName, ask }: ToolContext, input: unknown): Promise<void> {
  const question: Question = { message: `${toolName} asks for approval to run with ${inputText(input)}.` };
  const { action } = await ask(question);
  if (action === "accept") return;
  if (action === "decline") throw new ToolError("approval_denied", `${toolName} was not approved.`, { outcome: "not_started" });
  throw new ToolError("approval_required", `${toolName} needs approval, and there was no answer.`, { outcome: "not_started" });
}

function inputText(input: unknown): string {
  try {
    return JSON.stringify(input);
  } catch {
    return "what cannot be shown"; // what a schema library made of it, such as a BigInt
  }
}

/** The error for a tool whose schema cannot be used: `invalid_schema`, naming the tool. */
export function schemaError(name: string, thrown: unknown): ToolError {
  const { code, message, hint } = ToolError.fromUnknown(thrown, "invalid_schema");
  return new ToolError(code, `The schema of the tool ${JSON.stringify(name)}: ${message}`, { cause: thrown, ...omitUndefined({ hint }) });
}

function jsonSchemaOf(schema: unknown, name: string): JsonSchema {
  try {
    if (isStandardSchema(schema)) return copySchema(fromStandardSchema(schema).jsonSchema);
    checkJsonSchema(schema);
    if (typeof schema === "object" && schema !== null && !("_def" in schema)) return copySchema(schema);
  } catch (thrown: unknown) {
    throw schemaError(name, thrown);
  }
  throw new ToolError("invalid_schema", `The tool ${JSON.stringify(name)} has no schema that can be read as JSON Schema.`, {
    hint: "Give a JSON Schema, or a schema of a library that speaks Standard Schema (zod ≥ 4.2).",
  });
}
