/** A conversation as the system instruction and contents of Gemini's generateContent. */
import { pushAll } from "../core/collections/push-all.ts";
import type { ContentPart } from "../core/content.ts";
import { readPdfData } from "../core/formats/data-uri.ts";
import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import { CONTINUE_TEXT, type UserTurnOptions } from "./alternating-turns.ts";
import {
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  toInputObject,
  isErrorAnswer,
  isSupportedImage,
  toWellFormedJson,
  withValidName,
} from "./conversation-steps.ts";
import type { AssistantStep, PromptStep, WireCall } from "./conversation-steps.ts";
import { withApprovalResults } from "./approval-results.ts";
import { isAcknowledged, isInputOf, isComputerCall } from "./gemini/computer-use.ts";
import { asString } from "./read-field.ts";
import { withStepCache } from "./step-cache.ts";

export interface GeminiConversation {
  /** The text of the system messages that are not written as the user's. Left out if there is none. */
  readonly systemInstruction?: JsonObject;
  readonly contents: readonly JsonObject[];
  /** The tool's own name by the name in a `functionCall` part. */
  readonly toolNames: ReadonlyMap<string, string>;
}

export interface GeminiOptions {
  /**
   * The signature for the first call of each message that has none. Gemini 3 refuses calls without the signature it gave with them, and accepts
   * `skip_thought_signature_validator` for calls that it did not make.
   *
   * @default none
   */
  readonly thoughtSignature?: string;
  /** `given`: calls that came without an id are sent back without one; Gemini then matches results to calls by their number. @default "all" */
  readonly ids?: "all" | "given";
  /** Whether images of a result are in its `functionResponse`, which Gemini 3 accepts. @default false */
  readonly mediaInResponses?: boolean;
}

/** The name of the wire format. */
export const GEMINI = "gemini-generateContent";

const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };

const PLAIN: GeminiOptions = Object.freeze({});

/**
 * Writes a conversation as Gemini takes it.
 *
 * Gemini's own messages are sent back unchanged, with thoughts and signatures. The results of one message's calls are one content, errors under
 * `error` and answers under `output`; images, audio and PDF files of results follow as a content of the user, which models before Gemini 3 accept
 * too. A conversation that begins with the model gets a content of the user before it. System messages after the beginning are written as the user's,
 * so that `systemInstruction` stays unchanged.
 *
 * @see https://ai.google.dev/gemini-api/docs/function-calling
 */
export function toGeminiContents(
  messages: readonly ModelMessage[],
  options: GeminiOptions = PLAIN,
  { mustEndWithUser = false }: UserTurnOptions = {},
): GeminiConversation {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const contents = new AlternatingContents();
  for (const step of withApprovalResults(steps)) {
    if (step.kind === "assistant") writeAssistant(step, contents, options);
    else if (step.kind !== "system") contents.addUserParts(writePrompt(step));
    else if (contents.writesSystemAsUser) contents.addUserParts(writeSystemNote(step));
    else pushAll(system, writeSystemNote(step));
  }
  if (mustEndWithUser) contents.askToContinue();
  return { ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }), contents: contents.items, toolNames };
}

/**
 * Alternating contents: a content of the user is put between two messages of the model, unless the first paused; new models refuse a request that
 * ends with the model's message. Results have a content of their own, as Gemini matches them to the calls by their number.
 */
class AlternatingContents {
  readonly items: { readonly role: "user" | "model"; readonly parts: JsonObject[] }[] = [];

  /** Whether the last content is the model's and is not paused. */
  get endsWithModel(): boolean {
    const last = this.items.at(-1);
    return last?.role === "model" && FINAL_PARTS.some((kind) => last.parts.at(-1)?.[kind] !== undefined);
  }

  /** Whether a system message may be written as the user's: the conversation has begun and the model is not paused. */
  get writesSystemAsUser(): boolean {
    return this.items.at(-1)?.role === "user" || this.endsWithModel;
  }

  addModelParts(parts: readonly JsonObject[]): void {
    if (parts.length === 0) return;
    this.askToContinue();
    const last = this.items.at(-1);
    if (last?.role === "model") pushAll(last.parts, parts);
    else this.items.push({ role: "model", parts: [...parts] });
  }

  addUserParts(parts: readonly JsonObject[]): void {
    if (parts.length > 0) this.items.push({ role: "user", parts: [...parts] });
  }

  /** Adds a content of the user that asks the model to continue if its content is the last, or to begin if there is none yet. */
  askToContinue(): void {
    if (this.items.length === 0) this.addUserParts(textPart("(The conversation begins with the model.)"));
    if (this.endsWithModel) this.addUserParts(textPart(CONTINUE_TEXT));
  }
}

/** The parts with which a message ends, unless Gemini paused during its own provider-executed tools. */
const FINAL_PARTS = ["text", "functionCall", "inlineData", "fileData"] as const;

function writeAssistant(step: AssistantStep, contents: AlternatingContents, options: GeminiOptions): void {
  contents.addModelParts(writeReply(step, options));
  contents.addUserParts(writeResponses(step, options));
  contents.addUserParts(writeMedia(step, options));
}

const writePrompt = withStepCache(promptParts);
const writeSystemNote = withStepCache(({ content }: PromptStep) => textPart(contentText(content)));
const writeReply = withStepCache((step: AssistantStep, options: GeminiOptions) => {
  const { content, calls } = step;
  const parts = nativeParts(step)?.parts ?? [...textPart(contentText(content)), ...calls.map((call) => callPart(call, options))];
  return withSignature(parts, options);
});
/** The answer has the name that Gemini called, which differs for overloads and corrected names: Gemini refuses any other. */
const writeResponses = withStepCache((step: AssistantStep, options: GeminiOptions) => {
  const names = nativeParts(step)?.names;
  return step.calls.map((call) => responsePart({ ...call, name: names?.get(call) ?? call.name }, options));
});
const writeMedia = withStepCache((step: AssistantStep, options: GeminiOptions) => {
  const names = nativeParts(step)?.names;
  return step.calls.flatMap((call) => mediaParts({ ...call, name: names?.get(call) ?? call.name }, options));
});

function callPart(call: WireCall, options: GeminiOptions): JsonObject {
  return { functionCall: { ...idOf(call, options), name: call.name, args: toInputObject(call.input) } };
}

function idOf({ id, providerId }: WireCall, { ids = "all" }: GeminiOptions): JsonObject {
  return ids === "all" || providerId !== undefined ? { id } : {};
}

function withSignature(parts: readonly JsonObject[], { thoughtSignature }: GeminiOptions): readonly JsonObject[] {
  const first = parts.findIndex((part) => Object.hasOwn(part, "functionCall"));
  const call = parts[first];
  if (thoughtSignature === undefined || call === undefined || Object.hasOwn(call, "thoughtSignature")) return parts;
  return parts.with(first, { ...call, thoughtSignature });
}

/**
 * Returns the parts that Gemini made, without the calls that the conversation no longer has and without parts that Gemini would refuse; undefined if
 * its calls are not those of the conversation. Calls without an id are matched by order.
 */
function nativeParts({ native, calls }: AssistantStep): NativeParts | undefined {
  if (native?.format !== GEMINI) return undefined;
  const parts = native.blocks.filter(isJsonObject);
  const left = [...calls];
  const names = new Map<WireCall, string>();
  const kept = parts.flatMap((part) => {
    const { functionCall } = part;
    if (!isJsonObject(functionCall)) return isEmptyPart(part) ? [] : [part];
    const [next] = left;
    const place =
      functionCall["id"] === undefined
        ? next !== undefined && isSameCall(functionCall, next)
          ? 0
          : -1
        : left.findIndex((call) => isSameCall(functionCall, call));
    const [call] = place < 0 ? [] : left.splice(place, 1);
    if (call === undefined) return [];
    // the ids of compatible servers may repeat in later replies
    const isRewritten = call.providerId !== undefined && call.providerId !== call.id;
    const named = withValidName(isRewritten ? { ...functionCall, id: call.id } : functionCall, call);
    names.set(call, asString(named["name"]) ?? call.name);
    return named === functionCall ? [part] : [{ ...part, functionCall: named }];
  });
  return left.length === 0 ? { parts: kept.slice(0, kept.findLastIndex((part) => !isUnsignedThought(part)) + 1), names } : undefined;
}

interface NativeParts {
  readonly parts: readonly JsonObject[];
  /** The name that Gemini used, by call. */
  readonly names: ReadonlyMap<WireCall, string>;
}

/** Whether a part has no content, such as an empty text: Gemini makes such parts, but refuses them when they are sent back. */
function isEmptyPart(part: JsonObject): boolean {
  const { thought: _thought, ...rest } = part;
  return Object.keys(rest).length === 0 || (rest["text"] === "" && rest["thoughtSignature"] === undefined);
}

/** Whether a part is a thought without a signature, with which a message may not end: the conclusions are in the parts after it, if anywhere. */
function isUnsignedThought({ thought, thoughtSignature }: JsonObject): boolean {
  return thought === true && thoughtSignature === undefined;
}

function isSameCall(named: JsonObject, call: WireCall): boolean {
  const { id } = named;
  if (id !== undefined && id !== "") return call.providerId === id;
  return call.providerId === undefined && isInputOf(call.input, named);
}

/** The media types that Gemini 3 accepts inside a result. */
const RESPONSE_TYPES: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp"]);

/** Returns the part that answers a call. */
export function responsePart(call: WireCall, options: GeminiOptions = {}): JsonObject {
  const inside = mediaOf(call).filter((part) => isInsideResponse(part, call, options));
  return {
    functionResponse: {
      ...idOf(call, options),
      name: call.name,
      response: responseOf(call),
      ...(inside.length === 0 ? {} : { parts: inside.flatMap(writePart) }),
    },
  };
}

function isInsideResponse(part: ContentPart, call: WireCall, { mediaInResponses = false }: GeminiOptions): boolean {
  return (mediaInResponses || isComputerCall(call.name, call.input)) && part.type === "image" && RESPONSE_TYPES.has(part.mediaType);
}

/** For the computer tool, the fields of the output are the response itself. @see https://ai.google.dev/gemini-api/docs/computer-use (2026-11) */
function responseOf({ name, input, result }: WireCall): JsonObject {
  const { output } = result ?? {};
  const isOwn = isComputerCall(name, input) && isJsonObject(output) && !isErrorAnswer(result);
  const response = isOwn ? toWellFormedJson(output) : plainResponse(result);
  return isAcknowledged(name, input, result) ? { ...response, safety_acknowledgement: "true" } : response;
}

function plainResponse(result: WireCall["result"]): JsonObject {
  if (result === undefined || isErrorAnswer(result)) return { error: answerText(result) };
  const { error, ...answer } = result;
  const output = answer.content === undefined ? toWellFormedJson(answer.output ?? null) : answerText({ ...answer, status: "ok" });
  return error === undefined ? { output } : { output, error: answerText({ ...result, output: "", content: [] }) };
}

/** Returns the media of a result that are not inside it but follow it, in a content of the user. */
export function mediaParts(call: WireCall, options: GeminiOptions): readonly JsonObject[] {
  const media = mediaOf(call).filter((part) => !isInsideResponse(part, call, options));
  return media.length === 0 ? [] : [...textPart(`Attachments of ${call.id}:`), ...media.flatMap(writePart)];
}

function mediaOf({ result }: WireCall): readonly ContentPart[] {
  return isErrorAnswer(result) ? [] : (result?.content?.filter((part) => inlineMedia(part) !== undefined) ?? []);
}

function promptParts({ kind, content, title }: PromptStep): readonly JsonObject[] {
  const parts = contentParts(content).flatMap(writePart);
  return kind === "document" ? [...textPart(documentHeading(title)), ...parts] : parts;
}

/** Bytes that Gemini accepts unchanged. */
export interface InlineMedia {
  readonly kind: "image" | "audio" | "document";
  readonly mediaType: string;
  readonly data: string;
}

/** Returns an image, audio or PDF file that Gemini accepts; undefined for media that must be described as text. */
export function inlineMedia(part: ContentPart): InlineMedia | undefined {
  if (part.type === "audio") return { kind: "audio", mediaType: part.mediaType, data: part.data };
  if (isSupportedImage(part)) return { kind: "image", mediaType: part.mediaType, data: part.data };
  const pdf = readPdfData(part);
  return pdf === undefined ? undefined : { kind: "document", mediaType: "application/pdf", data: pdf };
}

function writePart(part: ContentPart): readonly JsonObject[] {
  const media = inlineMedia(part);
  if (media !== undefined) return [{ inlineData: { mimeType: media.mediaType, data: media.data } }];
  return textPart(partText(part).toWellFormed());
}

function textPart(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ text }];
}
