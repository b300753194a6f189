/** Tools for Vercel's AI SDK (7), and its tools for us. */
import { ToolError, describeThrown } from "../core/error.ts";
import type { ProgressUpdate, ToolContext } from "../core/context.ts";
import { type ContentPart, valueText } from "../core/content.ts";
import { pdfData } from "../core/data-uri.ts";
import type { JsonValue } from "../core/base/json.ts";
import { partText, type ToolResult } from "../core/result.ts";
import type { ParsedInput, Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { fromStandardSchema, isStandardSchema } from "../schema/standard-schema.ts";
import { askApproval, bridgedTools, foreignTool, openSchema, outputOf, refuseError } from "./bridge.ts";
import type { AdapterOptions, BridgedTool } from "./bridge.ts";
import { fieldsOf, withModelOutput } from "./model-output.ts";

/** A tool as `generateText` and `streamText` take it in their record of tools. */
export interface AiSdkTool {
  readonly type: "dynamic";
  readonly description: string;
  readonly inputSchema: ReturnType<typeof openSchema>;
  /** Set where a person has to allow the tool's calls and the runtime has no approver: AI SDK asks by its own approval. */
  readonly needsApproval?: true;
  readonly execute: (input: unknown, options: AiSdkCallOptions) => Promise<unknown>;
  readonly toModelOutput: (said: { readonly output: unknown }) => AiSdkOutput;
}

/** What we look at of what AI SDK gives a tool beside its input. */
interface AiSdkCallOptions {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
  readonly messages?: readonly unknown[];
}

type AiSdkOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: JsonValue }
  | { readonly type: "content"; readonly value: AiSdkPart[] };

type AiSdkPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: { readonly type: "data"; readonly data: string } };

/**
 * The tools of a runtime as AI SDK's record of tools. A call that fails throws what the model is to read, as AI SDK wants it; images,
 * sounds and PDF files of a result reach the model as such.
 *
 * @see https://ai-sdk.dev/docs/ai-sdk-core/tools-and-tool-calling
 */
export function toAiSdkTools(runtime: Runtime, options: AdapterOptions = {}): Readonly<Record<string, AiSdkTool>> {
  return Object.fromEntries(bridgedTools(runtime, options).map((tool) => [tool.name, aiSdkTool(tool)]));
}

function aiSdkTool({ description, inputSchema, needsApproval, call }: BridgedTool): AiSdkTool {
  return {
    type: "dynamic",
    description,
    inputSchema: openSchema(inputSchema),
    ...(needsApproval ? { needsApproval: true as const } : {}),
    execute: async (input, { toolCallId, abortSignal, messages = [] }) => {
      const approved = needsApproval && toolCallId !== undefined && wasApproved(messages, toolCallId);
      return answerOf(await call(input, { id: toolCallId, signal: abortSignal, approved }));
    },
    toModelOutput: ({ output }) => modelOutput(output as JsonValue), // what `execute` returned
  };
}

/** Whether the messages hold a person's yes to this call. Without it the runtime refuses, whatever version of AI SDK made the call. */
function wasApproved(messages: readonly unknown[], toolCallId: string): boolean {
  const parts = messages.flatMap((message) => {
    const { content } = fieldsOf(message);
    return Array.isArray(content) ? content.map(fieldsOf) : [];
  });
  const asked = new Set(
    parts.flatMap((part) => (part["type"] === "tool-approval-request" && part["toolCallId"] === toolCallId ? [part["approvalId"]] : [])),
  );
  const answers = parts.filter((part) => part["type"] === "tool-approval-response" && asked.has(part["approvalId"]));
  return answers.length > 0 && answers.every((part) => part["approved"] === true);
}

/** More than JSON, as plain data: AI SDK's messages may be stored and read again before the model is shown them. */
interface Shown {
  readonly type: typeof SHOWN;
  readonly output?: JsonValue;
  readonly content: readonly ContentPart[];
}
const SHOWN = "haft-content";

function answerOf(result: ToolResult): JsonValue | Shown {
  refuseError(result);
  const { output, content } = result;
  if (content !== undefined) return { type: SHOWN, ...(output === undefined ? {} : { output }), content };
  const plain = outputOf(result);
  // a tool that answers in our words is not to speak for us
  return isShown(plain) ? { type: SHOWN, output: plain, content: [{ type: "text", text: valueText(plain) }] } : plain;
}

function isShown(output: unknown): output is Shown {
  return (
    typeof output === "object" &&
    output !== null &&
    "type" in output &&
    output.type === SHOWN &&
    "content" in output &&
    Array.isArray(output.content)
  );
}

function modelOutput(output: JsonValue | Shown): AiSdkOutput {
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

/** What we look at of a tool of AI SDK. */
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
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool. By rejecting
 */
export async function fromAiSdkTools(tools: Readonly<Record<string, AiSdkToolLike>>): Promise<readonly Tool[]> {
  return Promise.all(Object.entries(tools).map(async ([name, tool]) => fromAiSdkTool(name, tool)));
}

async function fromAiSdkTool(name: string, tool: AiSdkToolLike): Promise<Tool> {
  const { description, inputSchema, execute, needsApproval, toModelOutput } = tool;
  if (typeof execute !== "function")
    throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has no execute: its client or provider runs it.`);
  return foreignTool({
    name,
    description: typeof description === "string" ? description : "",
    ...(await readSchema(inputSchema)),
    execute: async (input: unknown, context: ToolContext) => {
      const options = { toolCallId: context.callId, messages: [], abortSignal: context.signal, context: context.data };
      if (typeof needsApproval === "function" ? await needsApproval(input, options) : needsApproval === true)
        await askApproval(context, input);
      const output = await lastOf(await execute(input, options), context);
      if (typeof toModelOutput !== "function") return output;
      return withModelOutput(output, await toModelOutput({ toolCallId: context.callId, input, output }));
    },
  });
}

/** AI SDK's own wrapper has the JSON Schema, perhaps later, beside its check; a lazy one is a function that gives it. */
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

/** What `validate` of AI SDK's wrapper says. */
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
