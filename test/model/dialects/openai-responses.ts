/** A fake provider of OpenAI's Responses. */
import { isJsonArray, isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { OpenCalls, checkSchema, checkToolName, cut, demand, objectsAt, textAt } from "./dialect.ts";
import type { CheckedRequest, Dialect, ServedPiece, WholeReply } from "./dialect.ts";
import { checkOpenAiFormat } from "./reply-format.ts";

export const OPENAI_RESPONSES: Dialect = {
  framing: "sse",
  isPath: (path) => path === "/responses",
  isStream: ({ body }) => body["stream"] === true,
  modelOf: ({ body }) => textAt(body["model"], "model"),
  check,
  callId: (count) => `call_r${String(count).padStart(7, "0")}`,
  whole: (reply) => response(reply, outputOf(reply), reply.finish === "length" ? "incomplete" : "completed"),
  pieces,
  failure: (status, message, kind) => ({
    error: { message, type: kind, param: null, code: status === 429 ? "rate_limit_exceeded" : null },
  }),
};

function check({ body, signatures }: CheckedRequest): void {
  textAt(body["model"], "model");
  checkTools(body);
  const { input, text } = body;
  if (isJsonObject(text) && text["format"] !== undefined) checkOpenAiFormat(text["format"], input ?? null, false);
  demand(body["n"] === undefined, "Unknown parameter: 'n'.");
  if (typeof input === "string") return;
  const open = new OpenCalls();
  const proofs = new Set<string>();
  const items = objectsAt(input, "input");
  demand(items.length > 0, "input: at least one item is required.");
  for (const [index, item] of items.entries()) {
    const place = `input[${index}]`;
    const { type = "message" } = item;
    if (type === "reasoning") {
      proofs.add(textAt(item["encrypted_content"], `${place}.encrypted_content`));
      const next = items[index + 1];
      demand(
        next?.["role"] === "assistant" || next?.["type"] === "function_call",
        `${place}: Item of type 'reasoning' was provided without its required following item.`,
      );
    } else if (type === "function_call") {
      const id = textAt(item["call_id"], `${place}.call_id`);
      checkToolName(item["name"], `${place}.name`);
      JSON.parse(textAt(item["arguments"], `${place}.arguments`));
      open.make(id, place);
      const proof = signatures.get(id);
      demand(proof === undefined || proofs.has(proof), `${place}: the function_call was provided without its required reasoning item.`);
    } else if (type === "function_call_output") {
      demand(typeof item["output"] === "string" || isJsonArray(item["output"]), `${place}.output: is required.`);
      open.answer(textAt(item["call_id"], `${place}.call_id`), place);
    } else checkMessage(item, place);
  }
  open.settle("input");
}

function checkTools(body: JsonObject): void {
  const tools = body["tools"] === undefined ? [] : objectsAt(body["tools"], "tools");
  for (const [index, tool] of tools.entries()) {
    demand(tool["type"] === "function", `tools[${index}].type: must be "function".`);
    checkToolName(tool["name"], `tools[${index}].name`);
    checkSchema(tool["parameters"], `tools[${index}].parameters`);
  }
}

function checkMessage({ type = "message", role, content }: JsonObject, place: string): void {
  demand(type === "message", `${place}.type: ${JSON.stringify(type)} is not known.`);
  demand(
    ["user", "system", "developer", "assistant"].includes(String(role)),
    `${place}.role: ${JSON.stringify(role)} is not one of the roles.`,
  );
  if (typeof content === "string") return;
  const allowed = role === "assistant" ? ["output_text", "refusal"] : ["input_text", "input_image", "input_file"];
  for (const part of objectsAt(content, `${place}.content`))
    demand(allowed.includes(String(part["type"])), `${place}.content.type: ${JSON.stringify(part["type"])} is not allowed here.`);
}

function outputOf({ id, text, reasoning, signature, calls }: WholeReply): readonly JsonObject[] {
  return [
    ...(reasoning === ""
      ? []
      : [{ type: "reasoning", id: `rs_${id}`, summary: [{ type: "summary_text", text: reasoning }], encrypted_content: signature }]),
    ...(text === ""
      ? []
      : [
          {
            type: "message",
            id: `msg_${id}`,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text, annotations: [] }],
          },
        ]),
    ...calls.map(({ id: call_id, name, input }) => ({
      type: "function_call",
      id: `fc_${call_id}`,
      call_id,
      name,
      arguments: JSON.stringify(input),
      status: "completed",
    })),
  ];
}

function response(reply: WholeReply, output: readonly JsonObject[], status: string): JsonObject {
  const { id, model, inputTokens: input_tokens, outputTokens: output_tokens } = reply;
  return {
    id: `resp_${id}`,
    object: "response",
    model,
    status,
    output,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    usage: { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens },
  };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  const output = outputOf(reply);
  const status = reply.finish === "length" ? "incomplete" : "completed";
  const events: JsonObject[] = [
    { type: "response.created", response: response(reply, [], "in_progress") },
    ...output.flatMap((item, output_index) => itemEvents(item, output_index)),
    { type: `response.${status}`, response: response(reply, output, status) },
  ];
  return events.map((event, sequence_number) => ({ event: String(event["type"]), data: { ...event, sequence_number } }));
}

function itemEvents(item: JsonObject, output_index: number): readonly JsonObject[] {
  const place = { item_id: item["id"] ?? "", output_index };
  const begin = (fields: JsonObject): JsonObject => ({ type: "response.output_item.added", output_index, item: { ...item, ...fields } });
  const done = { type: "response.output_item.done", output_index, item };
  if (item["type"] === "function_call") {
    const deltas = cut(String(item["arguments"])).map((delta) => ({ type: "response.function_call_arguments.delta", ...place, delta }));
    const whole = { type: "response.function_call_arguments.done", ...place, arguments: item["arguments"] ?? "" };
    return [begin({ arguments: "", status: "in_progress" }), ...deltas, whole, done];
  }
  const [part] = objectsAt(item["content"] ?? item["summary"], "item");
  const type = item["type"] === "message" ? "response.output_text.delta" : "response.reasoning_summary_text.delta";
  const key = item["type"] === "message" ? { content_index: 0 } : { summary_index: 0 };
  const deltas = cut(String(part?.["text"])).map((delta) => ({ type, ...place, ...key, delta }));
  return [begin(item["type"] === "message" ? { content: [], status: "in_progress" } : { summary: [] }), ...deltas, done];
}
