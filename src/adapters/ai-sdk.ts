/** Haft's tools for Vercel's AI SDK (7), and AI SDK's tools for Haft. */
import { ToolError, describeThrown } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { wrongTypeError, checkArgument, checkSession } from "../core/check-argument.ts";
import type { ProgressUpdate, ToolContext } from "../core/context.ts";
import { type ContentPart, valueText } from "../core/content.ts";
import { readPdfData } from "../core/formats/data-uri.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { partText, type ToolResult } from "../core/result.ts";
import { sendablePart } from "../policy/results/sendable-content.ts";
import type { ParsedInput, Tool } from "../core/tool.ts";
import { createInputRepair } from "../registry/input-repair.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { fromStandardSchema, parseWithSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";
import {
  askApproval,
  bridgedTools,
  foreignTool,
  isToolObject,
  openSchema,
  runBeforeHandler,
  toOutput,
  throwIfFailed,
  schemaError,
} from "./bridge.ts";
import type { AdapterOptions, BridgedTool, OpenSchema } from "./bridge.ts";
import { fieldsOf, refuseMcpError, withModelOutput } from "./model-output.ts";
import { UsedApprovals, type ApprovedCall } from "./used-approvals.ts";

/** A tool as `generateText` and `streamText` expect it in their record of tools. */
export interface AiSdkTool {
  readonly type: "dynamic";
  readonly description: string;
  readonly inputSchema: OpenSchema;
  /** Set if the tool's calls need approval and the runtime has no approver: AI SDK then asks with its own approval flow. */
  readonly needsApproval?: true;
  readonly execute: (input: unknown, options: AiSdkCallOptions) => Promise<unknown>;
  readonly toModelOutput: (said: { readonly output: unknown }) => AiSdkOutput;
}

/** The fields that are read of the options that AI SDK passes to a tool after its input. */
interface AiSdkCallOptions {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly messages?: readonly unknown[];
  /** The value for this tool in `toolsContext`. */
  readonly context?: unknown;
  /** The name of `context` in AI SDK 6. */
  readonly experimental_context?: unknown;
}

type AiSdkOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: JsonValue }
  | { readonly type: "content"; readonly value: AiSdkPart[] };

type AiSdkPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: { readonly type: "data"; readonly data: string } };

/** A tool whose input and output have the types of its schemas. */
export interface AiSdkTypedTool<Input, Output> extends Omit<AiSdkTool, "type" | "inputSchema" | "execute"> {
  readonly type: "function";
  readonly inputSchema: OpenSchema<Input>;
  readonly execute: (input: Input, options: AiSdkCallOptions) => Promise<Output | AiSdkContent>;
}

/** An answer that is not an output of the schema alone: it has images or files, was truncated, or breaks the schema. */
export interface AiSdkContent {
  readonly type: typeof CONTENT_MARKER;
  readonly output?: JsonValue;
  readonly content: readonly ContentPart[];
}

/** Options of `toAiSdkTools` that give typed tools. */
export interface AiSdkTypedOptions<Tools extends Readonly<Record<string, Tool>>> extends Pick<AdapterOptions, "session" | "data"> {
  /** The tools to give, by the names that the model sees: the objects that were made by `defineTool` and given to the runtime. */
  readonly tools: Tools;
}

/** Each tool with the types of its schemas: `JsonObject` if the input schema is not a literal, `unknown` without an output schema. */
export type AiSdkTypedTools<Tools> = {
  readonly [Name in keyof Tools]: AiSdkTypedTool<ToolInputOf<Tools[Name]>, ToolOutputOf<Tools[Name]>>;
};

type ToolInputOf<Given> = Given extends {
  readonly inputSchema: { readonly "~standard": { readonly types?: { readonly input: infer Sent } | undefined } };
}
  ? Sent
  : JsonObject;

type ToolOutputOf<Given> = Given extends {
  readonly outputSchema?: { readonly "~standard": { readonly types?: { readonly output: infer Output } | undefined } };
}
  ? Output
  : unknown;

/**
 * Converts the tools of a runtime to AI SDK's record of tools. A failed call throws an error with the text for the model, as AI SDK expects; images,
 * audio and PDF files of a result reach the model as such.
 *
 * With `tools`, only those are given, and AI SDK knows the types of their calls and results. AI SDK then sees the repaired input of a call; if it
 * cannot be repaired, it sees the input as the model sent it, and the call fails.
 *
 * @see https://ai-sdk.dev/docs/ai-sdk-core/tools-and-tool-calling
 * @throws ToolError `invalid_argument` if one of `tools` is not offered by the runtime, or is offered under another name
 */
export function toAiSdkTools(runtime: Runtime, options?: AdapterOptions): Readonly<Record<string, AiSdkTool>>;
export function toAiSdkTools<Tools extends Readonly<Record<string, Tool>>>(
  runtime: Runtime,
  options: AiSdkTypedOptions<Tools>,
): AiSdkTypedTools<Tools>;
export function toAiSdkTools(runtime: Runtime, options: AdapterOptions | AiSdkTypedOptions<Readonly<Record<string, Tool>>> = {}): object {
  if (!isOptionsObject(options)) throw wrongTypeError(`The options of ${OWNER} must be an object`, options);
  const { session: used } = options;
  if (used !== undefined) checkSession(used, `${OWNER.slice(0, -2)}(runtime, { session })`);
  const approvals = UsedApprovals.of(used);
  if (!("tools" in options))
    return Object.fromEntries(bridgedTools(runtime, options, OWNER).map((tool) => [tool.name, aiSdkTool(tool, approvals)]));
  const { tools, ...others } = options;
  const bridged = bridgedTools(runtime, others, OWNER);
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => [name, typedTool(findBridgedTool(name, tool, bridged), approvals)]),
  );
}

const OWNER = "toAiSdkTools()";

/** The tool in the list of the runtime's tools. @throws ToolError `invalid_argument` if it is missing or has another name */
function findBridgedTool(name: string, tool: Tool, all: readonly BridgedTool[]): BridgedTool {
  const own = all.filter((bridged) => bridged.tool === tool);
  const found = own.find((bridged) => bridged.name === name);
  if (found !== undefined) return found;
  const [other] = own;
  const what = `The tool ${JSON.stringify(name)} of toAiSdkTools()`;
  throw other === undefined
    ? new ToolError("invalid_argument", `${what} is not one of the tools of this runtime.`, { hint: "Pass the same tool to the runtime." })
    : new ToolError("invalid_argument", `${what} has another name in the runtime.`, { hint: `Write ${JSON.stringify(other.name)}.` });
}

function aiSdkTool(
  { qualifiedName, description, inputSchema, needsApproval, call }: BridgedTool,
  approvals: UsedApprovals | undefined,
): AiSdkTool {
  return {
    type: "dynamic",
    description,
    inputSchema: openSchema(inputSchema),
    ...(needsApproval ? { needsApproval: true as const } : {}),
    execute: async (input, options) => toAnswer(await runCall({ qualifiedName, needsApproval, call, approvals }, input, options)),
    toModelOutput: ({ output }) => toAiSdkOutput(output as JsonValue), // the output is the return value of `execute`
  };
}

function typedTool(bridged: BridgedTool, approvals: UsedApprovals | undefined): AiSdkTypedTool<JsonObject, unknown> {
  const repair = createInputRepair(bridged.tool);
  return {
    ...aiSdkTool(bridged, approvals),
    type: "function",
    inputSchema: openSchema<JsonObject>(bridged.inputSchema, (input) => repairInput(input, repair)),
    execute: async (input, options) =>
      toTypedOutput(
        await runCall({ ...bridged, approvals, call: (sent, more) => bridged.call(sent, { ...more, canReadRest: false }) }, input, options),
      ),
  };
}

/** Returns the repaired input. An input that cannot be repaired is returned as it is: the runtime refuses and records it. */
function repairInput(input: unknown, repair: ReturnType<typeof createInputRepair>): unknown {
  try {
    return repair(input) ?? input;
  } catch {
    return input;
  }
}

interface Approvals {
  /** undefined without a session */
  readonly approvals: UsedApprovals | undefined;
}

async function runCall(
  { qualifiedName, needsApproval, call, approvals }: Pick<BridgedTool, "qualifiedName" | "needsApproval" | "call"> & Approvals,
  input: unknown,
  { toolCallId, abortSignal, messages = [], context, experimental_context: older }: AiSdkCallOptions,
): Promise<ToolResult> {
  const approved = needsApproval && toolCallId !== undefined && isApproved(messages, { qualifiedName, id: toolCallId }, approvals);
  return await call(input, { id: toolCallId, signal: abortSignal, approved, context: context ?? older });
}

/**
 * Whether the messages contain a person's approval of this call. Without one, the runtime refuses the call in every version of AI SDK. In a session
 * an approval counts for one call, as the same messages may be sent again, also after a crash.
 */
function isApproved(messages: readonly unknown[], call: ApprovedCall, used = new UsedApprovals()): boolean {
  const parts = messages.flatMap((message) => {
    const { content } = fieldsOf(message);
    return Array.isArray(content) ? content.map(fieldsOf) : [];
  });
  const asked = new Set(
    parts.flatMap((part) => (part["type"] === "tool-approval-request" && part["toolCallId"] === call.id ? [part["approvalId"]] : [])),
  );
  const answers = parts.filter((part) => part["type"] === "tool-approval-response" && asked.has(part["approvalId"]));
  if (!answers.every((part) => part["approved"] === true)) return false;
  return used.use(
    call,
    answers.map((part) => part["approvalId"]),
  );
}

/** Marks an answer with more than JSON. It is plain data, as AI SDK's messages may be stored and read again before the model sees them. */
const CONTENT_MARKER = "haft-content";

/** Returns an output that matches the schema as it is, and any other as the content that the model is shown. */
function toTypedOutput(result: ToolResult): JsonValue | AiSdkContent {
  const answer = toAnswer(result);
  const { status, output, truncation } = result;
  if (isAiSdkContent(answer) || (status === "ok" && output !== undefined && truncation === undefined)) return answer;
  return { type: CONTENT_MARKER, ...omitUndefined({ output }), content: [{ type: "text", text: valueText(answer) }] };
}

function toAnswer(result: ToolResult): JsonValue | AiSdkContent {
  throwIfFailed(result);
  const { output, content } = result;
  if (content !== undefined) return { type: CONTENT_MARKER, ...(output === undefined ? {} : { output }), content };
  const plain = toOutput(result);
  // a tool's output that looks like this marker must not be read as one
  return isAiSdkContent(plain) ? { type: CONTENT_MARKER, output: plain, content: [{ type: "text", text: valueText(plain) }] } : plain;
}

function isAiSdkContent(output: unknown): output is AiSdkContent {
  return (
    typeof output === "object" &&
    output !== null &&
    "type" in output &&
    output.type === CONTENT_MARKER &&
    "content" in output &&
    Array.isArray(output.content)
  );
}

function toAiSdkOutput(output: JsonValue | AiSdkContent): AiSdkOutput {
  if (isAiSdkContent(output)) return { type: "content", value: output.content.map((part) => toAiSdkPart(sendablePart(part))) };
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
}

function toAiSdkPart(part: ContentPart): AiSdkPart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "file") {
    const pdf = readPdfData(part);
    if (pdf === undefined) return { type: "text", text: partText(part) };
    return { type: "file", mediaType: "application/pdf", data: { type: "data", data: pdf } };
  }
  return { type: "file", mediaType: part.mediaType, data: { type: "data", data: part.data } };
}

/** The fields that are read of an AI SDK tool. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
  readonly contextSchema?: unknown;
}

/**
 * Converts AI SDK tools to Haft tools, named by their keys. Input is checked, and transformed, by the tool's own schema. A tool that yields several
 * outputs reports all but the last as progress; one that needs approval asks through the runtime's `ask`. The model is shown the content of
 * `toModelOutput`. The `context` of a call is its data, checked by the tool's `contextSchema`. A tool without `execute`, which the client or the
 * provider runs, is refused.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool; `invalid_argument` for an array or a Map; as a rejection
 */
export async function fromAiSdkTools(tools: Readonly<Record<string, AiSdkToolLike>>): Promise<readonly Tool[]> {
  if (typeof tools !== "object" || tools === null || Symbol.iterator in tools)
    throw new ToolError("invalid_argument", "fromAiSdkTools() takes a record of tools by name.", {
      hint: "Pass { search: tool(…) }; for a Map, pass Object.fromEntries(tools).",
    });
  return Promise.all(Object.entries(tools).map(async ([name, tool]) => fromAiSdkTool(name, tool)));
}

async function fromAiSdkTool(name: string, tool: AiSdkToolLike): Promise<Tool> {
  const place = `fromAiSdkTools({ ${name} })`;
  checkArgument(isToolObject(tool), place, "a tool of AI SDK", tool);
  const { description, inputSchema, execute, needsApproval, toModelOutput, contextSchema } = tool;
  if (typeof execute !== "function")
    throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has no execute: its client or provider runs it.`);
  if (typeof description === "function")
    throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has a function as its description.`, {
      hint: "Give the tool a description that is a string.",
    });
  return foreignTool({
    name,
    description: typeof description === "string" ? description : "",
    ...(await readSchema(inputSchema).catch((thrown: unknown) => {
      throw schemaError(name, thrown);
    })),
    execute: async (input: unknown, context: ToolContext) => {
      const data = await readContext(name, contextSchema, context.data);
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal, context: data };
      const decide = (): unknown => (typeof needsApproval === "function" ? needsApproval.call(tool, input, options) : needsApproval);
      if (await runBeforeHandler(decide)) await askApproval(context, input);
      const output = refuseMcpError(await readLastOutput(await execute.call(tool, input, options), context));
      if (typeof toModelOutput !== "function") return output;
      return withModelOutput(output, await toModelOutput.call(tool, { toolCallId: context.callId, input, output }));
    },
  });
}

/**
 * Returns the context of a call, as the tool's `contextSchema` parses it.
 *
 * @throws ToolError `invalid_argument` if the data of the call does not match
 */
async function readContext(name: string, schema: unknown, data: unknown): Promise<unknown> {
  const parsed = await runBeforeHandler(async () => {
    const given: unknown = typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
    if (isStandardSchema(given)) return await parseWithSchema(given, data);
    const { validate } = fieldsOf(given);
    return typeof validate === "function" ? toParsedInput(await validate(data)) : { value: data };
  });
  if ("value" in parsed) return parsed.value;
  throw new ToolError("invalid_argument", `The data of the call does not match the contextSchema of ${name}.`, {
    outcome: "not_started",
    details: parsed.issues,
  });
}

/** Reads AI SDK's schema wrapper (its JSON Schema, which may be a promise, and `validate`), a lazy schema (a function), or a Standard Schema. */
async function readSchema(
  schema: unknown,
): Promise<{ readonly schema: unknown; readonly parseInput?: (input: JsonValue) => ParsedInput | Promise<ParsedInput> }> {
  const given: unknown = typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
  if (typeof given === "object" && given !== null && "jsonSchema" in given) {
    const own = { schema: await given.jsonSchema };
    const validate = "validate" in given ? given.validate : undefined;
    return typeof validate === "function" ? { ...own, parseInput: async (input) => toParsedInput(await validate(input)) } : own;
  }
  return isStandardSchema(given) ? { schema: given, parseInput: fromStandardSchema(given).parse } : { schema: given };
}

/** Reads the result of `validate` of AI SDK's schema wrapper. */
function toParsedInput(verdict: { readonly success: unknown; readonly value?: unknown; readonly error?: unknown }): ParsedInput {
  return verdict.success === true ? { value: verdict.value } : { issues: [describeThrown(verdict.error)] };
}

async function readLastOutput(output: unknown, context: ToolContext): Promise<unknown> {
  if (!isAsyncIterable(output)) return output;
  let last: unknown;
  let isFirst = true;
  for await (const next of output) {
    context.signal.throwIfAborted();
    if (!isFirst) context.progress(toProgress(last));
    isFirst = false;
    last = next;
  }
  return last;
}

function toProgress(output: unknown): ProgressUpdate {
  try {
    const message: unknown = typeof output === "string" ? output : JSON.stringify(output);
    return typeof message === "string" ? { message } : {};
  } catch {
    return {}; // not serializable; only the last output has to be JSON
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
