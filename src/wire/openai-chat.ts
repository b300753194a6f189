import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import type { ModelMessage } from "../core/message.ts";
import type { UserTurnOptions } from "./alternating-turns.ts";
import { answeredName, withAnswerChecks } from "./answered-calls.ts";
import { PLAIN_CHAT, chatVariant, type ChatVariant } from "./chat-variants.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool, type WireTool } from "./encode-tools.ts";
import { ChatReader } from "./openai-chat/chat-reader.ts";
import { isReasoningModel } from "./openai-models.ts";
import { resultContent, resultMediaParts, toOpenAiMessages } from "./openai-conversation.ts";
import { resolveToolChoice } from "./native-tools.ts";
import { effortFields, noTemperatureNote } from "./reasoning-effort.ts";
import { mentionsJson, replyName, replySchema, unsupportedReplyNote } from "./response-format.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  AnsweredCall,
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  EncodeMessagesOptions,
  EncodeToolsOptions,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";

/** The key of this format in a tool's `providers`, for every variant. */
const FORMAT = PLAIN_CHAT.name;

const VARIANT: OptionNames<ChatVariant> = {
  name: true,
  path: true,
  maxTokensField: true,
  systemRole: true,
  developerRole: true,
  ids: true,
  strict: true,
  maxTools: true,
  parallelSwitch: true,
  streamOptions: true,
  required: true,
  jsonReplies: true,
  maxCandidates: true,
  logprobs: true,
  media: true,
  documents: true,
  mediaInResults: true,
  namedResults: true,
  assistantAfterResults: true,
  strictTurns: true,
  audioWithoutFormat: true,
  reasoning: true,
  efforts: true,
  takesTemperature: true,
  keptFields: true,
  spacedJson: true,
};

/**
 * The wire format of Chat Completions.
 *
 * Replies are read tolerantly for every provider; requests follow the provider's variant. A tool of another kind than `function` is declared as
 * `providers["openai-chat"]`: `{ type: "custom", custom: { name } }`.
 *
 * @param variant a provider's name (see `CHAT_VARIANTS`; an unknown name means plain Chat Completions) or a variant
 * @see https://platform.openai.com/docs/api-reference/chat
 */
export function openAiChat(variant: string | ChatVariant = "openai"): WireFormat {
  if (typeof variant !== "string") checkKnownKeys(variant, VARIANT, "openAiChat()");
  const rules = typeof variant === "string" ? chatVariant(variant) : variant;
  return {
    name: rules.name,
    framing: "sse",
    path: () => rules.path,
    encodeTools: (tools, options) => encodeTools(tools, rules, options),
    encodeMessages: (messages, options) => encodeMessages(messages, rules, options),
    encodeRequest: (request, target) => encodeRequest(request, target, rules),
    encodeResults: withAnswerChecks((answers) => encodeResults(answers, rules)),
    decodeReply: (body, options) => new ChatReader(rules, options).readWhole(body),
    decodeStream: (options) => new ChatReader(rules, options),
  };
}

function encodeTools(tools: readonly ModelTool[], variant: ChatVariant, { strict = false }: EncodeToolsOptions = {}): EncodedTools {
  const { strict: strictSubset, maxTools } = variant;
  return encodeEachTool(
    tools,
    {
      format: FORMAT,
      subset: "json-schema",
      strictSubset: strict ? strictSubset : undefined,
      ownNames: (words) => nativeToolTypes(words).map(({ name }) => name),
      ...(maxTools === undefined ? {} : { maxTools }),
    },
    writeTool,
  );
}

function writeTool({ name, description, schema, strict }: WireTool): JsonObject {
  return { type: "function", function: { name, description, parameters: schema, ...(strict ? { strict } : {}) } };
}

/** Returns type and name of a tool in the provider's own format: `{ type, [type]: { name } }`. */
function nativeToolTypes(words: JsonObject): readonly { readonly type: string; readonly name: string }[] {
  const { type } = words;
  const declared = typeof type === "string" ? words[type] : undefined;
  const name = isJsonObject(declared) ? declared["name"] : undefined;
  return typeof type === "string" && typeof name === "string" ? [{ type, name }] : [];
}

function nativeTypesOf({ providers = {} }: ModelTool): ReturnType<typeof nativeToolTypes> {
  const own = Object.hasOwn(providers, FORMAT) ? providers[FORMAT] : undefined;
  return own === undefined ? [] : nativeToolTypes(own);
}

function encodeMessages(
  messages: readonly ModelMessage[],
  variant: ChatVariant,
  { tools = true, mustEndWithUser = false }: EncodeMessagesOptions & UserTurnOptions = {},
): EncodedMessages {
  return toOpenAiMessages(tools ? messages : withCallsAsText(messages), variant, { mustEndWithUser });
}

function encodeRequest(request: ModelRequest, { model, stream = true, strict = false }: WireTarget, variant: ChatVariant): EncodedRequest {
  const { system, systemRole, messages, tools = [], toolChoice, parallelCalls, maxOutputTokens, temperature, native = {} } = request;
  const encoded = encodeTools(tools, variant, { strict });
  const offered = encoded.tools.length > 0;
  const conversation = encodeMessages(messages, variant, { tools: offered || native["tools"] !== undefined, mustEndWithUser: true });
  const notes: WireNote[] = [...encoded.notes];
  if (parallelCalls !== undefined && !variant.parallelSwitch)
    notes.push({ kind: "unsupported", note: `${variant.name} has no setting for several calls at once.` });
  const role = systemRole !== undefined && variant.developerRole ? systemRole : variant.systemRole;
  const systemMessages = system === undefined ? [] : [{ role, content: system.toWellFormed() }];
  const effort = effortFields(request, { format: variant.name, model, efforts: variant.efforts(model) }, notes);
  const effortName = native["reasoning_effort"] ?? effort["reasoning_effort"];
  const acceptsTemperature = temperature === undefined || (variant.takesTemperature?.(model, effortName) ?? true);
  if (!acceptsTemperature) notes.push(noTemperatureNote(variant.name, model));
  const body: JsonObject = {
    model,
    messages: [...systemMessages, ...conversation.messages],
    ...(offered ? { tools: encoded.tools } : {}),
    ...(toolChoice === undefined ? {} : choiceOf(toolChoice, tools, encoded, variant)),
    ...(offered && parallelCalls !== undefined && variant.parallelSwitch ? { parallel_tool_calls: parallelCalls } : {}),
    ...(maxOutputTokens === undefined ? {} : { [variant.maxTokensField]: maxOutputTokens }),
    ...(temperature === undefined || !acceptsTemperature ? {} : { temperature }),
    ...effort,
    ...responseFormatOf(request, variant, { notes, messages: [...systemMessages, ...conversation.messages] }),
    ...candidatesOf(request, variant, { notes, model }),
    ...(stream ? { stream, ...(variant.streamOptions ? { stream_options: { include_usage: true } } : {}) } : {}),
    ...native,
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

const ANY_OBJECT: JsonObject = { type: "object", properties: {} };

/** Asks for the schema if the server takes one, else for any object if a message asks for JSON, without which servers refuse the request. */
function responseFormatOf(
  { responseFormat }: ModelRequest,
  { name: format, jsonReplies, strict: strictSubset }: ChatVariant,
  { notes, messages }: { readonly notes: WireNote[]; readonly messages: readonly JsonObject[] },
): JsonObject {
  if (responseFormat === undefined) return {};
  const name = replyName(responseFormat);
  const takesSchema = jsonReplies.includes("json_schema");
  if (!takesSchema && responseFormat.schema !== undefined) notes.push(unsupportedReplyNote(format, "the schema of the reply"));
  const fitted = takesSchema ? replySchema(responseFormat, { subset: "json-schema", strictSubset }, notes) : undefined;
  if (fitted !== undefined) {
    const { schema, strict } = fitted;
    return { response_format: { type: "json_schema", json_schema: { name, schema, ...(strict ? { strict } : {}) } } };
  }
  if (!jsonReplies.includes("json_object"))
    return takesSchema ? { response_format: { type: "json_schema", json_schema: { name, schema: ANY_OBJECT } } } : {};
  if (mentionsJson(messages)) return { response_format: { type: "json_object" } };
  notes.push(unsupportedReplyNote(format, "replies in JSON, unless a message mentions JSON"));
  return {};
}

function candidatesOf(
  request: ModelRequest,
  { name: format, maxCandidates: most, logprobs }: ChatVariant,
  { notes, model }: { readonly notes: WireNote[]; readonly model: string },
): JsonObject {
  const n = candidateCount(request, { format, most }, notes);
  if (n === undefined) return {};
  if (logprobs !== false && !isReasoningModel(model)) return { n, logprobs };
  notes.push({ kind: "unsupported", note: `${format} does not say how probable a reply of ${model} is.` });
  return { n };
}

function choiceOf(choice: ToolChoice, tools: readonly ModelTool[], encoded: EncodedTools, { required }: ChatVariant): JsonObject {
  const name = resolveToolChoice(choice, encoded);
  if (typeof choice === "string") return encoded.tools.length === 0 ? {} : { tool_choice: choice === "required" ? required : choice };
  const [own] = tools.filter((tool) => tool.name === choice.tool).flatMap(nativeTypesOf);
  const { type } = own ?? { type: "function" };
  return { tool_choice: { type, [type]: { name: own?.name ?? name ?? choice.tool } } };
}

/** Writes an answer to a call without an id in the form of the older `function_call`. */
function encodeResults(answers: readonly AnsweredCall[], variant: ChatVariant): readonly JsonObject[] {
  const written = answers.map(({ id, result, ...named }): JsonObject => {
    const name = answeredName(named);
    const content = resultContent(result, variant.spacedJson);
    if (id === undefined) return { role: "function", name, content };
    return { role: "tool", tool_call_id: id, ...(variant.namedResults ? { name } : {}), content };
  });
  const shown = variant.media ? answers.flatMap(({ id, name, result }) => resultMediaParts({ id: id ?? name, result }, variant)) : [];
  return shown.length === 0 ? written : [...written, { role: "user", content: shown }];
}
