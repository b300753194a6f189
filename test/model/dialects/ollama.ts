/** A fake provider of Ollama's chat. */
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { checkSchema, checkToolName, cut, demand, objectAt, objectsAt, textAt } from "./dialect.ts";
import type { CheckedRequest, Dialect, ServedPiece, WholeReply } from "./dialect.ts";

export const OLLAMA_CHAT: Dialect = {
  framing: "json-lines",
  isPath: (path) => path === "/api/chat",
  isStream: ({ body }) => body["stream"] !== false,
  modelOf: ({ body }) => textAt(body["model"], "model"),
  check,
  callId: (count) => `call_${String(count).padStart(8, "0")}`,
  whole: (reply) => ({ ...head(reply), message: { role: "assistant", ...message(reply) }, ...end(reply) }),
  pieces,
  failure: (_status, message) => ({ error: message }),
};

function check({ body }: CheckedRequest): void {
  textAt(body["model"], "model");
  const tools = body["tools"] === undefined ? [] : objectsAt(body["tools"], "tools");
  for (const tool of tools) {
    const { name, parameters } = objectAt(tool["function"], "tools.function");
    checkToolName(name, "tools.function.name");
    checkSchema(parameters, "tools.function.parameters");
  }
  const { format } = body;
  if (format !== undefined && format !== "json") checkSchema(format, "format");
  let open: string[] = [];
  for (const [index, message] of objectsAt(body["messages"], "messages").entries()) {
    const place = `messages[${index}]`;
    const { role, content = "", images, tool_calls, tool_name } = message;
    demand(["user", "system", "assistant", "tool"].includes(String(role)), `${place}.role: ${String(role)} is not known.`);
    demand(typeof content === "string", "json: cannot unmarshal object into Go struct field ChatRequest.messages.content of type string");
    if (images !== undefined) demand(Array.isArray(images) && images.every((image) => typeof image === "string"), `${place}.images`);
    if (role === "tool") {
      const at = open.indexOf(textAt(tool_name, `${place}.tool_name`));
      demand(at >= 0, `${place}: no call of ${String(tool_name)} waits for a result.`);
      open.splice(at, 1);
      continue;
    }
    demand(open.length === 0, `${place}: calls are without results: ${open.join(", ")}.`);
    demand(role !== "assistant" || tool_calls !== undefined || content.trim() !== "", `${place}: says nothing.`);
    open = (tool_calls === undefined ? [] : objectsAt(tool_calls, `${place}.tool_calls`)).map((call) => checkCall(call, place));
  }
  demand(open.length === 0, `messages: calls are without results: ${open.join(", ")}.`);
}

function checkCall(call: JsonObject, place: string): string {
  const { name, arguments: input } = objectAt(call["function"], `${place}.function`);
  demand(
    isJsonObject(input),
    "json: cannot unmarshal string into Go struct field ToolCallFunction.arguments of type api.ToolCallFunctionArguments",
  );
  return checkToolName(name, `${place}.function.name`);
}

function head({ model }: WholeReply): JsonObject {
  return { model, created_at: "2026-01-01T00:00:00Z" };
}

function message({ text, reasoning, calls }: WholeReply): JsonObject {
  return {
    content: text,
    ...(reasoning === "" ? {} : { thinking: reasoning }),
    ...(calls.length === 0
      ? {}
      : { tool_calls: calls.map(({ id, name, input }, index) => ({ id, function: { index, name, arguments: input } })) }),
  };
}

function end({ finish, inputTokens, outputTokens }: WholeReply): JsonObject {
  return { done: true, done_reason: finish === "length" ? "length" : "stop", prompt_eval_count: inputTokens, eval_count: outputTokens };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  const line = (fields: JsonObject): ServedPiece => ({ data: { ...head(reply), message: { role: "assistant", ...fields }, done: false } });
  return [
    ...cut(reply.reasoning).map((thinking) => line({ content: "", thinking })),
    ...cut(reply.text).map((content) => line({ content })),
    ...(reply.calls.length === 0 ? [] : [line(message({ ...reply, text: "", reasoning: "" }))]),
    { data: { ...head(reply), message: { role: "assistant", content: "" }, ...end(reply) } },
  ];
}
