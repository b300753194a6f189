/** Reads the calls of a whole model message, in the format of any provider, and writes the messages with their results. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { endedWell, type ModelCall, type ModelReply, type ModelTool } from "../../../core/model.ts";
import { resultText, type ToolResult } from "../../../core/result.ts";
import { modelTools } from "../../../compose/prompt/model-tools.ts";
import { sendableResult } from "../../../policy/results/sendable-content.ts";
import type { VisibilityRules } from "../../../policy/visibility.ts";
import type { Registry } from "../../../registry/registry.ts";
import { anthropicMessages } from "../../../wire/anthropic.ts";
import { bedrockConverse } from "../../../wire/bedrock.ts";
import { cohere } from "../../../wire/cohere.ts";
import { geminiInteractions } from "../../../wire/gemini-interactions.ts";
import { gemini } from "../../../wire/gemini.ts";
import { mistral } from "../../../wire/mistral.ts";
import { ollama } from "../../../wire/ollama.ts";
import { openAiChat } from "../../../wire/openai-chat.ts";
import { openAiResponses } from "../../../wire/openai-responses.ts";
import { textFormat } from "../../../wire/text/formats.ts";
import type { WireFormat } from "../../../wire/wire-format.ts";
import { TEXT_PREFIX, type WIRE_NAMES } from "./message-formats.ts";

interface MessageFormat {
  readonly make: () => WireFormat;
  /** Wraps a bare message into a reply of the provider. */
  readonly reply: (message: JsonValue) => JsonValue;
}

const wrapInChoices = (message: JsonValue): JsonObject =>
  isJsonObject(message) && isJsonArray(message["choices"]) ? message : { choices: [{ index: 0, message, finish_reason: "tool_calls" }] };

const FORMATS = {
  "openai-chat": { make: openAiChat, reply: wrapInChoices },
  "openai-responses": {
    make: openAiResponses,
    reply: (message) =>
      isJsonObject(message) && Object.hasOwn(message, "output") ? message : { output: toArray(message), status: "completed" },
  },
  "anthropic-messages": {
    make: anthropicMessages,
    reply: (message) => (isJsonObject(message) ? { stop_reason: "tool_use", ...message } : message),
  },
  gemini: {
    make: gemini,
    reply: (message) =>
      isJsonObject(message) && Object.hasOwn(message, "candidates")
        ? message
        : { candidates: [{ content: message, finishReason: "STOP" }] },
  },
  "gemini-interactions": {
    make: geminiInteractions,
    reply: (message) =>
      isJsonObject(message) && Object.hasOwn(message, "steps") ? message : { steps: toArray(message), status: "requires_action" },
  },
  mistral: { make: mistral, reply: wrapInChoices },
  cohere: {
    make: cohere,
    reply: (message) => (isJsonObject(message) && isJsonObject(message["message"]) ? message : { message, finish_reason: "TOOL_CALL" }),
  },
  ollama: {
    make: ollama,
    reply: (message) =>
      isJsonObject(message) && isJsonObject(message["message"]) ? message : { message, done: true, done_reason: "stop" },
  },
  "bedrock-converse": {
    make: bedrockConverse,
    reply: (message) =>
      isJsonObject(message) && Object.hasOwn(message, "output") ? message : { output: { message }, stopReason: "tool_use" },
  },
} as const satisfies Record<(typeof WIRE_NAMES)[number], MessageFormat>;

/** The calls of a message, and how to write their results. */
export interface MessageCalls {
  readonly calls: readonly ModelCall[];
  /** Returns the messages with the results, in the provider's format. */
  encode(results: readonly ToolResult[]): readonly JsonObject[];
}

export interface ReadMessageOptions {
  readonly format: string;
  readonly registry: Registry;
  /** Rules for the tools that the model was shown. */
  readonly allow: VisibilityRules | undefined;
}

/** @throws ToolError `invalid_argument` if it is not a complete message of the format */
export function readMessage(message: JsonValue, { format, registry, allow }: ReadMessageOptions): MessageCalls {
  const tools = modelTools(registry, { allow });
  if (!isFormat(format)) return readText(message, { name: format.slice(TEXT_PREFIX.length), tools });
  const { make, reply: replyOf } = FORMATS[format];
  const wire = make();
  const reply = replyOf(message);
  let { calls } = decodeComplete(format, () => wire.decodeReply(reply));
  // long and unusual names were shortened for the provider; decoding them needs the tools
  if (calls.some(({ name }) => registry.get(name) === undefined))
    ({ calls } = decodeComplete(format, () => wire.decodeReply(reply, { toolNames: wire.encodeTools(tools).toolNames })));
  return {
    calls,
    encode: (results) =>
      wire.encodeResults(
        results.map((result, index) => ({ ...pickCall(calls, index), name: result.name, result: sendableResult(result) })),
      ),
  };
}

/** Reads a message that is a string. The results become one user message. */
function readText(message: JsonValue, { name, tools }: { readonly name: string; readonly tools: readonly ModelTool[] }): MessageCalls {
  const format = textFormat(name);
  const text = isJsonObject(message) ? message["content"] : message;
  if (typeof text !== "string")
    throw new ToolError(
      "invalid_argument",
      `A message in the format ${TEXT_PREFIX}${name} is a string, or an object with a string as its content.`,
    );
  const decoding = format.decodeText({ tools });
  const events = [...decoding.push(text), ...decoding.end()];
  const last = events.find((event) => event.type === "reply-end");
  const calls = last?.reply.calls ?? [];
  return {
    calls,
    encode(results) {
      if (results.length === 0) return [];
      const answers = results.map((result, index) => ({
        name: result.name,
        text: resultText(result),
        ...omitUndefined({ id: calls[index]?.id }),
      }));
      return [{ role: "user", content: format.writeResults(answers) }];
    },
  };
}

/** Decodes a message. Refuses an incomplete one, whose calls must not run. */
function decodeComplete(format: string, read: () => ModelReply): ModelReply {
  let reply: ModelReply;
  try {
    reply = read();
  } catch (thrown: unknown) {
    const { message } = ToolError.fromUnknown(thrown);
    throw new ToolError("invalid_argument", `The message is not in the format ${format}: ${message}`, { cause: thrown });
  }
  if (endedWell(reply.finish)) return reply;
  throw new ToolError("invalid_argument", `The message is incomplete (${reply.finishDetail ?? reply.finish}): none of its calls was run.`);
}

/** The call of a result; results are in the order of the calls. */
function pickCall(calls: readonly ModelCall[], index: number): Pick<ModelCall, "id" | "kind" | "offeredName" | "native"> {
  const { id, kind, offeredName, native } = calls[index] ?? {};
  return omitUndefined({ id, kind, offeredName, native });
}

function toArray(message: JsonValue): readonly JsonValue[] {
  return isJsonArray(message) ? message : [message];
}

function isFormat(name: string): name is keyof typeof FORMATS {
  return Object.hasOwn(FORMATS, name);
}
