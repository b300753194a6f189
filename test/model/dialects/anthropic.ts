/** A fake provider of Anthropic's Messages. */
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../../src/core/base/json.ts";
import {
  OpenCalls,
  checkArgumentNames,
  checkSchema,
  checkToolName,
  checkTurns,
  cut,
  demand,
  objectAt,
  objectsAt,
  textAt,
} from "./dialect.ts";
import type { CheckedRequest, Dialect, ServedPiece, WholeReply } from "./dialect.ts";
import { checkHeld } from "./reply-format.ts";

export const ANTHROPIC_MESSAGES: Dialect = {
  framing: "sse",
  isPath: (path) => path === "/messages",
  isStream: ({ body }) => body["stream"] === true,
  modelOf: ({ body }) => textAt(body["model"], "model"),
  check,
  callId: (count) => `toolu_${String(count).padStart(8, "0")}`,
  whole: (reply) => ({
    ...head(reply),
    content: blocks(reply),
    stop_reason: stopReason(reply),
    stop_sequence: null,
    usage: usageOf(reply),
  }),
  pieces,
  failure: (_status, message, kind) => ({ type: "error", error: { type: kind, message }, request_id: "req_1" }),
};

function check({ body, headers, signatures }: CheckedRequest): void {
  demand(headers["anthropic-version"] === "2023-06-01", "anthropic-version: header is required.");
  textAt(body["model"], "model");
  demand(Number.isInteger(body["max_tokens"]), "max_tokens: Field required.");
  const hasTools = checkTools(body);
  demand(hasTools || body["tool_choice"] === undefined, "tool_choice: may only be specified while providing tools.");
  checkOutput(body["output_config"]);
  const messages = objectsAt(body["messages"], "messages");
  demand(messages[0]?.["role"] === "user", "messages: first message must use the user role.");
  const open = new OpenCalls();
  for (const [index, { role, content }] of messages.entries()) {
    const place = `messages.${index}`;
    demand(role === "user" || role === "assistant", `${place}.role: must be user or assistant.`);
    const all = typeof content === "string" ? [{ type: "text", text: content }] : objectsAt(content, `${place}.content`);
    demand(all.length > 0, `${place}: must have non-empty content.`);
    if (role === "user") checkUser(all, { place, open });
    else {
      open.settle(place);
      checkAssistant(all, { place, open, signatures, hasTools });
      checkSearches(all, place, messages[index + 1]);
    }
  }
  open.settle("messages");
  checkTurns(
    messages.map(({ role }) => role),
    blocksOf(messages.at(-1)).at(-1)?.["type"] === "server_tool_use",
  );
}

function blocksOf(message: JsonObject | undefined): readonly JsonObject[] {
  const content = message?.["content"];
  return isJsonArray(content) ? content.filter(isJsonObject) : [];
}

/** The API goes on with what it runs itself when the message comes back as the last, or when the results of other calls follow. */
function checkSearches(content: readonly JsonObject[], place: string, next: JsonObject | undefined): void {
  if (next === undefined || blocksOf(next)[0]?.["type"] === "tool_result") return;
  const answered = new Set(content.map(({ tool_use_id: id }) => id));
  for (const { type, id, name } of content)
    demand(
      type !== "server_tool_use" || answered.has(id),
      `${place}: \`${String(name)}\` tool use with id \`${String(id)}\` was found without a corresponding \`${String(name)}_tool_result\` block.`,
    );
}

function checkOutput(config: JsonValue | undefined): void {
  if (config === undefined) return;
  const { type, schema, ...others } = objectAt(objectAt(config, "output_config")["format"], "output_config.format");
  demand(type === "json_schema" && Object.keys(others).length === 0, "output_config.format: Extra inputs are not permitted.");
  checkSchema(schema, "output_config.format.schema");
  checkHeld(objectAt(schema, "output_config.format.schema"), false);
}

function checkTools(body: JsonObject): boolean {
  const tools = body["tools"] === undefined ? [] : objectsAt(body["tools"], "tools");
  for (const [index, tool] of tools.entries()) {
    checkToolName(tool["name"], `tools.${index}.name`);
    checkSchema(tool["input_schema"], `tools.${index}.input_schema`);
    checkArgumentNames(tool["input_schema"], `tools.${index}.custom.input_schema`);
  }
  return tools.length > 0;
}

function checkUser(content: readonly JsonObject[], { place, open }: { readonly place: string; readonly open: OpenCalls }): void {
  const rest = content.filter(({ type }) => type !== "tool_result");
  demand(
    content.slice(0, content.length - rest.length).every(({ type }) => type === "tool_result"),
    `${place}: tool_result blocks must come first.`,
  );
  for (const block of content) {
    if (block["type"] === "tool_result") {
      open.answer(textAt(block["tool_use_id"], `${place}.tool_use_id`), place);
      checkResult(block["content"], place);
    } else checkBlock(block, place, ["text", "image", "document"]);
  }
  open.settle(place);
}

function checkResult(content: JsonValue | undefined, place: string): void {
  if (content === undefined || typeof content === "string") return;
  for (const block of objectsAt(content, `${place}.content`)) checkBlock(block, place, ["text", "image", "document"]);
}

interface AssistantCheck {
  readonly place: string;
  readonly open: OpenCalls;
  readonly signatures: ReadonlyMap<string, string>;
  readonly hasTools: boolean;
}

function checkAssistant(content: readonly JsonObject[], { place, open, signatures, hasTools }: AssistantCheck): void {
  const last = String(content.at(-1)?.["type"]);
  demand(!last.endsWith("thinking"), `${place}: The final block in an assistant message cannot be \`${last}\`.`);
  for (const block of content) {
    if (block["type"] !== "tool_use") {
      checkBlock(block, place, ["text", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result"]);
      continue;
    }
    demand(hasTools, "Requests which include `tool_use` or `tool_result` blocks must define tools.");
    const id = textAt(block["id"], `${place}.id`);
    demand(/^[a-zA-Z0-9_-]+$/u.test(id), `${place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'.`);
    checkToolName(block["name"], `${place}.name`);
    objectAt(block["input"], `${place}.input`);
    open.make(id, place);
    const proof = signatures.get(id);
    const [first] = content;
    demand(
      proof === undefined || (first?.["type"] === "thinking" && first["signature"] === proof),
      `${place}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first?.["type"])}\`.`,
    );
  }
}

function checkBlock(block: JsonObject, place: string, allowed: readonly string[]): void {
  const { type, text, source } = block;
  demand(allowed.includes(String(type)), `${place}: a block of type ${String(type)} is not allowed here.`);
  if (type === "text") demand(typeof text === "string" && text.trim() !== "", `${place}: text content blocks must be non-empty.`);
  if (type === "image") textAt(objectAt(source, `${place}.source`)["data"], `${place}.source.data`);
}

function blocks({ text, reasoning, signature, calls }: WholeReply): readonly JsonObject[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning, signature }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
    ...calls.map(({ id, name, input }) => ({ type: "tool_use", id, name, input })),
  ];
}

function head({ id, model }: WholeReply): JsonObject {
  return { id: `msg_${id}`, type: "message", role: "assistant", model };
}

function stopReason({ finish }: WholeReply): string {
  return { stop: "end_turn", calls: "tool_use", length: "max_tokens" }[finish];
}

function usageOf({ inputTokens: input_tokens, outputTokens: output_tokens }: WholeReply): JsonObject {
  return { input_tokens, output_tokens, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  const usage = usageOf(reply);
  const events: JsonObject[] = [
    { type: "message_start", message: { ...head(reply), content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } },
    { type: "ping" },
    ...blocks(reply).flatMap(blockEvents),
    { type: "message_delta", delta: { stop_reason: stopReason(reply), stop_sequence: null }, usage: { output_tokens: reply.outputTokens } },
    { type: "message_stop" },
  ];
  return events.map((data) => ({ event: String(data["type"]), data }));
}

function blockEvents(block: JsonObject, index: number): readonly JsonObject[] {
  const delta = (fields: JsonObject): JsonObject => ({ type: "content_block_delta", index, delta: fields });
  const begin = (fields: JsonObject): JsonObject => ({ type: "content_block_start", index, content_block: { ...block, ...fields } });
  const stop = { type: "content_block_stop", index };
  if (block["type"] === "text")
    return [begin({ text: "" }), ...cut(String(block["text"])).map((text) => delta({ type: "text_delta", text })), stop];
  if (block["type"] === "thinking") {
    const deltas = cut(String(block["thinking"])).map((thinking) => delta({ type: "thinking_delta", thinking }));
    return [
      begin({ thinking: "", signature: "" }),
      ...deltas,
      delta({ type: "signature_delta", signature: block["signature"] ?? "" }),
      stop,
    ];
  }
  const isEmpty = JSON.stringify(block["input"]) === "{}";
  const json = isEmpty ? [] : cut(JSON.stringify(block["input"]));
  return [begin({ input: {} }), ...["", ...json].map((partial_json) => delta({ type: "input_json_delta", partial_json })), stop];
}
