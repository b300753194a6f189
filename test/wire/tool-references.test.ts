/** Results that refer to deferred tools, as a tool search of the program's own gives them to Claude. */
import { describe, expect, onTestFinished, test } from "vitest";
import { createLoop } from "../../src/compose/loop.ts";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { ToolError } from "../../src/core/error.ts";
import type { ModelTool } from "../../src/core/model.ts";
import type { ResultChange } from "../core/result-change.ts";
import type { Tool } from "../../src/core/tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import { toolServer } from "../compose/tool-server.ts";
import { answered, called, PICTURE, said } from "./conversations.ts";

const FORMAT = anthropicMessages();
const words = (name: string, fields: JsonObject = { defer_loading: true }): JsonObject => ({
  name,
  description: "",
  input_schema: { type: "object" },
  ...fields,
});
const inWords = (name: string, fields?: JsonObject): ModelTool => ({
  name,
  description: "",
  inputSchema: true,
  providers: { [FORMAT.name]: words(name, fields) },
});
const SEARCH: ModelTool = { name: "search", description: "", inputSchema: true };
const reference = (tool_name: string): JsonObject => ({ type: "tool_reference", tool_name });
const TOOLS = [SEARCH, inWords("weather"), inWords("time"), inWords("shown", {})];

function conversation(fields: ResultChange) {
  return [said("user", "Go"), called("c", "search", { id: "c" }), answered("c", "search", { id: "c", ...fields })];
}

/** The content of the tool's result in a request. */
function contentIn(fields: ResultChange, tools: readonly ModelTool[] = TOOLS, native: JsonObject = {}): JsonValue | undefined {
  const { body } = FORMAT.encodeRequest({ messages: conversation(fields), tools, native }, { model: "claude-opus-5" });
  return resultIn(body);
}

function resultIn({ messages = [] }: JsonObject): JsonValue | undefined {
  const [, , message] = messages as readonly { readonly content: readonly JsonObject[] }[];
  return message?.content[0]?.["content"];
}

describe("a result of references", () => {
  test("is sent as references to the tools that the request defers, in their order", () => {
    expect(contentIn({ output: [reference("time"), reference("weather")] })).toEqual([reference("time"), reference("weather")]);
    expect(contentIn({ output: [reference("gone"), reference("time"), reference("shown")] })).toEqual([reference("time")]);
    expect(contentIn({ output: [reference("own")] }, [SEARCH], { tools: [words("own")] })).toEqual([reference("own")]);
  });

  test("is text where the request offers none of them, or does not defer them", () => {
    const output = [reference("weather")];
    const text = JSON.stringify(output);
    expect(contentIn({ output }, [SEARCH])).toBe(text);
    expect(contentIn({ output }, [SEARCH, inWords("weather", { defer_loading: false })])).toBe(text);
    expect(contentIn({ output }, TOOLS, { tools: [words("other")] })).toBe(text);
  });

  test.each<JsonValue>([
    [],
    reference("weather"),
    [reference("weather"), "weather"],
    [reference("weather"), { type: "text", text: "and more" }],
    [{ type: "tool_reference" }],
    [{ type: "tool_reference", tool_name: 1 }],
    { tools: [reference("weather")] },
  ])("is text if it is anything else: %j", (output) => expect(contentIn({ output })).toBe(JSON.stringify(output)));

  test("is what the tool shows instead, where it has content or failed", () => {
    const output = [reference("weather")];
    expect(contentIn({ output, content: [{ type: "text", text: "Found." }] })).toBe("Found.");
    expect(contentIn({ output, content: [PICTURE] })).not.toContainEqual(reference("weather"));
    expect(contentIn({ output, status: "error", error: new ToolError("execution_failed", "No.").toJSON() })).toContain("No.");
  });

  test.each([openAiChat(), openAiResponses(), gemini(), bedrockConverse()])("is text elsewhere: $name", (format) => {
    const messages = conversation({ output: [reference("weather")] });
    const { body } = format.encodeRequest({ messages, tools: TOOLS }, { model: "m" });
    expect(JSON.stringify(body)).toMatch(/tool_reference\\*".{1,30}weather/u);
  });
});

test("a stored session sends references again, with the tools that each request has", async () => {
  const store = memoryStore();
  const weather = { ...inWords("weather"), execute: () => "sunny" } as unknown as Tool;
  const search: Tool = { name: "search", description: "", inputSchema: { type: "object" }, execute: () => [reference("weather")] };
  const reply = (content: readonly JsonObject[], stop_reason: string): JsonObject => ({
    id: "m",
    type: "message",
    role: "assistant",
    model: "claude-opus-5",
    content,
    stop_reason,
    usage: { input_tokens: 1, output_tokens: 1 },
  });
  const replies = [
    reply([{ type: "tool_use", id: "toolu_1", name: "search", input: {} }], "tool_use"),
    reply([{ type: "text", text: "Found." }], "end_turn"),
  ];
  const sent: unknown[] = [];
  for (const tools of [[search, weather], [search, weather], [search]]) {
    const runtime = createRuntime({ tools, store });
    onTestFinished(async () => void (await runtime.close()));
    const { model, bodies } = await toolServer({
      format: FORMAT,
      model: "claude-opus-5",
      replies: sent.length === 0 ? replies : replies.slice(1),
    });
    const session = sent.length === 0 ? runtime.session("s") : await runtime.resume("s");
    await createLoop({ model, session }).run("What is the weather?");
    sent.push(resultIn(bodies.at(-1) ?? {}));
    await runtime.sessions.handOver("s");
  }
  expect(sent).toEqual([[reference("weather")], [reference("weather")], JSON.stringify([reference("weather")])]);
});
