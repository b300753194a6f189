/** Tools for Vercel's AI SDK (7), and its tools for us. */
import { ToolError, describeThrown } from "../core/error.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { wrongKind, checkArgument, checkSession } from "../core/check-argument.ts";
import type { ProgressUpdate, ToolContext } from "../core/context.ts";
import { type ContentPart, valueText } from "../core/content.ts";
import { pdfData } from "../core/data-uri.ts";
import type { JsonObject, JsonValue } from "../core/base/json.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { partText, type ToolResult } from "../core/result.ts";
import type { ParsedInput, Tool } from "../core/tool.ts";
import { inputRepair } from "../registry/input-repair.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { fromStandardSchema } from "../schema/standard-schema.ts";
import { isStandardSchema } from "../schema/library-schema.ts";
import { askApproval, bridgedTools, foreignTool, openSchema, outputOf, refuseError, schemaError } from "./bridge.ts";
import type { AdapterOptions, BridgedTool, OpenSchema } from "./bridge.ts";
import { fieldsOf, refuseMcpError, withModelOutput } from "./model-output.ts";

/** A tool as `generateText` and `streamText` take it in their record of tools. */
export interface AiSdkTool {
  readonly type: "dynamic";
  readonly description: string;
  readonly inputSchema: OpenSchema;
  /** Set where a person has to allow the tool's calls and the runtime has no approver: AI SDK asks by its own approval. */
  readonly needsApproval?: true;
  readonly execute: (input: unknown, options: AiSdkCallOptions) => Promise<unknown>;
  readonly toModelOutput: (said: { readonly output: unknown }) => AiSdkOutput;
}

/** The fields that we read of the options AI SDK passes to a tool besides its input. */
interface AiSdkCallOptions {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly messages?: readonly unknown[];
  /** Of this tool, in `toolsContext`. */
  readonly context?: unknown;
  /** The name of AI SDK 6 for it. */
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

/** An answer that is not just an output of its schema: one with images or files, one that was cut, one that breaks the schema. */
export interface AiSdkContent {
  readonly type: typeof SHOWN;
  readonly output?: JsonValue;
  readonly content: readonly ContentPart[];
}

/** Tools with their types, by the names that the model is given. */
export interface AiSdkTypedOptions<Tools extends Readonly<Record<string, Tool>>> extends Pick<AdapterOptions, "session" | "data"> {
  /** The runtime's own tools, as `defineTool` made them: the only ones that are given. */
  readonly tools: Tools;
}

/** Each tool with the types of its schemas; a schema that is no literal gives a `JsonObject`, and no output schema `unknown`. */
export type AiSdkTypedTools<Tools> = {
  readonly [Name in keyof Tools]: AiSdkTypedTool<SentTo<Tools[Name]>, AnsweredBy<Tools[Name]>>;
};

type SentTo<Given> = Given extends {
  readonly inputSchema: { readonly "~standard": { readonly types?: { readonly input: infer Sent } | undefined } };
}
  ? Sent
  : JsonObject;

type AnsweredBy<Given> = Given extends {
  readonly outputSchema?: { readonly "~standard": { readonly types?: { readonly output: infer Output } | undefined } };
}
  ? Output
  : unknown;

/**
 * The tools of a runtime as AI SDK's record of tools. A call that fails throws what the model is to read, as AI SDK wants it; images,
 * sounds and PDF files of a result reach the model as such.
 *
 * With `tools` those alone are given, and AI SDK knows the types of their calls and results. The input of a call is then the one that was
 * repaired; one that cannot be is as the model sent it, and its call fails.
 *
 * @see https://ai-sdk.dev/docs/ai-sdk-core/tools-and-tool-calling
 * @throws ToolError `invalid_argument` for one of `tools` that the runtime does not have, or that a model is given under another name
 */
export function toAiSdkTools(runtime: Runtime, options?: AdapterOptions): Readonly<Record<string, AiSdkTool>>;
export function toAiSdkTools<Tools extends Readonly<Record<string, Tool>>>(
  runtime: Runtime,
  options: AiSdkTypedOptions<Tools>,
): AiSdkTypedTools<Tools>;
export function toAiSdkTools(runtime: Runtime, options: AdapterOptions | AiSdkTypedOptions<Readonly<Record<string, Tool>>> = {}): object {
  if (!isOptionsObject(options)) throw wrongKind(`The options of ${OWNER} are an object`, options);
  const { session: used } = options;
  if (used !== undefined) checkSession(used, `${OWNER.slice(0, -2)}(runtime, { session })`);
  const approvals = usedIn(used);
  if (!("tools" in options))
    return Object.fromEntries(bridgedTools(runtime, options, OWNER).map((tool) => [tool.name, aiSdkTool(tool, approvals)]));
  const { tools, ...others } = options;
  const bridged = bridgedTools(runtime, others, OWNER);
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, typedTool(bridgedAs(name, tool, bridged), approvals)]));
}

const OWNER = "toAiSdkTools()";

/** The tool among those of the runtime. @throws ToolError `invalid_argument` */
function bridgedAs(name: string, tool: Tool, all: readonly BridgedTool[]): BridgedTool {
  const own = all.filter((bridged) => bridged.tool === tool);
  const found = own.find((bridged) => bridged.name === name);
  if (found !== undefined) return found;
  const [other] = own;
  const what = `The tool ${JSON.stringify(name)} of toAiSdkTools()`;
  throw other === undefined
    ? new ToolError("invalid_argument", `${what} is none that this runtime offers.`, { hint: "Give the runtime the same tool." })
    : new ToolError("invalid_argument", `${what} has another name there.`, { hint: `Write ${JSON.stringify(other.name)}.` });
}

function aiSdkTool({ description, inputSchema, needsApproval, call }: BridgedTool, approvals: UsedApprovals): AiSdkTool {
  return {
    type: "dynamic",
    description,
    inputSchema: openSchema(inputSchema),
    ...(needsApproval ? { needsApproval: true as const } : {}),
    execute: async (input, options) => answerOf(await called({ needsApproval, call, approvals }, input, options)),
    toModelOutput: ({ output }) => modelOutput(output as JsonValue), // what `execute` returned
  };
}

function typedTool(bridged: BridgedTool, approvals: UsedApprovals): AiSdkTypedTool<JsonObject, unknown> {
  const repair = inputRepair(bridged.tool);
  return {
    ...aiSdkTool(bridged, approvals),
    type: "function",
    inputSchema: openSchema<JsonObject>(bridged.inputSchema, (input) => repaired(input, repair)),
    execute: async (input, options) =>
      outputAsPromised(
        await called({ ...bridged, approvals, call: (sent, more) => bridged.call(sent, { ...more, readsRest: false }) }, input, options),
      ),
  };
}

/** An input that cannot be repaired is passed to the runtime, which refuses and records it. */
function repaired(input: unknown, repair: ReturnType<typeof inputRepair>): unknown {
  try {
    return repair(input) ?? input;
  } catch {
    return input;
  }
}

/** The ids of the approvals that calls of a session ran by; undefined without a session. */
type UsedApprovals = Set<unknown> | undefined;

const USED = new WeakMap<RuntimeSession, Set<unknown>>();

function usedIn(session: RuntimeSession | undefined): UsedApprovals {
  if (session === undefined) return undefined;
  const used = USED.get(session) ?? new Set();
  USED.set(session, used);
  return used;
}

async function called(
  { needsApproval, call, approvals }: Pick<BridgedTool, "needsApproval" | "call"> & { readonly approvals: UsedApprovals },
  input: unknown,
  { toolCallId, abortSignal, messages = [], context, experimental_context: older }: AiSdkCallOptions,
): Promise<ToolResult> {
  const approved = needsApproval && toolCallId !== undefined && isApproved(messages, toolCallId, approvals);
  return await call(input, { id: toolCallId, signal: abortSignal, approved, context: context ?? older });
}

/**
 * Whether the messages hold a person's yes to this call. Without it the runtime refuses, whatever version of AI SDK made the call. In a
 * session it counts for one call: the same messages may be sent again.
 */
function isApproved(messages: readonly unknown[], toolCallId: string, used: UsedApprovals = new Set()): boolean {
  const parts = messages.flatMap((message) => {
    const { content } = fieldsOf(message);
    return Array.isArray(content) ? content.map(fieldsOf) : [];
  });
  const asked = new Set(
    parts.flatMap((part) => (part["type"] === "tool-approval-request" && part["toolCallId"] === toolCallId ? [part["approvalId"]] : [])),
  );
  const answers = parts.filter((part) => part["type"] === "tool-approval-response" && asked.has(part["approvalId"]));
  const unused = answers.find((part) => !used.has(part["approvalId"]));
  if (unused === undefined || !answers.every((part) => part["approved"] === true)) return false;
  used.add(unused["approvalId"]);
  return true;
}

/** Of more than JSON, as plain data: AI SDK's messages may be stored and read again before the model is shown them. */
const SHOWN = "haft-content";

/** An output of the schema as it is; in place of any other the content that the model is shown. */
function outputAsPromised(result: ToolResult): JsonValue | AiSdkContent {
  const answer = answerOf(result);
  const { status, output, truncation } = result;
  if (isShown(answer) || (status === "ok" && output !== undefined && truncation === undefined)) return answer;
  return { type: SHOWN, ...omitUndefined({ output }), content: [{ type: "text", text: valueText(answer) }] };
}

function answerOf(result: ToolResult): JsonValue | AiSdkContent {
  refuseError(result);
  const { output, content } = result;
  if (content !== undefined) return { type: SHOWN, ...(output === undefined ? {} : { output }), content };
  const plain = outputOf(result);
  // a tool that answers in our format must not pass for us
  return isShown(plain) ? { type: SHOWN, output: plain, content: [{ type: "text", text: valueText(plain) }] } : plain;
}

function isShown(output: unknown): output is AiSdkContent {
  return (
    typeof output === "object" &&
    output !== null &&
    "type" in output &&
    output.type === SHOWN &&
    "content" in output &&
    Array.isArray(output.content)
  );
}

function modelOutput(output: JsonValue | AiSdkContent): AiSdkOutput {
  if (isShown(output)) return { type: "content", value: output.content.map(partOf) };
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
}

function partOf(part: ContentPart): AiSdkPart {
  if (part.type === "text") return part;
  if (part.type === "file") {
    const pdf = pdfData(part);
    if (pdf === undefined) return { type: "text", text: partText(part) };
    return { type: "file", mediaType: "application/pdf", data: { type: "data", data: pdf } };
  }
  return { type: "file", mediaType: part.mediaType, data: { type: "data", data: part.data } };
}

/** The fields that we read of a tool of AI SDK. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: unknown;
  readonly needsApproval?: unknown;
  readonly toModelOutput?: unknown;
}

/**
 * Tools of AI SDK as ours, named by their keys. Input is checked, and transformed, by the tool's own schema. One that yields several
 * outputs reports all but the last as progress; one that needs approval asks by the runtime's `ask`. A model is shown what `toModelOutput`
 * says. One without `execute`, which the client or the provider runs, is refused.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool; `invalid_argument` for an array or a Map. By rejecting
 */
export async function fromAiSdkTools(tools: Readonly<Record<string, AiSdkToolLike>>): Promise<readonly Tool[]> {
  if (typeof tools !== "object" || tools === null || Symbol.iterator in tools)
    throw new ToolError("invalid_argument", "fromAiSdkTools() takes a record of tools by their names.", {
      hint: "Give it { search: tool(…) }; of a Map, Object.fromEntries(tools).",
    });
  return Promise.all(Object.entries(tools).map(async ([name, tool]) => fromAiSdkTool(name, tool)));
}

async function fromAiSdkTool(name: string, tool: AiSdkToolLike): Promise<Tool> {
  const place = `fromAiSdkTools({ ${name} })`;
  checkArgument(typeof tool === "object" && tool !== null, place, "a tool of AI SDK", tool);
  const { description, inputSchema, execute, needsApproval, toModelOutput } = tool;
  if (typeof execute !== "function")
    throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has no execute: its client or provider runs it.`);
  if (typeof description === "function")
    throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has a function for its description.`, {
      hint: "Give the tool with its description as a string.",
    });
  return foreignTool({
    name,
    description: typeof description === "string" ? description : "",
    ...(await readSchema(inputSchema).catch((thrown: unknown) => {
      throw schemaError(name, thrown);
    })),
    execute: async (input: unknown, context: ToolContext) => {
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal, context: context.data };
      if (typeof needsApproval === "function" ? await needsApproval(input, options) : needsApproval === true)
        await askApproval(context, input);
      const output = refuseMcpError(await lastOf(await execute(input, options), context));
      if (typeof toModelOutput !== "function") return output;
      return withModelOutput(output, await toModelOutput({ toolCallId: context.callId, input, output }));
    },
  });
}

/** AI SDK's own wrapper has the JSON Schema, perhaps later, besides its check; a lazy one is a function that gives it. */
async function readSchema(
  schema: unknown,
): Promise<{ readonly schema: unknown; readonly parseInput?: (input: JsonValue) => ParsedInput | Promise<ParsedInput> }> {
  const given: unknown = typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
  if (typeof given === "object" && given !== null && "jsonSchema" in given) {
    const own = { schema: await given.jsonSchema };
    const validate = "validate" in given ? given.validate : undefined;
    return typeof validate === "function" ? { ...own, parseInput: async (input) => parsedBy(await validate(input)) } : own;
  }
  return isStandardSchema(given) ? { schema: given, parseInput: fromStandardSchema(given).parse } : { schema: given };
}

/** Reads the verdict of `validate` of AI SDK's wrapper. */
function parsedBy(verdict: { readonly success: unknown; readonly value?: unknown; readonly error?: unknown }): ParsedInput {
  return verdict.success === true ? { value: verdict.value } : { issues: [describeThrown(verdict.error)] };
}

async function lastOf(output: unknown, context: ToolContext): Promise<unknown> {
  if (!isAsyncIterable(output)) return output;
  let last: unknown;
  let isFirst = true;
  for await (const next of output) {
    context.signal.throwIfAborted();
    if (!isFirst) context.progress(progressOf(last));
    isFirst = false;
    last = next;
  }
  return last;
}

function progressOf(output: unknown): ProgressUpdate {
  try {
    const message: unknown = typeof output === "string" ? output : JSON.stringify(output);
    return typeof message === "string" ? { message } : {};
  } catch {
    return {}; // no JSON: only the last output has to be
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
