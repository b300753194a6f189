import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import { withAnswerChecks } from "./answered-calls.ts";
import { BEDROCK, ConverseWriter, textBlock, toConverseMessages } from "./bedrock/conversation.ts";
import { ConverseReader } from "./bedrock/message-reader.ts";
import { candidateCount } from "./candidates.ts";
import { ADAPTIVE, claudeCanBeForced, claudeEfforts, claudeTakesTemperature } from "./anthropic/claude-models.ts";
import { withoutReasoningBlocks } from "./anthropic/refused-reasoning.ts";
import { encodeEachTool } from "./encode-tools.ts";
import { mergeNative } from "./merge-native.ts";
import { resolveToolChoice, declaredNames } from "./native-tools.ts";
import { effortFields, mapEfforts, noTemperatureNote, type EffortFields } from "./reasoning-effort.ts";
import { enforcedSchema, replyName, unsupportedReplyNote } from "./response-format.ts";
import type { AnsweredCall, EncodeToolsOptions, EncodedRequest, EncodedTools, WireFormat, WireNote, WireTarget } from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/** Models that do not resolve references inside a schema. */
const NOVA = /(?:^|[./])nova\b/u;

/**
 * Amazon Bedrock's Converse API: `/model/{id}/converse-stream` under `https://bedrock-runtime.{region}.amazonaws.com`.
 *
 * Reasoning, its signatures and provider-executed calls are kept in `native` and sent back unchanged. The API has no tool choice "none": for it the
 * tools are left out, and earlier calls are written as text.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
 */
export function bedrockConverse(): WireFormat {
  return {
    name: BEDROCK,
    framing: "event-stream",
    path: ({ model, stream = true }) => `/model/${encodeURIComponent(model)}/${stream ? "converse-stream" : "converse"}`,
    encodeTools,
    encodeMessages: toConverseMessages,
    encodeRequest,
    withoutRefused: (body, refusal) => withoutReasoningBlocks(body, refusal, (block) => block["reasoningContent"] !== undefined),
    encodeResults: withAnswerChecks(encodeResults),
    decodeReply: (body, options) => new ConverseReader(options).readWhole(body),
    decodeStream: (options) => new ConverseReader(options),
  };
}

function encodeTools(tools: readonly ModelTool[], { strict = false, model = "" }: EncodeToolsOptions = {}): EncodedTools {
  const rules = {
    format: BEDROCK,
    subset: NOVA.test(model) ? "bedrock-nova" : "json-schema",
    strictSubset: strict && !WITHOUT_SCHEMAS.test(model) ? "anthropic-strict" : undefined,
    ownNames: (words: JsonObject) => declaredNames(isJsonObject(words["toolSpec"]) ? words["toolSpec"] : words),
    isClaude: isClaude(model),
  } as const;
  return encodeEachTool(tools, rules, (tool) => ({
    toolSpec: {
      name: tool.name,
      ...(tool.description === "" ? {} : { description: tool.description }),
      inputSchema: { json: tool.schema },
      ...(tool.strict ? { strict: true } : {}),
    },
  }));
}

function encodeRequest(request: ModelRequest, { model, strict = false }: WireTarget): EncodedRequest {
  const { native = {}, toolChoice = "auto", maxOutputTokens: maxTokens, temperature } = request;
  const encoded = encodeTools(request.tools ?? [], { strict, model });
  const notes: WireNote[] = [...encoded.notes];
  if (strict && encoded.tools.length > 0 && WITHOUT_SCHEMAS.test(model))
    notes.push({ kind: "unsupported", note: `${BEDROCK} cannot hold ${model} to the schemas of tools.` });
  const toolConfig = toolConfigOf(request, encoded, { model, notes });
  const offered = toolConfig["toolConfig"] !== undefined || native["toolConfig"] !== undefined;
  const conversation = toConverseMessages(request.messages, { tools: offered, model, mustEndWithUser: true });
  const system = [...textBlock(request.system ?? ""), ...(conversation.system ?? [])];
  if (toolChoice !== "none" && request.parallelCalls === false) notes.push(NO_SWITCH);
  candidateCount(request, { format: BEDROCK, most: 1 }, notes);
  const { effort, ...ofModel } = effortFields(request, { format: BEDROCK, model, efforts: effortsOf(model, toolChoice) }, notes);
  const modelFields = mergeNative("additionalModelRequestFields", ofModel, native);
  const isThinking = hasAdaptiveThinking(modelFields["additionalModelRequestFields"]);
  const acceptsTemperature = temperature === undefined || (!isThinking && claudeTakesTemperature(model));
  if (!acceptsTemperature) notes.push(noTemperatureNote(BEDROCK, model));
  const inferenceConfig = omitUndefined({ maxTokens, temperature: acceptsTemperature ? temperature : undefined });
  const body: JsonObject = {
    messages: conversation.messages,
    ...(system.length === 0 ? {} : { system }),
    ...(Object.keys(inferenceConfig).length === 0 ? {} : { inferenceConfig }),
    ...toolConfig,
    ...native,
    ...modelFields,
    ...mergeNative("outputConfig", { ...omitUndefined({ effort }), ...outputConfig(request, model, notes) }, native),
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

const NO_SWITCH: WireNote = { kind: "unsupported", note: `${BEDROCK} has no setting for one call at a time.` };

function isClaude(model: string): boolean {
  return model.includes("claude");
}

function hasAdaptiveThinking(modelFields: JsonValue | undefined): boolean {
  return isJsonObject(modelFields) && modelFields["thinking"] === ADAPTIVE;
}

const NOVA_EFFORTS: EffortFields = {
  ...mapEfforts((maxReasoningEffort) => ({ reasoningConfig: { type: "enabled", maxReasoningEffort } }), ["low", "medium", "high"]),
  none: { reasoningConfig: { type: "disabled" } },
};
const GPT_OSS_EFFORTS = mapEfforts((effort) => ({ reasoning_effort: effort }), ["low", "medium", "high"]);

/**
 * `effort` is a field of the service; the others are fields of the model.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_OutputConfig.html
 * @see https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html
 */
function effortsOf(model: string, toolChoice: ToolChoice): EffortFields {
  if (isClaude(model)) return claudeEfforts(model, toolChoice);
  if (/(?:^|[./])nova-2-/u.test(model)) return NOVA_EFFORTS;
  return model.includes("gpt-oss") ? GPT_OSS_EFFORTS : {};
}

/** Models for which Bedrock cannot enforce a schema, of a reply or of a tool. */
const WITHOUT_SCHEMAS =
  /(?:^|[./])(?:amazon|meta|ai21|cohere|writer)\.|claude-(?:v\d|instant|[23](?!\d)|(?:sonnet|opus)-4-(?:\d{8}|1)(?!\d))/u;

/** @see https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html */
function outputConfig({ responseFormat }: ModelRequest, model: string, notes: WireNote[]): JsonObject {
  if (responseFormat === undefined) return {};
  if (WITHOUT_SCHEMAS.test(model)) {
    notes.push(unsupportedReplyNote(BEDROCK, `replies in JSON from ${model}`));
    return {};
  }
  const schema = enforcedSchema(responseFormat, BEDROCK, notes);
  if (schema === undefined) return {};
  const jsonSchema = { name: replyName(responseFormat), schema: JSON.stringify(schema) };
  return { textFormat: { type: "json_schema", structure: { jsonSchema } } };
}

/** Models that refuse any tool choice. @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolChoice.html */
const WITHOUT_CHOICE = /(?:^|[./])(?:meta|ai21|cohere)\./u;

/** Returns no field if there are no tools, or if none may be called: the API has no tool choice "none". */
function toolConfigOf(
  { toolChoice = "auto" }: ModelRequest,
  encoded: EncodedTools,
  { model, notes }: { readonly model: string; readonly notes: WireNote[] },
): JsonObject {
  const name = resolveToolChoice(toolChoice, encoded);
  const { tools } = encoded;
  if (tools.length === 0 || toolChoice === "none") return {};
  if (toolChoice === "auto") return { toolConfig: { tools } };
  if (WITHOUT_CHOICE.test(model) || (isClaude(model) && !claudeCanBeForced(model))) {
    notes.push({ kind: "unsupported", note: `${BEDROCK} cannot require ${model} to make calls.` });
    return { toolConfig: { tools } };
  }
  return { toolConfig: { tools, toolChoice: name === undefined ? { any: {} } : { tool: { name } } } };
}

function encodeResults(answers: readonly AnsweredCall[]): readonly JsonObject[] {
  const writer = new ConverseWriter();
  const content = answers.map(({ id, result }) => writer.writeResult(id ?? result.callId, result));
  return content.length === 0 ? [] : [{ role: "user", content }];
}
