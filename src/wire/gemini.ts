import { checkKnownKeys } from "../core/known-keys.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import type { UserTurnOptions } from "./alternating-turns.ts";
import { answeredName, withAnswerChecks } from "./answered-calls.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool } from "./encode-tools.ts";
import { GEMINI, mediaParts, responsePart, toGeminiContents, type GeminiOptions } from "./gemini-conversation.ts";
import { NEW_MODEL } from "./gemini/gemini-model.ts";
import { geminiEfforts } from "./gemini/thinking.ts";
import { effortFields } from "./reasoning-effort.ts";
import { nativeToolNames } from "./gemini/computer-use.ts";
import { GeminiReader } from "./gemini/gemini-reader.ts";
import { mergeNative } from "./merge-native.ts";
import { resolveToolChoice } from "./native-tools.ts";
import { asString } from "./read-field.ts";
import { hasNoProperties, replySchema, unsupportedReplyNote } from "./response-format.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  AnsweredCall,
  EncodeMessagesOptions,
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { getOrAdd } from "../core/base/get-or-add.ts";

/** Options for requests to Gemini. */
export interface GeminiFormatOptions {
  /** The field that has a tool's schema: `parameters` is for models that do not read JSON Schema, and loses more. @default "parametersJsonSchema" */
  readonly schemaField?: "parametersJsonSchema" | "parameters";
  /**
   * The signature for calls that have none because another model made them. Models from Gemini 3 on refuse calls without one.
   *
   * @default "skip_thought_signature_validator" for those models, none for others
   */
  readonly foreignSignature?: string;
}

const SKIP_SIGNATURE = "skip_thought_signature_validator";

/**
 * Gemini's generateContent: `/models/…:streamGenerateContent` under `https://generativelanguage.googleapis.com/v1beta`, and under the base URL of
 * Vertex AI.
 *
 * A model name that contains `/` (`tunedModels/x`, `publishers/google/models/x`) is used as the path unchanged. Thoughts, their signatures and
 * provider-executed calls are kept in `native` and sent back unchanged. A native `generationConfig` or `toolConfig` overrides Haft's field by field.
 *
 * @see https://ai.google.dev/api/generate-content
 */
export function gemini(options: GeminiFormatOptions = {}): WireFormat {
  checkKnownKeys(options, { schemaField: true, foreignSignature: true }, "gemini()");
  return {
    name: GEMINI,
    framing: "sse",
    path: ({ model, stream = true }) => `${modelPath(model)}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    encodeTools: (tools) => encodeTools(tools, options),
    encodeMessages: (messages, encode) => encodeMessages(messages, options, encode),
    encodeRequest: (request, target) => encodeRequest(request, options, target),
    encodeResults: withAnswerChecks(encodeResults),
    decodeReply: (body, decode) => new GeminiReader(decode).readWhole(body),
    decodeStream: (decode) => new GeminiReader(decode),
  };
}

function modelPath(model: string): string {
  const path = model.split("/").map(encodeURIComponent).join("/");
  return model.includes("/") ? `/${path}` : `/models/${path}`;
}

function encodeTools(tools: readonly ModelTool[], { schemaField = "parametersJsonSchema" }: GeminiFormatOptions): EncodedTools {
  const subset = schemaField === "parameters" ? "gemini-openapi" : "gemini-json-schema";
  const declared = new Set<JsonObject>();
  const encoded = encodeEachTool(tools, { format: GEMINI, subset, ownNames: nativeToolNames }, ({ name, description, schema }) => {
    const { additionalProperties: others = false } = schema;
    const declaration = { name, description, ...(hasNoProperties(schema) && others === false ? {} : { [schemaField]: schema }) };
    declared.add(declaration);
    return declaration;
  });
  const functionDeclarations = encoded.tools.filter((tool) => declared.has(tool));
  const own = encoded.tools.filter((tool) => !declared.has(tool));
  return { ...encoded, tools: [...(functionDeclarations.length === 0 ? [] : [{ functionDeclarations }]), ...own] };
}

interface OptionsByModel {
  readonly old: GeminiOptions;
  readonly new: GeminiOptions;
}

/** The same options objects for every request of a format, because `withStepCache` caches what was written by their identity. */
const CONVERSATIONS = new WeakMap<GeminiFormatOptions, OptionsByModel>();

function conversationOptions(options: GeminiFormatOptions, model: string | undefined): GeminiOptions {
  const known = getOrAdd(CONVERSATIONS, options, () => ({ old: optionsFor(options, false), new: optionsFor(options, true) }));
  return model !== undefined && NEW_MODEL.test(model) ? known.new : known.old;
}

function optionsFor({ foreignSignature }: GeminiFormatOptions, isNew: boolean): GeminiOptions {
  const thoughtSignature = foreignSignature ?? (isNew ? SKIP_SIGNATURE : undefined);
  return { ids: "given", mediaInResponses: isNew, ...(thoughtSignature === undefined ? {} : { thoughtSignature }) };
}

function encodeMessages(
  messages: readonly ModelMessage[],
  options: GeminiFormatOptions,
  { tools = true, model, mustEndWithUser = false }: EncodeMessagesOptions & UserTurnOptions = {},
): EncodedMessages {
  const encoded = toGeminiContents(tools ? messages : withCallsAsText(messages), conversationOptions(options, model), { mustEndWithUser });
  const { parts } = encoded.systemInstruction ?? {};
  const system = Array.isArray(parts) ? parts.filter(isJsonObject) : [];
  return { messages: encoded.contents, ...(system.length === 0 ? {} : { system }), toolNames: encoded.toolNames };
}

function encodeRequest(request: ModelRequest, options: GeminiFormatOptions, { model, strict = false }: WireTarget): EncodedRequest {
  const { native = {}, maxOutputTokens, temperature, system: first = "", parallelCalls } = request;
  const encoded = encodeTools(request.tools ?? [], options);
  const { tools } = encoded;
  const conversation = encodeMessages(request.messages, options, {
    tools: tools.length > 0 || native["tools"] !== undefined,
    model,
    mustEndWithUser: true,
  });
  const system = [...(first.trim() === "" ? [] : [{ text: first.toWellFormed() }]), ...(conversation.system ?? [])];
  const notes: WireNote[] = [...encoded.notes];
  if (parallelCalls === false && tools.length > 0) notes.push(NO_SWITCH);
  const candidates = candidateCount(request, { format: GEMINI, most: MAX_CANDIDATES }, notes);
  const generationConfig = {
    ...omitUndefined({ maxOutputTokens, temperature, candidateCount: candidates }),
    ...effortFields(request, { format: GEMINI, model, efforts: geminiEfforts(model) }, notes),
    ...jsonReply(request, options, { notes, canBeJson: tools.length === 0 || NEW_MODEL.test(model) }),
  };
  const body: JsonObject = {
    contents: conversation.messages,
    ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }),
    ...(tools.length === 0 ? {} : { tools }),
    ...native,
    ...mergeNative("generationConfig", generationConfig, native),
    ...mergeNative("toolConfig", toolConfig(request.toolChoice ?? "auto", encoded, strict), native),
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

export const NO_SWITCH: WireNote = { kind: "unsupported", note: "Gemini has no setting for one call at a time." };

const MAX_CANDIDATES = 8;

/** @see https://ai.google.dev/api/generate-content#GenerationConfig */
function jsonReply(
  { responseFormat }: ModelRequest,
  { schemaField = "parametersJsonSchema" }: GeminiFormatOptions,
  { notes, canBeJson }: { readonly notes: WireNote[]; readonly canBeJson: boolean },
): JsonObject {
  if (responseFormat === undefined) return {};
  if (!canBeJson) {
    notes.push(unsupportedReplyNote(GEMINI, "replies in JSON with tools before Gemini 3"));
    return {};
  }
  const isOld = schemaField === "parameters";
  const subset = isOld ? "gemini-openapi" : "gemini-json-schema";
  const schema = replySchema(responseFormat, { subset }, notes)?.schema;
  const schemaFields = schema === undefined || hasNoProperties(schema) ? {} : { [isOld ? "responseSchema" : "responseJsonSchema"]: schema };
  return { responseMimeType: "application/json", ...schemaFields };
}

const MODES = { auto: "AUTO", none: "NONE", required: "ANY" } as const;

/** Returns the mode of tool calling, or no field for Gemini's default. `VALIDATED` makes Gemini enforce the schemas. */
function toolConfig(choice: ToolChoice, encoded: EncodedTools, strict: boolean): JsonObject {
  const name = resolveToolChoice(choice, encoded);
  if (encoded.tools.length === 0) return {};
  if (name !== undefined) return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [name] } };
  if (choice === "auto" && !strict) return {};
  return { functionCallingConfig: { mode: choice === "auto" ? "VALIDATED" : MODES[choice === "none" ? "none" : "required"] } };
}

function encodeResults(answers: readonly AnsweredCall[]): readonly JsonObject[] {
  if (answers.length === 0) return [];
  const calls = answers.map(({ id, result, native, ...named }) => ({
    id: id ?? result.callId,
    providerId: id,
    name: asString(native?.["name"]) ?? answeredName(named),
    input: native?.["input"] ?? {},
    result,
  }));
  const shown = calls.flatMap((call) => mediaParts(call, {}));
  const parts = calls.map((call) => responsePart(call, { ids: "given" }));
  return [{ role: "user", parts }, ...(shown.length === 0 ? [] : [{ role: "user", parts: shown }])];
}
