import { expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { PICTURE, answered, called, said } from "./conversations.ts";

const format = mistral();

test("F4.22 ids of other providers become nine letters and digits, the same for call and result and in later requests", () => {
  const first = [said("user", "Look."), called("a", "look", { id: "call_abc123" }), answered("a", "look", { output: 1 })];
  const second = [called("b", "look", { id: "Kx3_9vPq2", turnId: "t2" }), answered("b", "look", { output: 2 })];
  const third = [called("c", "look", { id: "D681PevKs", turnId: "t3" }), answered("c", "look", { output: 3 })];
  const messages = format.encodeMessages([...first, ...second, ...third]).messages;
  const made = messages.flatMap(({ tool_calls: calls = [] }) => (calls as readonly JsonObject[]).map(({ id }) => id));
  const answeredIds = messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
  expect(made).toEqual([expect.stringMatching(/^[A-Za-z0-9]{9}$/u), expect.stringMatching(/^[A-Za-z0-9]{9}$/u), "D681PevKs"]);
  expect(new Set(made).size).toBe(3);
  expect(answeredIds).toEqual(made);
  expect(messages.slice(0, 3)).toEqual(format.encodeMessages(first).messages);
});

test("F4.22 calls that share one id get different ids", () => {
  const messages = format.encodeMessages([
    called("a", "look", { id: "D681PevKs" }),
    answered("a", "look"),
    called("b", "look", { id: "D681PevKs", turnId: "t2" }),
    answered("b", "look"),
  ]).messages;
  expect(new Set(messages.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]))).size).toBe(2);
});

test("F4.18 results name their tool and include images, and a user message follows an inserted assistant message", () => {
  const messages = [
    said("user", "Look."),
    called("a", "eyes::look", { id: "D681PevKs" }),
    answered("a", "eyes::look", { content: [{ type: "text", text: "Here:" }, PICTURE] }),
    said("user", "And now?"),
  ];
  expect(format.encodeMessages(messages).messages.slice(2)).toEqual([
    {
      role: "tool",
      tool_call_id: "D681PevKs",
      name: "eyes__look",
      content: [
        { type: "text", text: "Here:\n[image image/png]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
      ],
    },
    { role: "assistant", content: "(The results are read.)" },
    { role: "user", content: "And now?" },
  ]);
});

test("F4.18 thinking is sent back as chunks with the calls it led to", () => {
  const tool_calls = [{ id: "D681PevKs", type: "function", function: { name: "look", arguments: '{"at":"it"}' } }];
  const content = [
    { type: "thinking", thinking: [{ type: "text", text: "Hm." }] },
    { type: "text", text: "I look." },
  ];
  const { calls, text, reasoning, native } = format.decodeReply({
    choices: [{ message: { content, tool_calls }, finish_reason: "tool_calls" }],
  });
  expect({ calls, text, reasoning }).toEqual({
    calls: [{ id: "D681PevKs", name: "look", input: { at: "it" } }],
    text: "I look.",
    reasoning: "Hm.",
  });
  const history = [
    said("user", "Look."),
    { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) } as const,
    called("c", "look", { id: "D681PevKs", input: { at: "it" } }),
  ];
  expect(format.encodeMessages(history).messages[1]).toEqual({ role: "assistant", content, tool_calls });
});

test("F4.16 a request uses Mistral's value for a required call, and does not request usage", () => {
  const tools = [{ name: "look", description: "Looks.", inputSchema: true as const }];
  expect(
    format.encodeRequest({ messages: [said("user", "Look.")], tools, toolChoice: "required", maxOutputTokens: 7 }, { model: "m" }).body,
  ).toEqual({
    model: "m",
    messages: [{ role: "user", content: "Look." }],
    tools: [{ type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } } }],
    tool_choice: "any",
    max_tokens: 7,
    stream: true,
  });
});

/** `AudioChunk` of @mistralai/mistralai 2.7.0. */
test("audio is sent as plain base64 text", () => {
  const sound = { type: "audio", mediaType: "audio/mpeg", data: "SUQz" } as const;
  expect(format.encodeMessages([said("user", [sound])]).messages).toEqual([
    { role: "user", content: [{ type: "input_audio", input_audio: "SUQz" }] },
  ]);
});
