import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ModelRequest, ModelTool } from "../core/model.ts";
import { withAnswerChecks } from "./answered-calls.ts";
import {
  ANTHROPIC,
  isReasoningBlock,
  toAnthropicMessages,
  toolResultBlock,
  toolsetField,
  type AnthropicOptions,
} from "./anthropic-conversation.ts";
import { ADAPTIVE, claudeCanBeForced, claudeEfforts, claudeTakesTemperature } from "./anthropic/claude-models.ts";
import { MessageReader } from "./anthropic/message-reader.ts";
import { withoutReasoningBlocks } from "./anthropic/refused-reasoning.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool } from "./encode-tools.ts";
import { mergeNative } from "./merge-native.ts";
import { resolveToolChoice, declaredNames } from "./native-tools.ts";
import { asString } from "./read-field.ts";
import { effortFields, noTemperatureNote } from "./reasoning-effort.ts";
import { enforcedSchema, unsupportedReplyNote } from "./response-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  AnsweredCall,
  EncodeMessagesOptions,
  EncodeToolsOptions,
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";

/** The API requires `max_tokens`. */
const DEFAULT_MAX_TOKENS = 8_192;

/**
 * Anthropic's Messages API: `/messages` under `https://api.anthropic.com/v1`.
 *
 * Thinking, its signatures and provider-executed calls are kept in `native` and sent back unchanged. Calls of client tools that Anthropic defines
 * (`bash_20250124`, `text_editor_…`, `memory_…`, `computer_…`) are calls like any other; calls of a toolset (`computer_toolset_…`,
 * `browser_toolset_…`) are calls of its one tool, with the member's name as `action` in their input. In a request, an output of `tool_reference`
 * objects is sent as such blocks, as far as they refer to tools of the request that have `defer_loading`.
 *
 * @see https://docs.anthropic.com/en/api/messages
 */
export function anthropicMessages(): WireFormat {
  return {
    name: ANTHROPIC,
    framing: "sse",
    path: () => "/messages",
    encodeTools,
    encodeMessages,
    encodeRequest,
    withoutRefused: (body, refusal) => withoutReasoningBlocks(body, refusal, isReasoningBlock),
    encodeResults: withAnswerChecks(encodeResults),
    decodeReply: (body, options) => new MessageReader(options).readWhole(body),
    decodeStream: (options) => new MessageReader(options),
  };
}

function encodeTools(tools: readonly ModelTool[], { strict = false }: EncodeToolsOptions = {}): EncodedTools {
  const rules = {
    format: ANTHROPIC,
    subset: "json-schema",
    strictSubset: strict ? "anthropic-strict" : undefined,
    ownNames: nativeToolNames,
    isClaude: true,
  } as const;
  return encodeEachTool(tools, rules, (tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.schema,
    ...(tool.strict ? { strict: true } : {}),
  }));
}

/** `computer_toolset_20260801` has no `name`: calls of its members name the toolset `computer`. */
const TOOLSET = /^(?<name>[a-z]+)_toolset_\d+$/u;

function nativeToolNames(words: JsonObject): readonly string[] {
  const { name } = TOOLSET.exec(asString(words["type"]) ?? "")?.groups ?? {};
  return name === undefined ? declaredNames(words) : [name];
}

function encodeMessages(
  messages: readonly ModelMessage[],
  { tools = true, ...options }: EncodeMessagesOptions & AnthropicOptions = {},
): EncodedMessages {
  return toAnthropicMessages(tools ? messages : withCallsAsText(messages), options);
}

/** Returns the names of the tools that the model sees once a result refers to them. */
function deferredIn(tools: JsonValue): ReadonlySet<string> {
  const deferred = isJsonArray(tools) ? tools.filter(isJsonObject).filter((tool) => tool["defer_loading"] === true) : [];
  return new Set(deferred.flatMap(declaredNames));
}

function encodeRequest(request: ModelRequest, { model, stream = true, strict = false }: WireTarget): EncodedRequest {
  const { native = {}, maxOutputTokens: max_tokens = DEFAULT_MAX_TOKENS, temperature } = request;
  const encoded = encodeTools(request.tools ?? [], { strict });
  const { tools, toolNames } = encoded;
  const notes: WireNote[] = [...encoded.notes];
  candidateCount(request, { format: ANTHROPIC, most: 1 }, notes);
  const offered = tools.length > 0 || native["tools"] !== undefined;
  const conversation = encodeMessages(request.messages, {
    tools: offered,
    mustEndWithUser: true,
    deferred: deferredIn(native["tools"] ?? tools),
  });
  const system = [...systemBlocks(request.system), ...(conversation.system ?? [])];
  const { thinking, ...effort } = effortFields(
    request,
    { format: ANTHROPIC, model, efforts: claudeEfforts(model, request.toolChoice) },
    notes,
  );
  const isThinking = thinking === ADAPTIVE && native["thinking"] === undefined;
  const acceptsTemperature = temperature === undefined || (!isThinking && claudeTakesTemperature(model));
  if (!acceptsTemperature) notes.push(noTemperatureNote(ANTHROPIC, model));
  const body: JsonObject = {
    model,
    max_tokens,
    ...(system.length === 0 ? {} : { system }),
    messages: conversation.messages,
    ...omitUndefined({ container: containerOf(request.messages) }),
    ...(tools.length === 0 ? {} : { tools }),
    ...choiceOf(request, encoded, { model, notes }),
    ...(temperature === undefined || !acceptsTemperature ? {} : { temperature }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(stream ? { stream } : {}),
    ...native,
    ...mergeNative("output_config", { ...effort, ...outputConfig(request, model, notes) }, native),
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...toolNames]), notes };
}

/** Returns the container of the provider's code execution since the last user message: code that waits for results is only found with its id. */
function containerOf(messages: readonly ModelMessage[]): string | undefined {
  const since = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const last = since.findLast((message) => message.role === "assistant" && message.native?.container !== undefined);
  return last?.role === "assistant" && last.native?.format === ANTHROPIC ? last.native.container : undefined;
}

/** Models older than the API's structured outputs, which refuse a request for them. */
const OLD_MODEL = /claude-(?:instant|[123](?!\d)|(?:sonnet|opus)-4-(?:0|\d{8})(?!\d))/u;

/** @see https://platform.claude.com/docs/en/build-with-claude/structured-outputs */
function outputConfig({ responseFormat }: ModelRequest, model: string, notes: WireNote[]): JsonObject {
  if (responseFormat === undefined) return {};
  if (OLD_MODEL.test(model)) {
    notes.push(unsupportedReplyNote(ANTHROPIC, `replies in JSON from ${model}`));
    return {};
  }
  const schema = enforcedSchema(responseFormat, ANTHROPIC, notes);
  return schema === undefined ? {} : { format: { type: "json_schema", schema } };
}

function systemBlocks(system: string | undefined): readonly JsonObject[] {
  return system === undefined || system.trim() === "" ? [] : [{ type: "text", text: system.toWellFormed() }];
}

const CHOICES = { auto: "auto", none: "none", required: "any" } as const;

/** Returns `tool_choice`, or no field for the API's default. If the model refuses to be forced to call, the choice becomes `auto`, with a note. */
function choiceOf(
  { toolChoice = "auto", parallelCalls = true }: ModelRequest,
  encoded: EncodedTools,
  { model, notes }: { readonly model: string; readonly notes: WireNote[] },
): JsonObject {
  const name = resolveToolChoice(toolChoice, encoded);
  if (encoded.tools.length === 0) return {};
  const isRefused = toolChoice !== "auto" && toolChoice !== "none" && !claudeCanBeForced(model);
  if (isRefused) notes.push({ kind: "unsupported", note: `${ANTHROPIC} cannot require ${model} to make calls.` });
  const wanted = isRefused ? "auto" : toolChoice;
  if (wanted === "auto" && parallelCalls) return {};
  const choice: JsonObject = typeof wanted === "string" ? { type: CHOICES[wanted] } : { type: "tool", name: name ?? "" };
  return { tool_choice: parallelCalls || wanted === "none" ? choice : { ...choice, disable_parallel_tool_use: true } };
}

function encodeResults(answers: readonly AnsweredCall[]): readonly JsonObject[] {
  const content = answers.map(({ id, result, native = {} }) => toolResultBlock(id ?? result.callId, result, toolsetField(native)));
  return content.length === 0 ? [] : [{ role: "user", content }];
}
