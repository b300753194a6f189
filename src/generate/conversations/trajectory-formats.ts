import { getOrAdd } from "../../core/base/get-or-add.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { ModelMessage } from "../../core/message.ts";
import type { ModelTool } from "../../core/model.ts";
import { renameTools } from "../../core/result.ts";
import { anthropicMessages } from "../../wire/anthropic.ts";
import { openAiChat } from "../../wire/openai-chat.ts";
import { toWellFormedJson } from "../../wire/conversation-steps.ts";
import { providerName } from "../../wire/provider-name.ts";
import type { WireFormat } from "../../wire/wire-format.ts";
import { withWeights } from "./message-weights.ts";
import { shareGptConversation, chatTemplateMessages } from "./training-formats.ts";
import { originOf, createReport, resultsOf, trajectoryMessages, trajectoryResult, type Trajectory } from "./trajectory.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/**
 * The formats of generated conversations.
 *
 * `neutral`: `{ id, index, seed, plan, kind, tools, messages, report }` in Haft's own fields, with whole results. `openai`: `{ messages, tools,
 * metadata }` for Chat Completions and its fine-tuning. `anthropic`: `{ system, messages, tools, metadata }` for the Messages API. `huggingface`: `{
 * messages, tools, metadata }` for the chat templates of `transformers` and the trainers of TRL, with inputs of calls as objects. `sharegpt`: `{
 * conversations, tools, metadata }` for LLaMA-Factory, with `tools` as a JSON string. `metadata` is a JSON string too: the other fields of the
 * neutral form, and the status, origin and fidelity of each result. As a string it is a column of one type, however conversations ended. No format
 * contains lone surrogates.
 */
export const TRAJECTORY_FORMATS = ["neutral", "openai", "anthropic", "huggingface", "sharegpt"] as const;
/** The format of generated conversations: one of `TRAJECTORY_FORMATS`. */
export type TrajectoryFormat = (typeof TRAJECTORY_FORMATS)[number];

/** The possible beginnings of lines in each format. */
export const LINE_OPENINGS: Readonly<Record<TrajectoryFormat, readonly string[]>> = {
  neutral: ['{"id":"conversation-'],
  openai: ['{"messages":['],
  anthropic: ['{"messages":[', '{"system":[{"type":"text",'],
  huggingface: ['{"messages":['],
  sharegpt: ['{"conversations":['],
};

const WEIGHTED_FORMATS: ReadonlySet<TrajectoryFormat> = new Set<TrajectoryFormat>(["openai", "huggingface"]);

export type TrajectoryWriter = (trajectory: Trajectory) => JsonObject;

export interface TrajectoryWriterOptions {
  /** `false` is written to lines for OpenAI's fine-tuning, which has a field for it. */
  readonly parallelCalls: boolean;
  /** Whether messages of the assistant have a `weight`. */
  readonly weights: boolean;
}

/** Returns a writer. @throws ToolError `invalid_argument` for an unknown format, and for weights in a format without them */
export function trajectoryWriter(format: TrajectoryFormat, options: TrajectoryWriterOptions): TrajectoryWriter {
  const write = createFormatWriter(format, options);
  if (!options.weights) return (trajectory) => wellFormedJson(write(trajectory));
  if (!WEIGHTED_FORMATS.has(format))
    throw new ToolError("invalid_argument", `Messages of the format ${quoteValue(format)} have no weights.`, {
      hint: `The formats with weights are ${[...WEIGHTED_FORMATS].join(" and ")}.`,
    });
  return (trajectory) => withWeights(wellFormedJson(write(trajectory)), resultsOf(trajectory));
}

function createFormatWriter(format: TrajectoryFormat, { parallelCalls }: TrajectoryWriterOptions): (trajectory: Trajectory) => object {
  if (format === "neutral") return writeNeutral;
  if (format === "openai") return providerWriter(openAiChat(), parallelCalls ? {} : { parallel_tool_calls: false });
  if (format === "anthropic") return providerWriter(anthropicMessages());
  if (format === "huggingface") return chatTemplateWriter();
  if (format === "sharegpt") return shareGptWriter();
  throw new ToolError("invalid_argument", `The format ${quoteValue(format)} is not known.`, {
    hint: `Known formats: ${TRAJECTORY_FORMATS.join(", ")}.`,
  });
}

function writeNeutral(trajectory: Trajectory): object {
  const { tools, stop, error } = trajectory;
  return {
    ...originOf(trajectory),
    tools: tools.map(({ name, description, inputSchema, outputSchema }) => ({
      name,
      description,
      inputSchema,
      ...(outputSchema === undefined ? {} : { outputSchema }),
    })),
    messages: trajectoryMessages(trajectory),
    ...omitUndefined({ stop, error }),
    report: createReport(trajectory),
  };
}

/** @param extraFields fields that every line has */
function providerWriter(format: WireFormat, extraFields: JsonObject = {}): (trajectory: Trajectory) => object {
  const toolsOf = createToolEncoder(format);
  return (trajectory) => {
    const { messages, system } = format.encodeMessages(withProviderToolNames(trajectory));
    return {
      ...(system === undefined ? {} : { system }),
      messages,
      tools: toolsOf(trajectory),
      ...extraFields,
      metadata: toJsonString(metadataOf(trajectory)),
    };
  };
}

function chatTemplateWriter(): (trajectory: Trajectory) => object {
  const toolsOf = createToolEncoder(openAiChat());
  return (trajectory) => ({
    messages: chatTemplateMessages(withProviderToolNames(trajectory)),
    tools: toolsOf(trajectory),
    metadata: toJsonString(metadataOf(trajectory)),
  });
}

function shareGptWriter(): (trajectory: Trajectory) => object {
  const toolsOf = createToolEncoder(openAiChat());
  return (trajectory) => {
    const { conversations, leftOut } = shareGptConversation(withProviderToolNames(trajectory));
    const tools = toJsonString(toolsOf(trajectory).map(({ function: described }) => described));
    return { conversations, tools, metadata: toJsonString({ ...metadataOf(trajectory), ...(leftOut.length === 0 ? {} : { leftOut }) }) };
  };
}

/** Returns the messages, with tools in the assistant's texts renamed as the line offers them: texts written by code have Haft's names. */
function withProviderToolNames(trajectory: Trajectory): readonly ModelMessage[] {
  const { messages, system, tools } = trajectory;
  const called = resultsOf(trajectory).flatMap(({ name, error }) => [name, ...(error?.toolNames ?? [])]);
  const names = [...tools.map(({ name }) => name), ...called];
  const renamed = messages.map((message): ModelMessage => {
    if (message.role !== "assistant" || typeof message.content !== "string" || !message.content.includes("::")) return message;
    return { ...message, content: renameTools(message.content, names, (name) => providerName(name)) };
  });
  return system === undefined ? renamed : [{ role: "system", at: 0, content: system }, ...renamed];
}

/** Returns a function that encodes each tool once, however many conversations offer it. */
function createToolEncoder(format: WireFormat): (trajectory: Trajectory) => readonly JsonObject[] {
  const written = new Map<ModelTool, readonly JsonObject[]>();
  return ({ tools }) => tools.flatMap((tool) => getOrAdd(written, tool, () => format.encodeTools([tool]).tools));
}

/** Returns JSON as a string, for readers whose columns have one type: they would refuse an object with other keys than in the lines before. */
function toJsonString(value: object): string {
  return JSON.stringify(wellFormedJson(value));
}

/** Replaces lone surrogates, which strict readers refuse. */
function wellFormedJson(value: object): JsonObject {
  return toWellFormedJson(value as JsonObject); // everything written is JSON
}

function metadataOf(trajectory: Trajectory): object {
  const { stop, error } = trajectory;
  const results = resultsOf(trajectory);
  return {
    ...originOf(trajectory),
    results: results.map((result) => {
      const {
        output: _output,
        content: _content,
        repairs: _repairs,
        warnings: _warnings,
        error: failure,
        ...rest
      } = trajectoryResult(result);
      return { ...rest, ...(failure === undefined ? {} : { code: failure.code }) };
    }),
    ...omitUndefined({ stop, error }),
    report: createReport(trajectory),
  };
}
