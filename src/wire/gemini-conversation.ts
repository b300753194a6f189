/** A conversation as the system instruction and contents of Gemini's generateContent. */
import type { ContentPart } from "../core/content.ts";
import type { JsonObject } from "../core/json.ts";
import type { ModelMessage } from "../core/message.ts";
import { partText } from "../core/result.ts";
import {
  IMAGE_TYPES,
  answerText,
  contentParts,
  contentText,
  conversationSteps,
  documentHeading,
  inputObject,
  isErrorAnswer,
  wellFormed,
} from "./conversation-steps.ts";
import type { AssistantStep, SpokenStep, WireCall } from "./conversation-steps.ts";

export interface GeminiConversation {
  /** What every system message said, wherever it stood. Left out when there is none. */
  readonly systemInstruction?: JsonObject;
  readonly contents: readonly JsonObject[];
  /** By the name in a `functionCall` part, the tool's own. */
  readonly toolNames: ReadonlyMap<string, string>;
}

export interface GeminiOptions {
  /**
   * Put on the first call of each message. Gemini 3 refuses calls without the signature it gave with them, and takes
   * `skip_thought_signature_validator` for calls that were not its own.
   *
   * @default none
   */
  readonly thoughtSignature?: string;
}

const ID_RULE = { allowed: /^[A-Za-z0-9_-]+$/u, maxLength: 64 };

/**
 * Writes a conversation as Gemini takes it.
 *
 * The results of one message's calls are one content, errors under `error` and answers under `output`; images and sounds of
 * results follow as a content of the user, which models before Gemini 3 take too. A conversation that begins with
 * the model is given a content of the user before it.
 *
 * @see https://ai.google.dev/gemini-api/docs/function-calling
 */
export function toGeminiContents(messages: readonly ModelMessage[], options: GeminiOptions = {}): GeminiConversation {
  const { steps, toolNames } = conversationSteps(messages, ID_RULE);
  const system: JsonObject[] = [];
  const contents = new Contents();
  for (const step of steps) {
    if (step.kind === "assistant") writeAssistant(step, contents, options);
    else if (step.kind === "system") system.push(...textPart(contentText(step.content)));
    else contents.add("user", spokenParts(step));
  }
  return { ...(system.length === 0 ? {} : { systemInstruction: { parts: system } }), contents: contents.written, toolNames };
}

/** What the model says in a row is one content; results keep one of their own, as Gemini counts them against the calls. */
class Contents {
  readonly written: { readonly role: "user" | "model"; readonly parts: JsonObject[] }[] = [];

  add(role: "user" | "model", parts: readonly JsonObject[]): void {
    if (parts.length === 0) return;
    const last = this.written.at(-1);
    if (role === "model" && last?.role === role) {
      last.parts.push(...parts);
      return;
    }
    if (last === undefined && role === "model") this.add("user", textPart("(The conversation begins with the model.)"));
    this.written.push({ role, parts: [...parts] });
  }
}

function writeAssistant({ content, calls }: AssistantStep, contents: Contents, { thoughtSignature }: GeminiOptions): void {
  contents.add("model", [
    ...textPart(contentText(content)),
    ...calls.map(({ id, name, input }, index) => ({
      functionCall: { id, name, args: inputObject(input) },
      ...(thoughtSignature === undefined || index > 0 ? {} : { thoughtSignature }),
    })),
  ]);
  contents.add("user", calls.map(responsePart));
  contents.add("user", calls.flatMap(mediaParts));
}

function responsePart({ id, name, result }: WireCall): JsonObject {
  return { functionResponse: { id, name, response: responseOf(result) } };
}

function responseOf(result: WireCall["result"]): JsonObject {
  if (result === undefined || isErrorAnswer(result)) return { error: answerText(result) };
  const { error, ...answer } = result;
  const output = answer.content === undefined ? wellFormed(answer.output ?? null) : answerText(answer);
  return error === undefined ? { output } : { output, error: answerText({ ...result, output: "", content: [] }) };
}

function mediaParts({ id, result }: WireCall): readonly JsonObject[] {
  if (isErrorAnswer(result)) return [];
  const media = result?.content?.filter(isMedia) ?? [];
  return media.length === 0 ? [] : [...textPart(`What ${id} showed:`), ...media.flatMap(writePart)];
}

function spokenParts({ kind, content, title }: SpokenStep): readonly JsonObject[] {
  const parts = contentParts(content).flatMap(writePart);
  return kind === "document" ? [...textPart(documentHeading(title)), ...parts] : parts;
}

function isMedia(part: ContentPart): boolean {
  return part.type === "audio" || (part.type === "image" && IMAGE_TYPES.has(part.mediaType));
}

function writePart(part: ContentPart): readonly JsonObject[] {
  if ((part.type === "image" || part.type === "audio") && isMedia(part))
    return [{ inlineData: { mimeType: part.mediaType, data: part.data } }];
  return textPart(partText(part).toWellFormed());
}

function textPart(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ text }];
}
