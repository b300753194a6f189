/** A fake provider of Bedrock's Converse. */
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
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

const PATH = /^\/model\/([^/]+)\/converse(-stream)?$/u;

export const BEDROCK_CONVERSE: Dialect = {
  framing: "event-stream",
  isPath: (path) => PATH.test(path),
  isStream: ({ path }) => PATH.exec(path)?.[2] === "-stream",
  modelOf: ({ path }) => decodeURIComponent(PATH.exec(path)?.[1] ?? ""),
  check,
  callId: (count) => `tooluse_${String(count).padStart(8, "0")}`,
  whole: (reply) => ({
    output: { message: { role: "assistant", content: blocks(reply) } },
    stopReason: stopReason(reply),
    usage: usageOf(reply),
    metrics: { latencyMs: 1 },
  }),
  pieces,
  failure: (_status, message) => ({ message }),
};

function check({ body, path, signatures }: CheckedRequest): void {
  demand(body["model"] === undefined && body["stream"] === undefined, "Malformed input request: extraneous key is not permitted.");
  const hasTools = checkTools(body, path.includes("claude"));
  checkOutput(body);
  const messages = objectsAt(body["messages"], "messages");
  demand(messages[0]?.["role"] === "user", "A conversation must start with a user message.");
  const open = new OpenCalls();
  for (const [index, { role, content }] of messages.entries()) {
    const place = `messages.${index}`;
    demand(role === "user" || role === "assistant", `${place}.role: must be user or assistant.`);
    const all = objectsAt(content, `${place}.content`);
    demand(all.length > 0, `The content field in the Message object at ${place} is empty.`);
    if (role === "assistant") {
      open.settle(place);
      checkEnd(all, place, index === messages.length - 1);
    }
    for (const block of all) checkBlock(block, { place, role, open, hasTools, signatures, first: all[0] });
    if (role === "user") open.settle(place);
  }
  open.settle("messages");
  checkTurns(
    messages.map(({ role }) => role),
    isSearch(objectsAt(messages.at(-1)?.["content"], "messages").at(-1)),
  );
}

function isSearch(block: JsonObject | undefined): boolean {
  return isJsonObject(block?.["toolUse"]) && block["toolUse"]["type"] === "server_tool_use";
}

function checkEnd(content: readonly JsonObject[], place: string, isLast: boolean): void {
  demand(content.at(-1)?.["reasoningContent"] === undefined, `${place}: The final block in an assistant message cannot be \`thinking\`.`);
  const answered = new Set(content.map(({ toolResult }) => isJsonObject(toolResult) && toolResult["toolUseId"]));
  for (const block of content) {
    const id = isSearch(block) && isJsonObject(block["toolUse"]) ? block["toolUse"]["toolUseId"] : undefined;
    demand(isLast || id === undefined || answered.has(id), `${place}: the tool use ${String(id)} has no result.`);
  }
}

function checkOutput({ outputConfig }: JsonObject): void {
  if (outputConfig === undefined) return;
  const { type, structure } = objectAt(objectAt(outputConfig, "outputConfig")["textFormat"], "outputConfig.textFormat");
  demand(type === "json_schema", "outputConfig.textFormat.type: must be json_schema.");
  const { schema, name } = objectAt(objectAt(structure, "structure")["jsonSchema"], "structure.jsonSchema");
  demand(/^[a-zA-Z0-9_-]{1,64}$/u.test(textAt(name, "jsonSchema.name")), "jsonSchema.name: does not match the pattern.");
  const parsed: unknown = JSON.parse(textAt(schema, "jsonSchema.schema"));
  demand(isJsonObject(parsed), "jsonSchema.schema: must be an object.");
  checkSchema(parsed, "jsonSchema.schema");
  checkHeld(parsed, false);
}

function checkTools(body: JsonObject, isClaude: boolean): boolean {
  if (body["toolConfig"] === undefined) return false;
  const tools = objectsAt(objectAt(body["toolConfig"], "toolConfig")["tools"], "toolConfig.tools");
  demand(tools.length > 0, "toolConfig.tools: must have length greater than or equal to 1.");
  for (const tool of tools) {
    const { name, description, inputSchema } = objectAt(tool["toolSpec"], "toolConfig.tools.toolSpec");
    checkToolName(name, "toolSpec.name");
    demand(description === undefined || description !== "", "toolSpec.description: must have length greater than or equal to 1.");
    const schema = objectAt(inputSchema, "toolSpec.inputSchema")["json"];
    checkSchema(schema, "toolSpec.inputSchema.json");
    if (isClaude) checkArgumentNames(schema, "toolSpec.inputSchema.json");
  }
  return true;
}

interface BlockCheck {
  readonly place: string;
  readonly role: string;
  readonly open: OpenCalls;
  readonly hasTools: boolean;
  readonly signatures: ReadonlyMap<string, string>;
  readonly first: JsonObject | undefined;
}

function checkBlock(block: JsonObject, { place, role, open, hasTools, signatures, first }: BlockCheck): void {
  const [kind = "", ...others] = Object.keys(block);
  demand(others.length === 0, `${place}: a content block has one key.`);
  const allowed = role === "user" ? ["text", "image", "document", "toolResult"] : ["text", "toolUse", "toolResult", "reasoningContent"];
  demand(allowed.includes(kind), `${place}: ${kind} is not allowed for the role ${role}.`);
  if (kind === "text") demand(String(block["text"]).trim() !== "", `The text field in the ContentBlock object at ${place} is blank.`);
  if (isSearch(block) || (role === "assistant" && kind === "toolResult")) return;
  const value = isJsonObject(block[kind]) ? block[kind] : {};
  if (kind === "image") textAt(objectAt(value["source"], `${place}.image.source`)["bytes"], `${place}.image.source.bytes`);
  if (kind === "toolUse" || kind === "toolResult")
    demand(hasTools, "The toolConfig field must be defined when using toolUse and toolResult content blocks.");
  if (kind === "toolResult") {
    demand(objectsAt(value["content"], `${place}.toolResult.content`).length > 0, `${place}.toolResult.content is empty.`);
    open.answer(textAt(value["toolUseId"], place), place);
  }
  if (kind !== "toolUse") return;
  const id = textAt(value["toolUseId"], `${place}.toolUse.toolUseId`);
  demand(/^[a-zA-Z0-9_-]{1,64}$/u.test(id), `${place}.toolUse.toolUseId: must satisfy [a-zA-Z0-9_-]+.`);
  checkToolName(value["name"], `${place}.toolUse.name`);
  objectAt(value["input"], `${place}.toolUse.input`);
  open.make(id, place);
  const proof = signatures.get(id);
  demand(proof === undefined || JSON.stringify(first ?? {}).includes(proof), `${place}: Expected thinking before toolUse.`);
}

function blocks({ text, reasoning, signature, calls }: WholeReply): readonly JsonObject[] {
  return [
    ...(reasoning === "" ? [] : [{ reasoningContent: { reasoningText: { text: reasoning, signature } } }]),
    ...(text === "" ? [] : [{ text }]),
    ...calls.map(({ id: toolUseId, name, input }) => ({ toolUse: { toolUseId, name, input } })),
  ];
}

function stopReason({ finish }: WholeReply): string {
  return { stop: "end_turn", calls: "tool_use", length: "max_tokens" }[finish];
}

function usageOf({ inputTokens, outputTokens }: WholeReply): JsonObject {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  return [
    { event: "messageStart", data: { role: "assistant", p: "abc" } },
    ...blocks(reply).flatMap((block, index) => blockEvents(block, index)),
    { event: "messageStop", data: { stopReason: stopReason(reply) } },
    { event: "metadata", data: { usage: usageOf(reply), metrics: { latencyMs: 1 } } },
  ];
}

function blockEvents({ text, toolUse, reasoningContent }: JsonObject, contentBlockIndex: number): readonly ServedPiece[] {
  const delta = (fields: JsonObject): ServedPiece => ({ event: "contentBlockDelta", data: { contentBlockIndex, delta: fields } });
  const stop: ServedPiece = { event: "contentBlockStop", data: { contentBlockIndex } };
  if (typeof text === "string") return [...cut(text).map((piece) => delta({ text: piece })), stop];
  if (isJsonObject(reasoningContent)) {
    const { text: thought, signature } = objectAt(reasoningContent["reasoningText"], "reasoningText");
    const thoughts = cut(String(thought)).map((piece) => delta({ reasoningContent: { text: piece } }));
    return [...thoughts, delta({ reasoningContent: { signature: signature ?? "" } }), stop];
  }
  const { toolUseId = "", name = "", input = {} } = objectAt(toolUse, "toolUse");
  const start: ServedPiece = { event: "contentBlockStart", data: { contentBlockIndex, start: { toolUse: { toolUseId, name } } } };
  return [start, ...cut(JSON.stringify(input)).map((piece) => delta({ toolUse: { input: piece } })), stop];
}
