/** A fake provider of Cohere's chat, version 2. */
import type { JsonObject } from "../../../src/core/base/json.ts";
import { OpenCalls, checkSchema, checkToolName, cut, demand, objectAt, objectsAt, textAt } from "./dialect.ts";
import type { CheckedRequest, Dialect, ServedPiece, WholeReply } from "./dialect.ts";

export const COHERE_CHAT: Dialect = {
  framing: "sse",
  isPath: (path) => path === "/v2/chat",
  isStream: ({ body }) => body["stream"] === true,
  modelOf: ({ body }) => textAt(body["model"], "model"),
  check,
  callId: (count) => `tool_${String(count).padStart(8, "0")}`,
  whole: (reply) => ({ id: reply.id, message: message(reply), finish_reason: finishOf(reply), usage: usageOf(reply) }),
  pieces,
  failure: (_status, message) => ({ id: "err_1", message }),
};

function check({ body }: CheckedRequest): void {
  textAt(body["model"], "model");
  const tools = body["tools"] === undefined ? [] : objectsAt(body["tools"], "tools");
  for (const tool of tools) {
    const { name, parameters } = objectAt(tool["function"], "tools.function");
    checkToolName(name, "tools.function.name");
    checkSchema(parameters, "tools.function.parameters");
  }
  const { response_format: format } = body;
  if (format !== undefined) {
    const { type, json_schema: schema, ...others } = objectAt(format, "response_format");
    demand(type === "json_object" && Object.keys(others).length === 0, "response_format: is not known.");
    demand(tools.length === 0, "response_format: is not supported with tools.");
    if (schema !== undefined) checkSchema(schema, "response_format.json_schema");
  }
  const open = new OpenCalls();
  for (const [index, message] of objectsAt(body["messages"], "messages").entries()) {
    const place = `messages[${index}]`;
    const { role, content } = message;
    if (role === "tool") {
      demand(content !== undefined && content !== "", `${place}: content is required.`);
      open.answer(textAt(message["tool_call_id"], `${place}.tool_call_id`), place);
      continue;
    }
    open.settle(place);
    if (role === "assistant") checkAssistant(message, place, open);
    else {
      demand(role === "user" || role === "system", `${place}.role: ${String(role)} is not known.`);
      demand(content !== undefined && content !== "", `${place}: content is required.`);
    }
  }
  open.settle("messages");
}

function checkAssistant({ content, tool_calls, tool_plan }: JsonObject, place: string, open: OpenCalls): void {
  const calls = tool_calls === undefined ? [] : objectsAt(tool_calls, `${place}.tool_calls`);
  demand(calls.length > 0 || (content !== undefined && String(content).trim() !== ""), `${place}: content or tool_calls is required.`);
  demand(calls.length === 0 || content === undefined || tool_plan === undefined, `${place}: content and tool_plan cannot both be set.`);
  for (const call of calls) {
    const { name, arguments: text } = objectAt(call["function"], `${place}.function`);
    checkToolName(name, `${place}.function.name`);
    JSON.parse(textAt(text, `${place}.function.arguments`));
    open.make(textAt(call["id"], `${place}.id`), place);
  }
}

function message({ text, reasoning, calls }: WholeReply): JsonObject {
  const toolCalls = calls.map(({ id, name, input }) => ({ id, type: "function", function: { name, arguments: JSON.stringify(input) } }));
  const content = [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: reasoning }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
  ];
  return {
    role: "assistant",
    ...(content.length === 0 ? {} : { content }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
}

function finishOf({ finish }: WholeReply): string {
  return { stop: "COMPLETE", calls: "TOOL_CALL", length: "MAX_TOKENS" }[finish];
}

function usageOf({ inputTokens: input_tokens, outputTokens: output_tokens }: WholeReply): JsonObject {
  return { billed_units: { input_tokens, output_tokens }, tokens: { input_tokens, output_tokens } };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  const { id, text, reasoning, calls } = reply;
  const events: JsonObject[] = [
    { type: "message-start", id, delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [], citations: [] } } },
    ...contentEvents("thinking", reasoning, 0),
    ...contentEvents("text", text, reasoning === "" ? 0 : 1),
    ...calls.flatMap((call, index) => callEvents(call, index)),
    { type: "message-end", id, delta: { finish_reason: finishOf(reply), usage: usageOf(reply) } },
  ];
  return events.map((data) => ({ event: String(data["type"]), data }));
}

function contentEvents(kind: "thinking" | "text", whole: string, index: number): readonly JsonObject[] {
  if (whole === "") return [];
  return [
    { type: "content-start", index, delta: { message: { content: { type: kind, [kind]: "" } } } },
    ...cut(whole).map((piece) => ({ type: "content-delta", index, delta: { message: { content: { [kind]: piece } } } })),
    { type: "content-end", index },
  ];
}

function callEvents({ id, name, input }: WholeReply["calls"][number], index: number): readonly JsonObject[] {
  const begin = { id, type: "function", function: { name, arguments: "" } };
  return [
    { type: "tool-call-start", index, delta: { message: { tool_calls: begin } } },
    ...cut(JSON.stringify(input)).map((piece) => ({
      type: "tool-call-delta",
      index,
      delta: { message: { tool_calls: { function: { arguments: piece } } } },
    })),
    { type: "tool-call-end", index },
  ];
}
