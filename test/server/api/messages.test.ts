/** Whole messages of models over HTTP: their calls are run, and answered in the form of the provider. */
import { ToolOutput, defineTool, type ContentPart } from "haft";
import { createClient } from "haft/client";
import { expect, test } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";

const args = { text: "Buy milk" };
const written = JSON.stringify(args);
const result = { added: "Buy milk" };
const said = JSON.stringify(result);
const toolCall = { id: "a", type: "function", function: { name: "notes__add", arguments: written } };

const CASES: readonly (readonly [format: string, message: unknown, answers: readonly unknown[]])[] = [
  ["openai-chat", { role: "assistant", content: null, tool_calls: [toolCall] }, [{ role: "tool", tool_call_id: "a", content: said }]],
  [
    "openai-responses",
    [{ type: "function_call", call_id: "a", name: "notes__add", arguments: written }],
    [{ type: "function_call_output", call_id: "a", output: said }],
  ],
  [
    "anthropic-messages",
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "notes__add", input: args }] },
    [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: said }] }],
  ],
  [
    "gemini",
    { role: "model", parts: [{ functionCall: { name: "notes__add", args } }] },
    [{ role: "user", parts: [{ functionResponse: { name: "notes__add", response: { output: result } } }] }],
  ],
  [
    "gemini-interactions",
    { type: "function_call", id: "a", name: "notes__add", arguments: args },
    [{ type: "function_result", call_id: "a", name: "notes__add", result: said }],
  ],
  ["mistral", { role: "assistant", tool_calls: [toolCall] }, [{ role: "tool", tool_call_id: "a", name: "notes__add", content: said }]],
  [
    "cohere",
    { role: "assistant", tool_calls: [toolCall] },
    [{ role: "tool", tool_call_id: "a", content: [{ type: "document", document: { data: result } }] }],
  ],
  [
    "ollama",
    { role: "assistant", content: "", tool_calls: [{ function: { name: "notes__add", arguments: args } }] },
    [{ role: "tool", tool_name: "notes__add", content: said }],
  ],
  [
    "bedrock-converse",
    { role: "assistant", content: [{ toolUse: { toolUseId: "a", name: "notes__add", input: args } }] },
    [{ role: "user", content: [{ toolResult: { toolUseId: "a", content: [{ json: result }], status: "success" } }] }],
  ],
  [
    "text:hermes",
    `<tool_call>\n{"name": "notes__add", "arguments": ${written}}\n</tool_call>`,
    [{ role: "user", content: `<tool_response>\n{"added": "Buy milk"}\n</tool_response>` }],
  ],
];

test.each(CASES)("issue 19.2 a message of %s is executed, and answered in the same format", async (format, message, answers) => {
  const api = await startApi({ store: "none" });
  const { status, json } = await api.ask("POST", "/v1/execute", { body: { message, format } });
  expect({ status, messages: json.messages, outputs: json.results?.map(({ output }: { readonly output: unknown }) => output) }).toEqual({
    status: 200,
    messages: answers,
    outputs: [result],
  });
  expect(api.added).toEqual(["Buy milk"]);
});

test("images that a provider would refuse, and so every later request, are not in the answer to a message", async () => {
  const api = await startApi({ store: "none" });
  const content: readonly ContentPart[] = [
    { type: "image", mediaType: "image/png", data: "not base64!" },
    { type: "image", mediaType: "image/png", data: "/9j/4AAQ" },
  ];
  const draw = defineTool({ name: "draw", description: "Draws.", execute: () => new ToolOutput({ content }) });
  api.runtime.registry.register(draw);
  const message = { role: "assistant", content: [{ type: "tool_use", id: "a", name: "draw", input: {} }] };
  const { json } = await api.ask("POST", "/v1/execute", { body: { message, format: "anthropic-messages" } });
  expect(json.messages[0].content[0].content).toEqual([
    { type: "text", text: expect.stringContaining("not shown: its bytes are not an image of this type") },
    { type: "image", source: { type: "base64", media_type: "image/jpeg", data: "/9j/4AAQ" } },
  ]);
  expect(json.results[0].content).toEqual(content);
});

test("issue 19.2 a message can also be simulated, waited for, and executed once with a key", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  await client.call("createSession", { body: { id: "trip" } });
  const params = { sessionId: "trip" };
  const body = { message: { role: "model", parts: [{ functionCall: { name: "notes__add", args } }] }, format: "gemini" };
  const simulated = await client.call("simulateInSession", { params, body });
  expect(simulated.messages).toHaveLength(1);
  expect(api.added).toEqual([]);
  const first = await client.call("executeInSession", { params, body: { ...body, waitMs: 0 }, idempotencyKey: "one" });
  const again = await client.call("executeInSession", { params, body: { ...body, waitMs: 0 }, idempotencyKey: "one" });
  expect(first.messages).toEqual([{ role: "user", parts: [{ functionResponse: { name: "notes__add", response: { output: result } } }] }]);
  expect(again).toEqual(first);
  expect(api.added).toEqual(["Buy milk"]);
});

test.each([
  ["neither calls nor a message", {}, "either calls, or a message"],
  ["both", { calls: [{ name: "notes::add" }], message: "x", format: "openai-chat" }, "either calls, or a message"],
  ["a message without its format", { message: {} }, "either calls, or a message"],
  ["a format that is not there", { message: "x", format: "openai" }, "$.format"],
  ["a text format that is not there", { message: "x", format: "text:hermess" }, "There is no text format"],
  [
    "a message of another form",
    { message: { content: "x" }, format: "anthropic-messages" },
    "The message is not in the format anthropic-messages",
  ],
  ["a text that is none", { message: { content: [] }, format: "text:hermes" }, "is a string"],
  [
    "a message that was cut",
    {
      message: { role: "assistant", content: [{ type: "tool_use", id: "a", name: "notes__add", input: args }], stop_reason: "max_tokens" },
      format: "anthropic-messages",
    },
    "The message is incomplete (max_tokens)",
  ],
])("issue 19.2 %s is rejected, and nothing runs", async (_what, body, message) => {
  const api = await startApi({ store: "none" });
  const { status, json } = await api.ask("POST", "/v1/execute", { body });
  expect({ status, detail: json.detail }).toEqual({ status: 400, detail: expect.stringContaining(message) });
  expect(api.added).toEqual([]);
});

test("issue 19.2 any two sessions can be compared: the state of both, and the calls that only one has", async () => {
  const api = await startApi();
  const client = createClient({ url: api.url, token: TOKEN });
  const add = (sessionId: string, text: string) =>
    client.call("executeInSession", { params: { sessionId }, body: { calls: [{ name: "notes::add", input: { text } }] } });
  await client.call("createSession", { body: { id: "one" } });
  await add("one", "shared");
  await client.call("forkSession", { params: { sessionId: "one" }, body: { id: "two" } });
  await add("one", "one only");
  await add("two", "two only");
  await add("two", "two again");
  const diff = await client.call("getDiff", { params: { sessionId: "two" }, query: { with: "one" } });
  expect(diff.state).toMatchObject([{ toolset: "notes", key: "count", before: 2, after: 3 }]);
  expect(diff.calls.map(({ call }) => call.input)).toEqual([{ text: "two only" }, { text: "two again" }]);
  await client.call("createSession", { body: { id: "other" } });
  const whole = await client.call("getDiff", { params: { sessionId: "one" }, query: { with: "other" } });
  expect(whole.state).toMatchObject([{ key: "count", after: 2 }]);
  expect(whole.calls.map(({ call }) => call.input)).toEqual([{ text: "shared" }, { text: "one only" }]);
  await expect(client.call("getDiff", { params: { sessionId: "one" }, query: { with: "nowhere" } })).rejects.toMatchObject({ status: 404 });
  await expect(client.call("getDiff", { params: { sessionId: "one" } })).rejects.toMatchObject({ status: 409 });
});
