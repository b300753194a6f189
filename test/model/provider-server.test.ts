import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { serve } from "./listen.ts";
import type { ServedFormat } from "./provider-server.ts";

const schema = { type: "object", properties: {} };
const chatTool = { type: "function", function: { name: "a", parameters: schema } };
const chatCall = {
  role: "assistant",
  content: null,
  tool_calls: [{ id: "call_0001", type: "function", function: { name: "a", arguments: "{}" } }],
};
const chatResult = { role: "tool", tool_call_id: "call_0001", content: "ok" };
const user = { role: "user", content: "Hi" };
const toolUse = { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "a", input: {} }] };
const anthropic = { model: "x", max_tokens: 1, tools: [{ name: "a", input_schema: schema }] };
const text = (role: string) => ({ role, content: [{ text: "Hi" }] });
const use = { role: "assistant", content: [{ toolUse: { toolUseId: "t1", name: "a", input: {} } }] };
const functionCall = { role: "model", parts: [{ functionCall: { name: "a", args: {} } }] };
const claude = (block: JsonObject): JsonObject => ({ role: "assistant", content: [block] });
const THOUGHT = { type: "thinking", thinking: "Hm.", signature: "s" };
const SEARCH = { type: "server_tool_use", id: "s1", name: "web_search", input: {} };
const mistralCall = { ...chatCall, tool_calls: [{ id: "call00001", type: "function", function: { name: "a", arguments: "{}" } }] };
const asked = { role: "user", parts: [{ text: "Hi" }] };

describe("the fake provider rejects what the real provider rejects", () => {
  const cases: readonly (readonly [string, ServedFormat, string, JsonObject, string])[] = [
    ["no messages", "openai-chat", "/chat/completions", { model: "x", messages: [] }, "at least one"],
    [
      "a call without its result",
      "openai-chat",
      "/chat/completions",
      { model: "x", messages: [user, chatCall, user], tools: [chatTool] },
      "have no results",
    ],
    [
      "a result without its call",
      "openai-chat",
      "/chat/completions",
      { model: "x", messages: [user, chatResult] },
      "no call call_0001 waits",
    ],
    [
      "a bad name",
      "openai-chat",
      "/chat/completions",
      { model: "x", messages: [user], tools: [{ ...chatTool, function: { name: "a::b", parameters: schema } }] },
      "does not match",
    ],
    ["an empty list of tools", "openai-chat", "/chat/completions", { model: "x", messages: [user], tools: [] }, "too short"],
    [
      "arguments that are no JSON",
      "openai-chat",
      "/chat/completions",
      { model: "x", messages: [{ ...chatCall, tool_calls: [{ id: "1", function: { name: "a", arguments: "{" } }] }] },
      "is not JSON",
    ],
    [
      "a long id",
      "mistral",
      "/chat/completions",
      { model: "x", messages: [user, { ...chatCall, tool_calls: [{ id: "call_0001_", function: { name: "a", arguments: "{}" } }] }] },
      "is not allowed",
    ],
    [
      "an output of nothing",
      "openai-responses",
      "/responses",
      { model: "x", input: [{ type: "function_call_output", call_id: "1", output: "" }] },
      "no call 1 waits",
    ],
    ["no limit", "anthropic-messages", "/messages", { model: "x", messages: [user] }, "max_tokens"],
    [
      "the assistant first",
      "anthropic-messages",
      "/messages",
      { ...anthropic, messages: [{ role: "assistant", content: "Hi" }] },
      "first message",
    ],
    ["no result next", "anthropic-messages", "/messages", { ...anthropic, messages: [user, toolUse, user] }, "have no results"],
    [
      "calls without tools",
      "anthropic-messages",
      "/messages",
      { model: "x", max_tokens: 1, messages: [user, toolUse] },
      "must define tools",
    ],
    ["empty text", "anthropic-messages", "/messages", { ...anthropic, messages: [{ role: "user", content: " " }] }, "must be non-empty"],
    [
      "a call without its response",
      "gemini",
      "/models/x:generateContent",
      { contents: [asked, functionCall, asked] },
      "number of function response parts",
    ],
    ["an empty part", "gemini", "/models/x:generateContent", { contents: [{ role: "user", parts: [{}] }] }, "oneof field"],
    ["two messages of the user", "bedrock-converse", "/model/x/converse", { messages: [text("user"), text("user")] }, "must alternate"],
    [
      "toolUse without toolConfig",
      "bedrock-converse",
      "/model/x/converse",
      { messages: [text("user"), use] },
      "toolConfig field must be defined",
    ],
    ["a result without its call", "cohere", "/v2/chat", { model: "x", messages: [user, chatResult] }, "no call call_0001 waits"],
    [
      "a question behind results",
      "mistral",
      "/chat/completions",
      { model: "x", messages: [user, mistralCall, { ...chatResult, tool_call_id: "call00001" }, user], tools: [chatTool] },
      "Unexpected role 'user' after role 'tool'",
    ],
    [
      "a late instruction",
      "mistral",
      "/chat/completions",
      { model: "x", messages: [user, { role: "assistant", content: "Hi" }, { role: "system", content: "Go on." }] },
      "Unexpected role 'system' after role 'assistant'",
    ],
    [
      "an answer last",
      "mistral",
      "/chat/completions",
      { model: "x", messages: [user, { role: "assistant", content: "Hi" }] },
      "Expected last role",
    ],
    [
      "an empty answer",
      "openai-chat",
      "/chat/completions",
      { model: "x", messages: [user, { role: "assistant", content: "" }, user] },
      "either content or tool_calls",
    ],
    [
      "reasoning alone",
      "openai-responses",
      "/responses",
      { model: "x", input: [user, { type: "reasoning", encrypted_content: "x" }, user] },
      "required following item",
    ],
    [
      "an answer last",
      "anthropic-messages",
      "/messages",
      { ...anthropic, messages: [user, claude({ type: "text", text: "Hi" })] },
      "prefill",
    ],
    ["a thought alone", "anthropic-messages", "/messages", { ...anthropic, messages: [user, claude(THOUGHT), user] }, "final block"],
    [
      "a search without its result",
      "anthropic-messages",
      "/messages",
      { ...anthropic, messages: [user, claude(SEARCH), user] },
      "without a",
    ],
    ["an answer last", "bedrock-converse", "/model/x/converse", { messages: [text("user"), text("assistant")] }, "prefill"],
    [
      "a thought alone",
      "bedrock-converse",
      "/model/x/converse",
      {
        messages: [text("user"), { role: "assistant", content: [{ reasoningContent: { reasoningText: { text: "Hm." } } }] }, text("user")],
      },
      "final block",
    ],
    [
      "an answer last",
      "gemini",
      "/models/x:generateContent",
      { contents: [asked, { role: "model", parts: [{ text: "Hi" }] }] },
      "end with a user role",
    ],
    [
      "an empty text",
      "gemini",
      "/models/x:generateContent",
      { contents: [asked, { role: "model", parts: [{ text: "" }] }, asked] },
      "oneof field",
    ],
    ["arguments as text", "ollama", "/api/chat", { model: "x", messages: [user, { ...chatCall, content: "" }] }, "cannot unmarshal string"],
  ];
  test.each(cases)("%s: %s", async (_what, format, path, body, message) => {
    const { url, requests } = await serve({ format, script: [{ text: "Hi" }] });
    const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
    const response = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    expect([response.status, await response.text(), requests[0]?.refused]).toEqual([
      400,
      expect.stringContaining(message),
      expect.stringContaining(message),
    ]);
  });
});
