/** OpenAI's Responses API, also implemented by Azure, xAI, Bedrock, LM Studio and others. */
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelReply, ModelRequest, ModelTool, ReasoningEffort, ToolChoice } from "../core/model.ts";
import { withAnswerChecks } from "./answered-calls.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool, type WireTool } from "./encode-tools.ts";
import { mergeNative } from "./merge-native.ts";
import { APPROVAL_REQUEST, approvalToolName } from "./responses/approvals.ts";
import { ResponsesDecoder } from "./responses/decoder.ts";
import { OPENAI_RESPONSES, toInputItems } from "./responses/input-items.ts";
import { BUILT_IN_TOOLS } from "./responses/items.ts";
import { isNonReasoningModel, openAiEfforts, takesTemperature } from "./openai-models.ts";
import { effortFields, noTemperatureNote } from "./reasoning-effort.ts";
import { asString } from "./read-field.ts";
import { mentionsJson, replyName, replySchema, unsupportedReplyNote } from "./response-format.ts";
import { withoutReasoning } from "./responses/refused-reasoning.ts";
import { resultItem } from "./responses/result-items.ts";
import type {
  AnsweredCall,
  DecodeOptions,
  EncodedRequest,
  EncodedTools,
  EncodeToolsOptions,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * The wire format of OpenAI's Responses.
 *
 * The provider stores nothing (`store: false`), so reasoning is encrypted and sent back with the conversation; a request's `native` can change that.
 * `strict` is always sent, because the provider otherwise tries strict mode by default.
 *
 * @see https://platform.openai.com/docs/api-reference/responses
 */
export function openAiResponses(): WireFormat {
  return {
    name: OPENAI_RESPONSES,
    framing: "sse",
    path: () => "/responses",
    encodeTools,
    encodeMessages: (messages, { tools = true } = {}) => toInputItems(messages, { tools }),
    encodeRequest,
    withoutRefused: withoutReasoning,
    encodeResults: withAnswerChecks((answers) => answers.map(answerItem)),
    decodeReply,
    decodeStream: (options?: DecodeOptions) => new ResponsesDecoder(options),
  };
}

function encodeTools(tools: readonly ModelTool[], { strict = false }: EncodeToolsOptions = {}): EncodedTools {
  return encodeEachTool(
    tools,
    { format: OPENAI_RESPONSES, subset: "json-schema", strictSubset: strict ? "openai-strict" : undefined, ownNames: nativeToolNames },
    writeTool,
  );
}

function writeTool({ tool, name, description, schema, strict }: WireTool): JsonObject {
  const { outputSchema } = tool;
  return {
    type: "function",
    name,
    description,
    parameters: schema,
    strict,
    ...(isJsonObject(outputSchema) ? { output_schema: outputSchema } : {}),
  };
}

/** Returns the names in calls of a tool that is declared in the provider's own format: its `name`, or the call type of a built-in tool. */
function nativeToolNames(words: JsonObject): readonly string[] {
  const type = asString(words["type"]) ?? "";
  const builtIn = [...BUILT_IN_TOOLS].flatMap(([call, types]) => (types.some((one) => isVersionOf(type, one)) ? [call] : []));
  if (type === "mcp") return [approvalToolName(asString(words["server_label"]) ?? "")];
  const name = asString(words["name"]);
  return name === undefined || type === "namespace" ? builtIn : [...builtIn, name];
}

function isVersionOf(type: string, name: string): boolean {
  return type === name || (type.startsWith(`${name}_`) && /^\d+$/u.test(type.slice(name.length + 1).replaceAll("_", "")));
}

function nativeDeclarationOf({ providers }: ModelTool): JsonObject | undefined {
  return providers !== undefined && Object.hasOwn(providers, OPENAI_RESPONSES) ? providers[OPENAI_RESPONSES] : undefined;
}

function encodeRequest(request: ModelRequest, { model, stream = true, strict = false }: WireTarget): EncodedRequest {
  const { system, messages, tools = [], toolChoice, parallelCalls, maxOutputTokens, temperature, native = {} } = request;
  const encoded = encodeTools(tools, { strict });
  const offered = encoded.tools.length > 0;
  const storesReplies = native["store"] === true;
  const isReasoningModel = !isNonReasoningModel(model);
  const input = toInputItems(messages, { tools: offered || native["tools"] !== undefined, storesReplies, isReasoningModel });
  const notes: WireNote[] = [...encoded.notes];
  candidateCount(request, { format: OPENAI_RESPONSES, most: 1 }, notes);
  const effort = effortFields(request, { format: OPENAI_RESPONSES, model, efforts: openAiEfforts(model, effortOf) }, notes);
  const reasoning = mergeNative("reasoning", effort, native);
  const acceptsTemperature = temperature === undefined || takesTemperature(model, findEffort(reasoning));
  if (!acceptsTemperature) notes.push(noTemperatureNote(OPENAI_RESPONSES, model));
  const body: JsonObject = {
    model,
    ...(system === undefined ? {} : { instructions: system.toWellFormed() }),
    input: input.messages,
    ...(offered ? { tools: encoded.tools } : {}),
    ...(toolChoice === undefined ? {} : choiceOf(toolChoice, tools, encoded)),
    ...(offered && parallelCalls !== undefined ? { parallel_tool_calls: parallelCalls } : {}),
    ...omitUndefined({ max_output_tokens: maxOutputTokens, temperature: acceptsTemperature ? temperature : undefined }),
    ...(stream ? { stream } : {}),
    store: false,
    ...(storesReplies || !isReasoningModel ? {} : { include: ["reasoning.encrypted_content"] }),
    ...native,
    ...reasoning,
    ...mergeNative("text", textFormat(request, input.messages, notes), native),
  };
  return { body, toolNames: new Map([...input.toolNames, ...encoded.toolNames]), notes };
}

const effortOf = (effort: ReasoningEffort): JsonObject => ({ effort });

function findEffort({ reasoning }: JsonObject): JsonValue | undefined {
  return isJsonObject(reasoning) ? reasoning["effort"] : undefined;
}

/** The provider looks for the word JSON only in the input, not in the instructions. */
function textFormat({ responseFormat }: ModelRequest, input: readonly JsonObject[], notes: WireNote[]): JsonObject {
  if (responseFormat === undefined) return {};
  const rules = { subset: "json-schema", strictSubset: "openai-strict" } as const;
  const fitted = replySchema(responseFormat, rules, notes);
  if (fitted !== undefined) return { format: { type: "json_schema", name: replyName(responseFormat), ...fitted } };
  if (mentionsJson(input)) return { format: { type: "json_object" } };
  notes.push(unsupportedReplyNote(OPENAI_RESPONSES, "replies in JSON, unless a message mentions JSON"));
  return {};
}

function choiceOf(choice: ToolChoice, tools: readonly ModelTool[], { tools: written, toolNames }: EncodedTools): JsonObject {
  if (typeof choice === "string") {
    if (choice === "required" && written.length === 0)
      throw new ToolError("invalid_argument", "A call is required, but no tool is offered.");
    return written.length === 0 ? {} : { tool_choice: choice };
  }
  const [own] = tools.filter((tool) => tool.name === choice.tool).map(nativeDeclarationOf);
  if (own !== undefined) return { tool_choice: omitUndefined({ type: own["type"], name: own["name"] }) };
  const names = [...toolNames].flatMap(([encoded, name]) => (name === choice.tool ? [encoded] : []));
  const [name] = names;
  if (name === undefined)
    throw new ToolError("invalid_argument", `The tool ${JSON.stringify(choice.tool)} is chosen, but not among those offered.`);
  if (names.length === 1) return { tool_choice: { type: "function", name } };
  return { tool_choice: { type: "allowed_tools", mode: "required", tools: names.map((one) => ({ type: "function", name: one })) } };
}

function answerItem({ id, kind, native, result }: AnsweredCall): JsonObject {
  const type = kind === "custom" ? "custom_tool_call" : kind === "approval" ? APPROVAL_REQUEST : undefined;
  const call = native ?? (type === undefined ? undefined : { type });
  const item = resultItem({ id: id ?? result.callId, result, call });
  if (item !== undefined) return item;
  throw new ToolError(
    "invalid_argument",
    `The computer call ${JSON.stringify(id)} was not run, or returned no screenshot; only a screenshot can answer it.`,
    {
      hint: "Return an image from the tool, or leave the item of this call out of the conversation, and answer the other calls.",
    },
  );
}

function decodeReply(body: JsonValue, options?: DecodeOptions): ModelReply {
  if (!isJsonObject(body) || !(Array.isArray(body["output"]) || isJsonObject(body["error"])))
    throw new ToolError("model_failed", "The provider's answer is not a reply of OpenAI's Responses: it has no output.");
  return new ResponsesDecoder(options).readWhole(body);
}
