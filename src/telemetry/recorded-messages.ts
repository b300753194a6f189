/** The conversation with a model as attributes: JSON in the format of the conventions, without secrets and cut to size. */
import type { Attributes } from "@opentelemetry/api";
import { parseJson } from "../core/base/parse-json.ts";
import type { ContentPart } from "../core/content.ts";
import { SHARED_CONVERSATION, type ModelMessage, type SessionMessage } from "../core/message.ts";
import type { FinishReason, ModelReply, ModelRequest, ModelTool, ProviderCall } from "../core/model.ts";
import { partText, resultText } from "../core/result.ts";
import type { ContentSettings } from "./content-settings.ts";
import { toRecordedName } from "./recorded-name.ts";
import { ANY_SIZE, MAX_CHARS, toRecordedSchema, toRecordedText, shortenText } from "./recorded-text.ts";
import { ATTRIBUTES } from "./semantic-conventions.ts";
import { formatToolName } from "./format-tool-name.ts";

/** Replaces results and texts of the model in a request if only inputs are recorded. */
const NOT_RECORDED = "[not recorded]";
/** Minimum length to which the texts of a message are cut. */
const MIN_CHARS = 64;
/** The conventions' names for finish reasons that differ from Haft's. */
const OTEL_FINISH_REASONS: ReadonlyMap<FinishReason, string> = new Map([
  ["calls", "tool_call"],
  ["content-filter", "content_filter"],
]);

/** One message, or one part of it. @see https://github.com/open-telemetry/semantic-conventions-genai — `gen-ai-input-messages.json` */
type Recorded = Readonly<Record<string, unknown>>;

/** Options for writing a message; no text is longer than `maxChars`. */
interface Writer extends ContentSettings {
  readonly maxChars: number;
  /** Recorded texts by their source values, because a message that is too long is written several times. */
  readonly recorded: Map<unknown, string>;
}

export function toFinishReason(finish: FinishReason): string {
  return OTEL_FINISH_REASONS.get(finish) ?? finish;
}

/** Attributes of a request: the newest messages that fit. */
export function toRequestAttributes({ system, messages, tools = [] }: ModelRequest, contents: ContentSettings): Attributes {
  if (!contents.recordInputs) return {};
  return {
    ...(system === undefined ? {} : { [ATTRIBUTES.systemInstructions]: encodeFitting([system], contents, textPart) }),
    [ATTRIBUTES.inputMessages]: encodeFitting(messages.toReversed(), contents, modelMessage, true),
    ...(tools.length === 0 ? {} : { [ATTRIBUTES.toolDefinitions]: encodeFitting(tools, contents, toolDefinition) }),
  };
}

export function toReplyAttributes(reply: ModelReply, contents: ContentSettings): Attributes {
  return contents.recordOutputs ? { [ATTRIBUTES.outputMessages]: encodeFitting([reply], contents, replyMessage) } : {};
}

/** Attributes of a run: the message that began it. */
export function toRunInputAttributes(input: SessionMessage | undefined, contents: ContentSettings): Attributes {
  if (!contents.recordInputs || input === undefined) return {};
  return { [ATTRIBUTES.inputMessages]: encodeFitting([input], contents, sessionMessage) };
}

/** Attributes of a run: the last text of its model. */
export function toRunOutputAttributes(text: string | undefined, reason: string | undefined, contents: ContentSettings): Attributes {
  if (!contents.recordOutputs || text === undefined || text === "") return {};
  const finish = reason === undefined || reason === "answered" ? "stop" : reason;
  const message = (content: string, writer: Writer): Recorded => ({
    role: "assistant",
    parts: [textPart(content, writer)],
    finish_reason: finish,
  });
  return { [ATTRIBUTES.outputMessages]: encodeFitting([text], contents, message) };
}

/** Writes the first items that fit as a JSON array; `isReversed` restores their order. Always well-formed, since other products read it. */
function encodeFitting<Item>(
  items: readonly Item[],
  contents: ContentSettings,
  write: (item: Item, writer: Writer) => Recorded,
  isReversed = false,
): string {
  const written: string[] = [];
  let left = MAX_CHARS - "[]".length;
  for (const item of items) {
    const writer = { ...contents, maxChars: MAX_CHARS, recorded: new Map<unknown, string>() };
    let text = JSON.stringify(write(item, writer));
    if (written.length === 0 && text.length > left) text = cutToFit(left, (maxChars) => write(item, { ...writer, maxChars }));
    if (text.length > left) break;
    written.push(text);
    left -= text.length + 1;
  }
  return `[${(isReversed ? written.toReversed() : written).join(",")}]`;
}

/** Cuts the texts of an item, and omits its last parts if there are too many. */
function cutToFit(most: number, write: (maxChars: number) => Recorded): string {
  let maxChars = MAX_CHARS;
  let item: Recorded;
  do {
    item = write((maxChars /= 2));
    const text = JSON.stringify(item);
    if (text.length <= most) return text;
  } while (maxChars > MIN_CHARS);
  const parts: unknown[] = [];
  let left = most - JSON.stringify({ ...item, parts }).length;
  for (const part of Array.isArray(item["parts"]) ? item["parts"] : []) {
    left -= JSON.stringify(part).length + 1;
    if (left < 0) break;
    parts.push(part);
  }
  return JSON.stringify({ ...item, parts });
}

function modelMessage(message: ModelMessage, writer: Writer): Recorded {
  switch (message.role) {
    case "call": {
      const { call, callId } = message;
      return { role: "assistant", parts: [callPart({ ...call, id: call.id ?? callId }, writer)] };
    }
    case "result": {
      const { result, callId } = message;
      const response = writer.recordOutputs ? plain(resultText(result), writer) : NOT_RECORDED;
      return { role: "tool", parts: [{ type: "tool_call_response", id: result.id ?? callId, response }] };
    }
    case "job":
      return { role: "user", parts: [writer.recordOutputs ? textPart(message.content, writer) : NOTHING_RECORDED] };
    case "user":
    case "assistant":
    case "system":
    case "document":
      return sessionMessage(message, writer);
  }
}

const NOTHING_RECORDED: Recorded = { type: "text", content: NOT_RECORDED };

function sessionMessage({ role, content, title }: SessionMessage, writer: Writer): Recorded {
  const isAnswered = role === "assistant" || title === SHARED_CONVERSATION;
  const recordedRole = role === "document" ? "user" : role;
  if (isAnswered && !writer.recordOutputs) return { role: recordedRole, parts: [NOTHING_RECORDED] };
  const parts = typeof content === "string" ? [textPart(content, writer)] : contentParts(content, writer);
  const named = title === undefined ? parts : [textPart(title, writer), ...parts];
  return { role: recordedRole, parts: named };
}

function replyMessage(reply: ModelReply, writer: Writer): Recorded {
  const { reasoning, text, media, providerCalls, calls, finish } = reply;
  return {
    role: "assistant",
    parts: [
      ...(reasoning === "" ? [] : [{ type: "reasoning", content: plain(reasoning, writer) }]),
      ...(text === "" ? [] : [textPart(text, writer)]),
      ...contentParts(media, writer),
      ...providerCalls.map((call) => providerCallPart(call, writer)),
      ...calls.map((call) => callPart(call, writer)),
    ],
    finish_reason: toFinishReason(finish),
  };
}

/** Images, audio and files are only mentioned. */
function contentParts(parts: readonly ContentPart[], writer: Writer): readonly Recorded[] {
  return parts.map((part) => textPart(partText(part), writer));
}

function textPart(text: string, writer: Writer): Recorded {
  return { type: "text", content: plain(text, writer) };
}

function callPart(
  { id, name, input }: { readonly id?: string; readonly name: string; readonly input?: unknown },
  writer: Writer,
): Recorded {
  return { type: "tool_call", ...(id === undefined ? {} : { id }), name: toRecordedName(name, writer), ...argumentsOf(input, writer) };
}

function providerCallPart({ id, name, kind, input }: ProviderCall, writer: Writer): Recorded {
  const call = { type: kind, ...argumentsOf(input, writer) };
  return { type: "server_tool_call", ...(id === undefined ? {} : { id }), name, server_tool_call: call };
}

/** The arguments without secrets and redacted text; an object if they still are valid JSON. */
function argumentsOf(input: unknown, writer: Writer): { readonly arguments?: unknown } {
  if (!writer.recordInputs || input === undefined) return {};
  const text = plain(input, writer);
  try {
    return { arguments: parseJson(text, ANY_SIZE) };
  } catch {
    return { arguments: text };
  }
}

/** The definition of a tool. A schema that is too long, or that is not JSON after `redact`, is omitted. */
function toolDefinition({ name, description, inputSchema }: ModelTool, writer: Writer): Recorded {
  const definition = { type: "function", name: formatToolName(name), description: plain(description, writer) };
  try {
    return { ...definition, parameters: parseJson(recordedOnce(inputSchema, toRecordedSchema, writer), ANY_SIZE) };
  } catch {
    return definition;
  }
}

function plain(value: unknown, writer: Writer): string {
  return recordedOnce(value, toRecordedText, writer);
}

function recordedOnce(value: unknown, record: typeof toRecordedText, { redact, maxChars, recorded }: Writer): string {
  const text = recorded.get(value) ?? record(value, redact);
  recorded.set(value, text);
  return shortenText(text, maxChars);
}
