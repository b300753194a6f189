/** Cohere's chat API, version 2: text before calls is a plan, and results are documents. */
import type { ContentPart } from "../core/content.ts";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import { partText, type ToolResult } from "../core/result.ts";
import { withAnswerChecks } from "./answered-calls.ts";
import { CohereReader, COHERE_CHAT } from "./cohere/cohere-reader.ts";
import {
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  isSupportedImage,
  isEmptyStep,
  nonEmptyAnswerText,
  toWellFormedJson,
} from "./conversation-steps.ts";
import type { AssistantStep, ConversationStep, PromptStep, WireCall } from "./conversation-steps.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool, type WireTool } from "./encode-tools.ts";
import { nativeMessage, withCallIds } from "./openai-chat/native-message.ts";
import { textPart } from "./openai-conversation.ts";
import { resolveToolChoice } from "./native-tools.ts";
import { effortFields, type EffortFields } from "./reasoning-effort.ts";
import { replySchema, unsupportedReplyNote } from "./response-format.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  EncodeMessagesOptions,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";
import { withStepCache } from "./step-cache.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

const ANY_ID = { allowed: /^[\x21-\x7e]+$/u, maxLength: 64 };

/**
 * The wire format of Cohere's `/v2/chat`.
 *
 * The API cannot require one particular tool: if a request chooses one, only that one is offered. Schemas are enforced for all tools or for none.
 *
 * @see https://docs.cohere.com/reference/chat
 */
export function cohere(): WireFormat {
  return {
    name: COHERE_CHAT,
    framing: "sse",
    path: () => "/v2/chat",
    encodeTools,
    encodeMessages,
    encodeRequest,
    encodeResults: withAnswerChecks((answers) => writeResults(answers.map(({ id, result }) => ({ id: id ?? result.callId, result })))),
    decodeReply: (body, options) => new CohereReader(options).readWhole(body),
    decodeStream: (options) => new CohereReader(options),
  };
}

function encodeTools(tools: readonly ModelTool[]): EncodedTools {
  return encodeEachTool(tools, { format: COHERE_CHAT, subset: "json-schema" }, writeTool);
}

function writeTool({ name, description, schema }: WireTool): JsonObject {
  return { type: "function", function: { name, description, parameters: schema } };
}

const MAX_STRICT_FIELDS = 200;

/**
 * Encodes tools as strict; undefined, with a note, if the schema of one of them would make Cohere refuse the request.
 *
 * @see https://docs.cohere.com/docs/tool-use-parameter-types
 */
function strictTools(tools: readonly ModelTool[], notes: WireNote[]): EncodedTools | undefined {
  const refused: (readonly [tool: string, why: string])[] = [];
  let fields = 0;
  const encoded = encodeEachTool(tools, { format: COHERE_CHAT, subset: "json-schema", strictSubset: "cohere" }, (one) => {
    const why = one.strict ? refusalReason(one.schema) : "Its schema cannot be made strict.";
    if (why !== undefined) refused.push([one.tool.name, why]);
    fields += countFields(one.schema);
    return writeTool(one);
  });
  if (fields > MAX_STRICT_FIELDS) notes.push(notStrictNote(`Together they have more than ${MAX_STRICT_FIELDS} fields.`));
  for (const [tool, why] of refused) notes.push({ ...notStrictNote(why), tool });
  return refused.length === 0 && fields <= MAX_STRICT_FIELDS ? encoded : undefined;
}

function notStrictNote(why: string): WireNote {
  return { kind: "unsupported", note: `No tool is strict: ${COHERE_CHAT} holds the model to all of them or to none. ${why}` };
}

function countFields(schema: JsonValue): number {
  if (isJsonArray(schema)) return schema.reduce<number>((sum, part) => sum + countFields(part), 0);
  if (!isJsonObject(schema)) return 0;
  const { properties, enum: _values, ...others } = schema;
  const named = isJsonObject(properties) ? Object.values(properties) : [];
  return named.length + countFields(named) + countFields(Object.values(others));
}

function encodeMessages(messages: readonly ModelMessage[], { tools = true }: EncodeMessagesOptions = {}): EncodedMessages {
  const { steps, toolNames } = conversationSteps(tools ? messages : withCallsAsText(messages), ANY_ID);
  return { messages: steps.flatMap((step) => writeStep(step)), toolNames };
}

const writeStep = withStepCache((step: ConversationStep) => (step.kind === "assistant" ? writeAssistant(step) : [writePrompt(step)]));

function writePrompt({ kind, content, title }: PromptStep): JsonObject {
  if (kind === "system") return { role: "system", content: contentText(content) };
  const heading = kind === "document" ? `${documentHeading(title)}\n` : "";
  const parts = contentParts(content);
  if (!parts.some(isSupportedImage)) return { role: "user", content: `${heading}${contentText(content)}` };
  return { role: "user", content: [...(heading === "" ? [] : [textPart(heading.trimEnd())]), ...parts.map(writePart)] };
}

function writeAssistant(step: AssistantStep): readonly JsonObject[] {
  const native = nativeMessage(step, COHERE_CHAT);
  if (native === undefined && isEmptyStep(step)) return [];
  return [native === undefined ? assistantMessage(step) : withCallIds(native, step.calls), ...writeResults(step.calls)];
}

/** Writes the results, followed by their images in a user message. */
function writeResults(calls: readonly Pick<WireCall, "id" | "result">[]): readonly JsonObject[] {
  const shown = calls.flatMap(({ id, result }) => {
    const images = result?.content?.filter(isSupportedImage) ?? [];
    return images.length === 0 ? [] : [textPart(`Attachments of ${id}:`), ...images.map(writePart)];
  });
  return [
    ...calls.map(({ id, result }) => ({ role: "tool", tool_call_id: id, content: resultContent(result) })),
    ...(shown.length === 0 ? [] : [{ role: "user", content: shown }]),
  ];
}

/** Writes text before calls as `tool_plan`. */
function assistantMessage({ content, calls }: AssistantStep): JsonObject {
  const text = contentText(content);
  if (calls.length === 0) return { role: "assistant", content: text };
  return {
    role: "assistant",
    ...(text === "" ? {} : { tool_plan: text }),
    tool_calls: calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } })),
  };
}

/** Writes an object as a document; every other output, and every error, as text. */
function resultContent(result: ToolResult | undefined): string | readonly JsonObject[] {
  if (result === undefined || result.error !== undefined || result.content !== undefined || !isJsonObject(result.output))
    return nonEmptyAnswerText(result);
  return [{ type: "document", document: { data: toWellFormedJson(result.output) } }];
}

function writePart(part: ContentPart): JsonObject {
  if (isSupportedImage(part)) return { type: "image_url", image_url: { url: `data:${part.mediaType};base64,${part.data}` } };
  return textPart(partText(part).toWellFormed());
}

function encodeRequest(request: ModelRequest, { model, stream = true, strict = false }: WireTarget): EncodedRequest {
  const { system, messages, tools = [], toolChoice, parallelCalls, maxOutputTokens, temperature, native = {} } = request;
  const chosen = typeof toolChoice === "object" ? tools.filter(({ name }) => name === toolChoice.tool) : tools;
  const strictNotes: WireNote[] = [];
  const strictlyEncoded = strict ? strictTools(chosen, strictNotes) : undefined;
  const encoded = strictlyEncoded ?? encodeTools(chosen);
  const offered = encoded.tools.length > 0;
  const conversation = encodeMessages(messages, { tools: offered || native["tools"] !== undefined });
  const notes: WireNote[] = [...encoded.notes, ...strictNotes];
  if (parallelCalls !== undefined) notes.push({ kind: "unsupported", note: `${COHERE_CHAT} has no setting for several calls at once.` });
  candidateCount(request, { format: COHERE_CHAT, most: 1 }, notes);
  const body: JsonObject = {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system", content: system.toWellFormed() }]), ...conversation.messages],
    ...(offered ? { tools: encoded.tools, ...(strictlyEncoded === undefined ? {} : { strict_tools: true }) } : {}),
    ...(toolChoice === undefined ? {} : choiceOf(toolChoice, encoded)),
    ...omitUndefined({ max_tokens: maxOutputTokens, temperature }),
    ...effortFields(request, { format: COHERE_CHAT, model, efforts: EFFORTS }, notes),
    ...jsonReply(request, offered, notes),
    stream,
    ...native,
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

/**
 * Cohere's models either reason or do not: there are no efforts in between, only a token budget.
 *
 * @see https://docs.cohere.com/docs/reasoning
 */
const EFFORTS: EffortFields = { none: { thinking: { type: "disabled" } } };

/**
 * Requests JSON. Cohere refuses that together with tools, and a schema in which an object has no required property.
 *
 * @see https://docs.cohere.com/docs/structured-outputs
 */
function jsonReply({ responseFormat }: ModelRequest, offered: boolean, notes: WireNote[]): JsonObject {
  if (responseFormat === undefined) return {};
  if (offered) {
    notes.push(unsupportedReplyNote(COHERE_CHAT, "replies in JSON with tools"));
    return {};
  }
  const schema = replySchema(responseFormat, { subset: "cohere", refusal: refusalReason }, notes)?.schema;
  return { response_format: { type: "json_object", ...(schema === undefined ? {} : { json_schema: schema }) } };
}

function refusalReason(schema: JsonObject): string | undefined {
  const open: JsonValue[] = [schema];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (isJsonArray(value)) for (const part of value) open.push(part);
    if (!isJsonObject(value)) continue;
    const { type, properties, required, enum: _values, ...others } = value;
    if (type === "object" && (!isJsonArray(required) || required.length === 0)) return "One of its objects requires no property.";
    for (const part of isJsonObject(properties) ? Object.values(properties) : []) open.push(part);
    for (const part of Object.values(others)) open.push(part);
  }
  return undefined;
}

function choiceOf(choice: ToolChoice, encoded: EncodedTools): JsonObject {
  const name = resolveToolChoice(choice, encoded);
  if (encoded.tools.length === 0 || choice === "auto") return {};
  return { tool_choice: choice === "none" && name === undefined ? "NONE" : "REQUIRED" };
}
