/** Ollama's own chat API: lines of JSON, with whole calls whose arguments are objects. */
import type { ContentPart } from "../core/content.ts";
import { isJsonArray, isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ModelRequest, ModelTool } from "../core/model.ts";
import { answeredName, withAnswerChecks } from "./answered-calls.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  toInputObject,
  isSupportedImage,
  isEmptyStep,
} from "./conversation-steps.ts";
import type { AssistantStep, ConversationStep, PromptStep } from "./conversation-steps.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool } from "./encode-tools.ts";
import { OLLAMA_CHAT, OllamaReader } from "./ollama/ollama-reader.ts";
import { callId, nativeMessage } from "./openai-chat/native-message.ts";
import { resolveToolChoice } from "./native-tools.ts";
import { effortFields, mapEfforts, type EffortFields } from "./reasoning-effort.ts";
import { replySchema } from "./response-format.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  AnsweredCall,
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
 * The wire format of Ollama's `/api/chat`.
 *
 * The API has no tool choice: for `none` no tools are sent, and any other choice is left out with a note.
 *
 * @see https://docs.ollama.com/api/chat
 */
export function ollama(): WireFormat {
  return {
    name: OLLAMA_CHAT,
    framing: "json-lines",
    path: () => "/api/chat",
    encodeTools,
    encodeMessages,
    encodeRequest,
    encodeResults: withAnswerChecks(encodeResults),
    decodeReply: (body, options) => new OllamaReader(options).readWhole(body),
    decodeStream: (options) => new OllamaReader(options),
  };
}

function encodeTools(tools: readonly ModelTool[]): EncodedTools {
  return encodeEachTool(tools, { format: OLLAMA_CHAT, subset: "ollama" }, ({ name, description, schema }) => ({
    type: "function",
    function: { name, description, parameters: schema },
  }));
}

function encodeMessages(messages: readonly ModelMessage[], { tools = true }: EncodeMessagesOptions = {}): EncodedMessages {
  const { steps, toolNames } = conversationSteps(tools ? messages : withCallsAsText(messages), ANY_ID);
  return { messages: steps.flatMap((step) => writeStep(step)), toolNames };
}

const writeStep = withStepCache((step: ConversationStep) => (step.kind === "assistant" ? writeAssistant(step) : [writePrompt(step)]));

function writePrompt({ kind, content, title }: PromptStep): JsonObject {
  const text = contentText(content);
  if (kind === "system") return { role: "system", content: text };
  return userMessage(kind === "document" ? `${documentHeading(title)}\n${text}` : text, contentParts(content));
}

function userMessage(content: string, parts: readonly ContentPart[]): JsonObject {
  const images = imagesOf(parts);
  return { role: "user", content, ...(images.length === 0 ? {} : { images }) };
}

function imagesOf(parts: readonly ContentPart[]): readonly string[] {
  return parts.flatMap((part) => (isSupportedImage(part) ? [part.data] : []));
}

function writeAssistant(step: AssistantStep): readonly JsonObject[] {
  const { calls } = step;
  const native = nativeMessage(step, OLLAMA_CHAT);
  if (native === undefined && isEmptyStep(step)) return [];
  const shown = calls.filter(({ result }) => imagesOf(result?.content ?? []).length > 0);
  return [
    native ?? assistantMessage(step),
    ...calls.map((call, index) => {
      const { id, name, result } = call;
      return { role: "tool", tool_name: findCallName(native, { id, index }) ?? name, tool_call_id: id, content: answerText(result) };
    }),
    ...shown.map(({ id, result }) => userMessage(`Attachments of ${id}:`, result?.content ?? [])),
  ];
}

/** Returns the name of the call in Ollama's own message, which differs from the tool's if the model's name was corrected. */
function findCallName(native: JsonObject | undefined, { id, index }: { readonly id: string; readonly index: number }): string | undefined {
  const made = native?.["tool_calls"];
  if (!isJsonArray(made)) return undefined;
  const own = made.find((one) => callId(one) === id) ?? made[index];
  const fields = isJsonObject(own) ? own["function"] : undefined;
  return isJsonObject(fields) && typeof fields["name"] === "string" ? fields["name"] : undefined;
}

function assistantMessage({ content, calls }: AssistantStep): JsonObject {
  const message = { role: "assistant", content: contentText(content) };
  if (calls.length === 0) return message;
  return { ...message, tool_calls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: toInputObject(input) } })) };
}

/** @see https://docs.ollama.com/capabilities/thinking */
const EFFORTS: EffortFields = { ...mapEfforts((think) => ({ think }), ["low", "medium", "high"]), none: { think: false } };

function encodeRequest(request: ModelRequest, { model, stream = true }: WireTarget): EncodedRequest {
  const { system, messages, tools = [], toolChoice, parallelCalls, maxOutputTokens, temperature, responseFormat, native = {} } = request;
  const encoded = encodeTools(tools);
  const conversation = encodeMessages(messages, { tools: encoded.tools.length > 0 || native["tools"] !== undefined });
  if (toolChoice !== undefined) resolveToolChoice(toolChoice, encoded);
  const notes: WireNote[] = [...encoded.notes];
  const ignored = (what: string): unknown => notes.push({ kind: "unsupported", note: `${OLLAMA_CHAT} has no setting for ${what}.` });
  if (toolChoice !== undefined && toolChoice !== "auto" && toolChoice !== "none") ignored("required calls");
  if (parallelCalls !== undefined) ignored("several calls at once");
  candidateCount(request, { format: OLLAMA_CHAT, most: 1 }, notes);
  const schema = responseFormat === undefined ? undefined : replySchema(responseFormat, { subset: "json-schema" }, notes);
  const options = omitUndefined({ temperature, num_predict: maxOutputTokens });
  const body: JsonObject = {
    model,
    messages: [...(system === undefined ? [] : [{ role: "system", content: system.toWellFormed() }]), ...conversation.messages],
    ...(encoded.tools.length === 0 || toolChoice === "none" ? {} : { tools: encoded.tools }),
    ...(Object.keys(options).length === 0 ? {} : { options }),
    ...(responseFormat === undefined ? {} : { format: schema?.schema ?? "json" }),
    ...effortFields(request, { format: OLLAMA_CHAT, model, efforts: EFFORTS }, notes),
    stream,
    ...native,
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

function encodeResults(answers: readonly AnsweredCall[]): readonly JsonObject[] {
  const shown = answers.filter(({ result }) => imagesOf(result.content ?? []).length > 0);
  const written = answers.map(({ id, result, ...named }) => ({
    role: "tool",
    tool_name: answeredName(named),
    ...(id === undefined ? {} : { tool_call_id: id }),
    content: answerText(result),
  }));
  return [...written, ...shown.map(({ id, name, result }) => userMessage(`Attachments of ${id ?? name}:`, result.content ?? []))];
}
