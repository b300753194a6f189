/** Conversations of OpenAI, Anthropic and Gemini as steps: messages, calls, results. Unknown parts are skipped. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../core/base/json.ts";

export type ImportedStep =
  | { readonly kind: "message"; readonly role: "user" | "assistant" | "system"; readonly text: string }
  | { readonly kind: "call"; readonly id: string | undefined; readonly name: string; readonly input: JsonValue }
  /** A result. Without an id it belongs to the first open call of its name. */
  | {
      readonly kind: "result";
      readonly id: string | undefined;
      readonly name: string | undefined;
      readonly output: JsonValue;
      readonly isError: boolean;
    };

/** Returns the turns of a conversation in any of its forms: an array, a request, a response. Undefined for anything else. */
export function findTurns(value: JsonValue): readonly JsonValue[] | undefined {
  if (isJsonArray(value)) return value.some(isTurn) ? value : undefined;
  if (!isJsonObject(value)) return undefined;
  const first = systemTurns(value);
  for (const key of ["messages", "contents", "input", "output"]) {
    const list = value[key];
    if (isJsonArray(list) && list.some(isTurn)) return [...first, ...list, ...(key === "messages" ? replyTurns(value) : [])];
  }
  const replies = replyTurns(value);
  if (replies.length > 0) return [...first, ...replies];
  return isTurn(value) ? [value] : undefined;
}

/** Returns the system instructions, which have a key of their own. */
function systemTurns(value: JsonObject): readonly JsonValue[] {
  const system = value["system"] ?? value["instructions"] ?? value["systemInstruction"] ?? value["system_instruction"];
  if (system === undefined || system === null) return [];
  if (isJsonObject(system)) return [{ role: "system", parts: system["parts"] ?? [] }];
  return [{ role: "system", content: system }];
}

/** Returns the messages of a provider's response. */
function replyTurns(value: JsonObject): readonly JsonValue[] {
  return ["choices", "candidates"].flatMap((key) => {
    const [reply] = toArray(value[key]);
    const message = isJsonObject(reply) ? (reply["message"] ?? reply["content"]) : undefined;
    return message !== undefined && isTurn(message) ? [message] : [];
  });
}

const RESPONSE_ITEM_TYPES: ReadonlySet<JsonValue | undefined> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
]);

function isTurn(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  return typeof value["role"] === "string" || isJsonArray(value["parts"]) || RESPONSE_ITEM_TYPES.has(value["type"]);
}

/** Returns the steps of one turn, in order. */
export function parseTurn(turn: JsonValue): readonly ImportedStep[] {
  if (!isJsonObject(turn)) return [];
  const { type, role, name } = turn;
  if (type === "function_call" || type === "custom_tool_call")
    return [callStep(turn["call_id"] ?? turn["id"], name, turn["arguments"] ?? turn["input"])];
  if (type === "function_call_output" || type === "custom_tool_call_output")
    return [resultStep(turn["call_id"], undefined, turn["output"])];
  if (isJsonArray(turn["parts"])) return turn["parts"].flatMap((part) => parseGeminiPart(part, toRole(role)));
  if (role === "tool" || role === "function") return [resultStep(turn["tool_call_id"], name, turn["content"])];
  const steps = parseContent(turn["content"] ?? null, toRole(role));
  const called = toArray(turn["tool_calls"]).flatMap((one) => (isJsonObject(one) ? [parseOpenAiCall(one)] : []));
  const old = turn["function_call"];
  return [...steps, ...called, ...(isJsonObject(old) ? [callStep(undefined, old["name"], old["arguments"])] : [])];
}

function parseOpenAiCall(value: JsonObject): ImportedStep {
  const { id, function: named, custom } = value;
  const { name, arguments: text, input } = isJsonObject(named) ? named : isJsonObject(custom) ? custom : value;
  return callStep(id, name, text ?? input);
}

/** Reads content that is text, or parts of OpenAI, or blocks of Anthropic. */
function parseContent(content: JsonValue, role: Role): readonly ImportedStep[] {
  if (typeof content === "string") return messageSteps(role, content);
  return toArray(content).flatMap((block) => {
    if (typeof block === "string") return messageSteps(role, block);
    if (!isJsonObject(block)) return [];
    const { type, text } = block;
    if (type === "tool_use" || type === "server_tool_use") return [callStep(block["id"], block["name"], block["input"])];
    if (typeof type === "string" && type.endsWith("tool_result"))
      return [resultStep(block["tool_use_id"], undefined, block["content"], block["is_error"] === true)];
    if (typeof text === "string") return messageSteps(role, text);
    return typeof type === "string" && !/thinking|reasoning/u.test(type) ? messageSteps(role, `[${type}]`) : [];
  });
}

function parseGeminiPart(part: JsonValue, role: Role): readonly ImportedStep[] {
  if (!isJsonObject(part)) return [];
  const called = part["functionCall"] ?? part["function_call"];
  if (isJsonObject(called)) return [callStep(called["id"], called["name"], called["args"])];
  const answer = part["functionResponse"] ?? part["function_response"];
  if (isJsonObject(answer)) return [resultStep(answer["id"], answer["name"], answer["response"], isFailedResponse(answer["response"]))];
  const { text, thought } = part;
  if (thought === true) return [];
  if (typeof text === "string") return messageSteps(role, text);
  const [kind] = Object.keys(part);
  return kind === undefined ? [] : messageSteps(role, `[${kind}]`);
}

/** Whether the call failed: "error" holds the reason. @see https://ai.google.dev/api/caching#FunctionResponse */
function isFailedResponse(response: JsonValue | undefined): boolean {
  return isJsonObject(response) && Object.keys(response).length === 1 && response["error"] !== undefined;
}

type Role = Extract<ImportedStep, { readonly kind: "message" }>["role"];

function toRole(role: JsonValue | undefined): Role {
  if (role === "assistant" || role === "model") return "assistant";
  return role === "system" || role === "developer" ? "system" : "user";
}

function messageSteps(role: Role, text: string): readonly ImportedStep[] {
  return text === "" ? [] : [{ kind: "message", role, text }];
}

function callStep(id: JsonValue | undefined, name: JsonValue | undefined, input: JsonValue | undefined): ImportedStep {
  return { kind: "call", id: nonEmptyString(id), name: nonEmptyString(name) ?? "", input: parseJsonText(input ?? {}) };
}

function resultStep(id: JsonValue | undefined, name: JsonValue | undefined, output: JsonValue | undefined, isError = false): ImportedStep {
  return { kind: "result", id: nonEmptyString(id), name: nonEmptyString(name), output: parseJsonText(joinTexts(output ?? null)), isError };
}

/** Joins parts that are all text. */
function joinTexts(output: JsonValue): JsonValue {
  if (!isJsonArray(output)) return output;
  const texts = output.map((part) => (isJsonObject(part) && typeof part["text"] === "string" ? part["text"] : undefined));
  return texts.length > 0 && texts.every((text) => text !== undefined) ? texts.join("\n") : output;
}

/** Parses arguments and results that are JSON in a string; other strings stay as they are. */
function parseJsonText(value: JsonValue): JsonValue {
  if (typeof value !== "string" || !/^\s*[[{]/u.test(value)) return value;
  try {
    return JSON.parse(value) as JsonValue;
  } catch {
    return value;
  }
}

function nonEmptyString(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function toArray(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}
