/** A fake provider of OpenAI's Chat Completions, and of what calls itself compatible with it. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import { OpenCalls, Refused, checkSchema, checkToolName, cut, demand, objectAt, objectsAt, textAt } from "./dialect.ts";
import type { CheckedRequest, Dialect, WholeReply } from "./dialect.ts";
import { checkOpenAiFormat } from "./reply-format.ts";

export interface ChatVariant {
  readonly path: string;
  /** How the ids of calls look, and must look. */
  readonly id: { readonly make: (count: number) => string; readonly allowed: RegExp };
  /** Where reasoning stands in a message. It must come back with the calls it led to. */
  readonly reasoning: string;
  readonly mustReturnReasoning: boolean;
  /** Streamed calls carry their index and their type. */
  readonly indexed: boolean;
  /** Results may hold images. */
  readonly mediaInResults: boolean;
  readonly takesSchema: boolean;
  readonly maxCandidates: number;
  readonly takesLogprobs: boolean;
  readonly takesFiles: boolean;
  /** By the role of a message, those that may follow it, and those that may be the last. @default any */
  readonly roles?: { readonly after: Readonly<Record<string, readonly string[]>>; readonly last: readonly string[] };
}

export const OPENAI_CHAT: ChatVariant = {
  path: "/chat/completions",
  id: { make: (count) => `call_${String(count).padStart(8, "0")}`, allowed: /^[!-~]{1,40}$/u },
  reasoning: "reasoning_content",
  mustReturnReasoning: false,
  indexed: true,
  mediaInResults: false,
  takesSchema: true,
  maxCandidates: 128,
  takesLogprobs: true,
  takesFiles: true,
};

export const DEEPSEEK_CHAT: ChatVariant = {
  ...OPENAI_CHAT,
  id: { ...OPENAI_CHAT.id, make: (count) => `call_00_${String(count).padStart(8, "0")}` },
  mustReturnReasoning: true,
  takesSchema: false,
  takesFiles: false,
  maxCandidates: 1,
};

/** Ids are nine letters and digits, and calls are streamed whole, without an index. */
export const MISTRAL_CHAT: ChatVariant = {
  ...OPENAI_CHAT,
  id: { make: (count) => `Ca${String(count).padStart(7, "0")}`, allowed: /^[a-zA-Z0-9]{9}$/u },
  indexed: false,
  mediaInResults: true,
  takesLogprobs: false,
  takesFiles: false,
  roles: {
    after: {
      system: ["system", "user"],
      user: ["user", "assistant"],
      assistant: ["user", "tool"],
      tool: ["tool", "assistant"],
    },
    last: ["user", "tool"],
  },
};

export function openAiChatDialect(variant: ChatVariant): Dialect {
  return {
    framing: "sse",
    isPath: (path) => path === variant.path,
    isStream: ({ body }) => body["stream"] === true,
    modelOf: ({ body }) => textAt(body["model"], "model"),
    check: (request) => checkChat(request, variant),
    candidates: ({ body }) => Number(body["n"] ?? 1),
    callId: variant.id.make,
    whole: (reply) => ({
      id: reply.id,
      object: "chat.completion",
      model: reply.model,
      choices: [
        { index: 0, message: message(reply, variant), finish_reason: finishOf(reply), ...logprobsOf(reply, variant, 0) },
        ...others(reply).map(({ index, text: content }) => ({
          index,
          message: { role: "assistant", content },
          finish_reason: "stop",
          ...logprobsOf(reply, variant, index),
        })),
      ],
      usage: usageOf(reply),
    }),
    pieces: (reply) => chunks(reply, variant).map((data) => ({ data })),
    failure: (status, message, kind) => ({ error: { message, type: kind, param: null, code: status === 404 ? "model_not_found" : null } }),
  };
}

function checkChat({ body, signatures }: CheckedRequest, variant: ChatVariant): void {
  textAt(body["model"], "model");
  const messages = objectsAt(body["messages"], "messages");
  demand(messages.length > 0, "messages: at least one is required.");
  const hasTools = checkTools(body);
  checkReplies(body, variant);
  demand(hasTools || body["tool_choice"] === undefined, "tool_choice is only allowed when tools are specified.");
  demand(hasTools || body["parallel_tool_calls"] === undefined, "parallel_tool_calls is only allowed when tools are specified.");
  const open = new OpenCalls();
  for (const [index, message] of messages.entries()) {
    const place = `messages[${index}]`;
    if (message["role"] === "tool") {
      if (variant.mediaInResults && isJsonArray(message["content"])) checkParts(message["content"], place, variant);
      else textAt(message["content"], `${place}.content`);
      open.answer(textAt(message["tool_call_id"], `${place}.tool_call_id`), place);
      continue;
    }
    open.settle(place);
    if (message["role"] === "assistant") checkAssistant(message, { place, open, variant, signatures });
    else checkSpoken(message, place, variant);
  }
  open.settle("messages");
  checkRoles(
    messages.map(({ role }) => String(role)),
    variant,
  );
}

function checkRoles(roles: readonly string[], { roles: rules }: ChatVariant): void {
  if (rules === undefined) return;
  for (const [index, role] of roles.entries()) {
    const before = roles[index - 1];
    demand(
      before === undefined || rules.after[before]?.includes(role) === true,
      `Unexpected role '${role}' after role '${String(before)}'`,
    );
  }
  const last = roles.at(-1) ?? "";
  demand(rules.last.includes(last), `Expected last role User or Tool (or Assistant with prefix True) for serving but got ${last}`);
}

function checkReplies({ response_format: format, messages = [], n = 1, logprobs = false }: JsonObject, variant: ChatVariant): void {
  if (format !== undefined) checkOpenAiFormat(format, messages, true);
  demand(variant.takesSchema || !isJsonObject(format) || format["type"] !== "json_schema", "This response_format type is unavailable now.");
  demand(Number.isInteger(n) && Number(n) >= 1 && Number(n) <= variant.maxCandidates, "n: is not allowed.");
  demand(logprobs === false || (variant.takesLogprobs && logprobs === true), "logprobs: is not allowed.");
}

function others({ candidates }: WholeReply): readonly { readonly index: number; readonly text: string }[] {
  return candidates.slice(1).map(({ text }, at) => ({ index: at + 1, text }));
}

function logprobsOf({ candidates }: WholeReply, { takesLogprobs }: ChatVariant, index: number): JsonObject {
  const candidate = candidates[index];
  if (candidate === undefined || !takesLogprobs) return {};
  return {
    logprobs: { content: [{ token: candidate.text, logprob: candidate.logProbability, bytes: null, top_logprobs: [] }], refusal: null },
  };
}

function checkTools(body: JsonObject): boolean {
  if (body["tools"] === undefined) return false;
  const tools = objectsAt(body["tools"], "tools");
  demand(tools.length > 0, "tools: [] is too short.");
  for (const [index, tool] of tools.entries()) {
    const place = `tools[${index}]`;
    demand(tool["type"] === "function", `${place}.type: must be "function".`);
    const definition = objectAt(tool["function"], `${place}.function`);
    checkToolName(definition["name"], `${place}.function.name`);
    checkSchema(definition["parameters"], `${place}.function.parameters`);
  }
  return true;
}

interface AssistantCheck {
  readonly place: string;
  readonly open: OpenCalls;
  readonly variant: ChatVariant;
  readonly signatures: ReadonlyMap<string, string>;
}

function checkAssistant(message: JsonObject, { place, open, variant, signatures }: AssistantCheck): void {
  const calls = message["tool_calls"] === undefined ? [] : objectsAt(message["tool_calls"], `${place}.tool_calls`);
  demand(calls.length > 0 || message["tool_calls"] === undefined, `${place}.tool_calls: [] is too short.`);
  const { content, refusal } = message;
  const says = typeof content === "string" ? content.trim() !== "" : isJsonArray(content) || typeof refusal === "string";
  demand(calls.length > 0 || says, `${place}: Assistant message must have either content or tool_calls, but not none.`);
  for (const [index, call] of calls.entries()) {
    const at = `${place}.tool_calls[${index}]`;
    const id = textAt(call["id"], `${at}.id`);
    demand(variant.id.allowed.test(id), `${at}.id: ${id} is not allowed.`);
    const { name, arguments: text } = objectAt(call["function"], `${at}.function`);
    checkToolName(name, `${at}.function.name`);
    checkArguments(textAt(text, `${at}.function.arguments`), at);
    open.make(id, at);
    const reasoning = signatures.get(id);
    const given = message[variant.reasoning];
    if (variant.mustReturnReasoning)
      demand(
        typeof given === "string" && given === (reasoning ?? given),
        `${place}: Missing \`${variant.reasoning}\` field in the assistant message.`,
      );
  }
}

function checkArguments(text: string, place: string): void {
  try {
    JSON.parse(text);
  } catch {
    throw new Refused(`${place}.function.arguments: is not JSON.`);
  }
}

function checkSpoken({ role, content }: JsonObject, place: string, variant: ChatVariant): void {
  demand(role === "user" || role === "system" || role === "developer", `${place}.role: ${JSON.stringify(role)} is not one of the roles.`);
  if (typeof content !== "string") checkParts(content, place, variant);
}

function checkParts(content: JsonValue | undefined, place: string, variant: ChatVariant): void {
  for (const part of objectsAt(content, `${place}.content`)) {
    if (part["type"] === "text") textAt(part["text"], `${place}.content.text`);
    else if (part["type"] === "image_url") {
      const image = part["image_url"];
      const url = textAt(isJsonObject(image) ? image["url"] : image, `${place}.content.image_url`);
      demand(/^(?:https:|data:image\/)/u.test(url), `${place}.content.image_url: is no image.`);
    } else if (part["type"] === "file" && variant.takesFiles) {
      const file = part["file"];
      const data = textAt(isJsonObject(file) ? file["file_data"] : undefined, `${place}.content.file.file_data`);
      demand(data.startsWith("data:application/pdf;base64,"), `${place}.content.file: is no PDF.`);
    } else demand(part["type"] === "input_audio", `${place}.content.type: ${JSON.stringify(part["type"])} is not known.`);
  }
}

function message({ text, reasoning, calls }: WholeReply, variant: ChatVariant): JsonObject {
  return {
    role: "assistant",
    content: text === "" ? null : text,
    ...(reasoning === "" ? {} : { [variant.reasoning]: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } })),
        }),
  };
}

function finishOf({ finish }: WholeReply): string {
  return finish === "calls" ? "tool_calls" : finish;
}

function usageOf({ inputTokens, outputTokens }: WholeReply): JsonObject {
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: inputTokens + outputTokens };
}

function chunks(reply: WholeReply, variant: ChatVariant): readonly JsonValue[] {
  const { id, model, text, reasoning } = reply;
  const chunk = (delta: JsonObject, finish_reason: string | null = null): JsonObject => ({
    id,
    object: "chat.completion.chunk",
    model,
    choices: [{ index: 0, delta, finish_reason }],
  });
  return [
    chunk({ role: "assistant", content: "" }),
    ...cut(reasoning).map((piece) => chunk({ [variant.reasoning]: piece })),
    ...interleaved(
      cut(text).map((content) => chunk({ content })),
      otherChunks(reply, variant),
    ),
    ...callDeltas(reply, variant).map((tool_call) => chunk({ tool_calls: [tool_call] })),
    chunk({}, finishOf(reply)),
    { id, object: "chat.completion.chunk", model, choices: [], usage: usageOf(reply) },
    "[DONE]",
  ];
}

/** The pieces of all replies come as they are made, not one reply after the other. */
function interleaved(one: readonly JsonObject[], other: readonly JsonObject[]): readonly JsonObject[] {
  const length = Math.max(one.length, other.length);
  return Array.from({ length }, (_, at) => [...other.slice(at, at + 1), ...one.slice(at, at + 1)]).flat();
}

function otherChunks(reply: WholeReply, variant: ChatVariant): readonly JsonObject[] {
  const { id, model } = reply;
  const chunk = (choice: JsonObject): JsonObject => ({ id, object: "chat.completion.chunk", model, choices: [choice] });
  const first =
    reply.candidates.length === 0 ? [] : [chunk({ index: 0, delta: {}, finish_reason: null, ...logprobsOf(reply, variant, 0) })];
  return others(reply)
    .flatMap(({ index, text }) => [
      ...cut(text).map((content) => chunk({ index, delta: { content }, finish_reason: null })),
      chunk({ index, delta: {}, finish_reason: "stop", ...logprobsOf(reply, variant, index) }),
    ])
    .concat(first);
}

function callDeltas({ calls }: WholeReply, { indexed }: ChatVariant): readonly JsonObject[] {
  if (!indexed) return calls.map(({ id, name, input }) => ({ id, function: { name, arguments: JSON.stringify(input) } }));
  return calls.flatMap(({ id, name, input }, index) => [
    { index, id, type: "function", function: { name, arguments: "" } },
    ...cut(JSON.stringify(input)).map((piece) => ({ index, function: { arguments: piece } })),
  ]);
}
