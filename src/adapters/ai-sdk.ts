/** Tools for Vercel's AI SDK (7), and its tools for us. */
import { ToolError } from "../core/error.ts";
import type { ToolContext } from "../core/context.ts";
import type { ContentPart } from "../core/content.ts";
import type { JsonValue } from "../core/json.ts";
import type { Tool } from "../core/tool.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { bridgedTools, foreignTool, openSchema, outputOf } from "./bridge.ts";
import type { AdapterOptions, BridgedTool } from "./bridge.ts";

/** A tool as `generateText` and `streamText` take it in their record of tools. */
export interface AiSdkTool {
  readonly type: "dynamic";
  readonly description: string;
  readonly inputSchema: ReturnType<typeof openSchema>;
  readonly execute: (input: unknown, options: { readonly toolCallId?: string; readonly abortSignal?: AbortSignal }) => Promise<unknown>;
  readonly toModelOutput: (said: { readonly output: unknown }) => AiSdkOutput;
}

type AiSdkOutput =
  | { readonly type: "text"; readonly value: string }
  | { readonly type: "json"; readonly value: JsonValue }
  | { readonly type: "content"; readonly value: readonly AiSdkPart[] };

type AiSdkPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "file"; readonly mediaType: string; readonly data: { readonly type: "data"; readonly data: string } };

/**
 * The tools of a runtime as AI SDK's record of tools. A call that fails throws what the model is to read, as AI SDK wants it; images and
 * sounds of a result reach the model as such.
 *
 * @see https://ai-sdk.dev/docs/ai-sdk-core/tools-and-tool-calling
 */
export function toAiSdkTools(runtime: Runtime, options: AdapterOptions = {}): Readonly<Record<string, AiSdkTool>> {
  return Object.fromEntries(bridgedTools(runtime, options).map((tool) => [tool.name, aiSdkTool(tool)]));
}

function aiSdkTool({ description, inputSchema, call }: BridgedTool): AiSdkTool {
  /** What the model is shown of an answer that is more than JSON. */
  const contents = new WeakMap<object, readonly ContentPart[]>();
  return {
    type: "dynamic",
    description,
    inputSchema: openSchema(inputSchema),
    async execute(input, { toolCallId, abortSignal }) {
      const result = await call(input, { id: toolCallId, signal: abortSignal });
      const output = outputOf(result);
      if (result.content === undefined) return output;
      const shown = { output };
      contents.set(shown, result.content);
      return shown;
    },
    toModelOutput: ({ output }) => modelOutput(output as JsonValue, contents), // what `execute` returned
  };
}

function modelOutput(output: JsonValue, contents: WeakMap<object, readonly ContentPart[]>): AiSdkOutput {
  const content = typeof output === "object" && output !== null ? contents.get(output) : undefined;
  if (content !== undefined) return { type: "content", value: content.map(partOf) };
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
}

function partOf(part: ContentPart): AiSdkPart {
  if (part.type === "text") return part;
  if (part.type === "file") return { type: "text", text: part.text ?? part.uri };
  return { type: "file", mediaType: part.mediaType, data: { type: "data", data: part.data } };
}

/** What we look at of a tool of AI SDK. */
export interface AiSdkToolLike {
  readonly description?: unknown;
  readonly inputSchema: unknown;
  readonly execute?: unknown;
}

/**
 * Tools of AI SDK as ours, named by their keys. One that yields several outputs reports all but the last as progress. One without
 * `execute`, which the client or the provider runs, is refused.
 *
 * @throws ToolError `invalid_schema`, `not_executable` naming the tool. By rejecting
 */
export async function fromAiSdkTools(tools: Readonly<Record<string, AiSdkToolLike>>): Promise<readonly Tool[]> {
  return Promise.all(
    Object.entries(tools).map(async ([name, { description, inputSchema, execute }]) => {
      if (typeof execute !== "function")
        throw new ToolError("not_executable", `The AI SDK tool ${JSON.stringify(name)} has no execute: its client or provider runs it.`);
      return foreignTool({
        name,
        description: typeof description === "string" ? description : "",
        schema: await schemaOf(inputSchema),
        execute: (input: unknown, context: ToolContext) =>
          lastOf(execute(input, { toolCallId: context.callId, messages: [], abortSignal: context.signal, context: context.data }), context),
      });
    }),
  );
}

/** AI SDK's own wrapper has the JSON Schema beside its validation, perhaps later; a lazy one is a function that gives it. */
async function schemaOf(schema: unknown): Promise<unknown> {
  const given: unknown = typeof schema === "function" && !("~standard" in schema) ? schema() : schema;
  return typeof given === "object" && given !== null && "jsonSchema" in given ? await given.jsonSchema : given;
}

async function lastOf(output: unknown, context: ToolContext): Promise<unknown> {
  if (!isAsyncIterable(output)) return output;
  let last: unknown;
  let isFirst = true;
  for await (const next of output) {
    if (!isFirst) context.progress({ message: typeof last === "string" ? last : JSON.stringify(last) });
    isFirst = false;
    last = next;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}
