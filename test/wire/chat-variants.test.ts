import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelReply } from "../../src/core/model.ts";
import { CHAT_VARIANTS, PLAIN_CHAT, chatVariant } from "../../src/wire/chat-variants.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { allEvents, replyOf } from "./recorded-cases.ts";
import { CONVERSATION, PICTURE, answered, called, said } from "./conversations.ts";

const CALL = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
const body = (message: JsonObject): JsonObject => ({
  choices: [{ message: { role: "assistant", ...message }, finish_reason: "tool_calls" }],
});
const historyOf = ({ text, native, calls }: ModelReply): readonly ModelMessage[] => [
  { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
  ...calls.flatMap(({ id, name, input }, index) => [
    { ...called(`c${index}`, name), call: { ...(id === undefined ? {} : { id }), name, input } },
    answered(`c${index}`, name, { output: true }),
  ]),
];

describe("F4.16 variants of Chat Completions", () => {
  test("an unknown provider name uses plain Chat Completions, even a name of Object.prototype", () => {
    expect([chatVariant("nobody"), chatVariant("__proto__"), chatVariant("constructor")]).toEqual([PLAIN_CHAT, PLAIN_CHAT, PLAIN_CHAT]);
  });
  test("aliases of a provider select the same variant", () => {
    expect([chatVariant("kimi"), chatVariant("grok")]).toEqual([chatVariant("moonshot"), chatVariant("xai")]);
  });
  test.each(CHAT_VARIANTS)("%s encodes and decodes a conversation", (name) => {
    const format = openAiChat(name);
    const tools = [{ name: "look", description: "", inputSchema: true as const }];
    const { body: sent } = format.encodeRequest({ messages: CONVERSATION, tools, maxOutputTokens: 5 }, { model: "m" });
    expect(sent).toMatchObject({ model: "m", stream: true, tools: [{ type: "function", function: { name: "look" } }] });
    const { calls, finish } = format.decodeReply(body({ content: null, reasoning: "Hm.", tool_calls: [CALL] }));
    expect({ calls, finish }).toEqual({ calls: [{ id: "call_1", name: "look", input: {} }], finish: "calls" });
  });
  test("fields that a provider does not accept are omitted, with a note", () => {
    const { body: sent, notes } = openAiChat("deepseek").encodeRequest({ messages: [], tools: [], parallelCalls: true }, { model: "m" });
    expect(sent).toEqual({ model: "m", messages: [], stream: true, stream_options: { include_usage: true } });
    expect(notes.map(({ kind }) => kind)).toEqual(["unsupported"]);
    expect(openAiChat("deepseek").encodeMessages([said("user", [{ type: "text", text: "See:" }, PICTURE])]).messages).toEqual([
      { role: "user", content: "See:\n[image image/png]" },
    ]);
  });
  test("a custom variant is used as given", () => {
    const own = openAiChat({ ...PLAIN_CHAT, name: "openai-chat:own", path: "/v9/chat", systemRole: "developer" });
    expect(own.path({ model: "m" })).toBe("/v9/chat");
    expect(own.encodeRequest({ system: "Hi", messages: [] }, { model: "m", stream: false }).body).toEqual({
      model: "m",
      messages: [{ role: "developer", content: "Hi" }],
    });
  });
});

describe("F0.41 a system text with the role developer", () => {
  const asking = { system: "Play.", systemRole: "developer", messages: [said("user", "Hi")] } as const;
  const sent = (format: WireFormat): string => JSON.stringify(format.encodeRequest(asking, { model: "gpt-5", stream: false }).body);

  test("is sent with that role to OpenAI", () => {
    expect(sent(openAiChat())).toBe('{"model":"gpt-5","messages":[{"role":"developer","content":"Play."},{"role":"user","content":"Hi"}]}');
  });

  const others = CHAT_VARIANTS.filter((name) => name !== "openai").map((name) => [name, openAiChat(name)] as const);
  test.each([...others, ["openai-compatible", openAiChat("openai-compatible")] as const])(
    "is sent with the role system to %s",
    (_name, format) => {
      expect(sent(format)).toContain('[{"role":"system","content":"Play."}');
    },
  );

  const formats = [openAiResponses(), anthropicMessages(), gemini(), geminiInteractions(), bedrockConverse(), cohere(), ollama()];
  test.each(formats.map((format) => [format.name, format] as const))(
    "does not change a request of %s, whose system text has no role",
    (_name, format) => {
      const { system, messages } = asking;
      expect(sent(format)).toBe(JSON.stringify(format.encodeRequest({ system, messages }, { model: "gpt-5", stream: false }).body));
    },
  );
});

describe("F4.18 reasoning is sent back in its provider's form, and to no other provider", () => {
  test("DeepSeek's reasoning is sent only with the calls it led to", () => {
    const format = openAiChat("deepseek");
    const reply = format.decodeReply(body({ content: "I look.", reasoning_content: "Hm.", tool_calls: [CALL] }));
    expect(format.encodeMessages(historyOf(reply)).messages).toEqual([
      { role: "assistant", content: "I look.", reasoning_content: "Hm.", tool_calls: [CALL] },
      { role: "tool", tool_call_id: "call_1", content: "true" },
    ]);
    expect(openAiChat().encodeMessages(historyOf(reply)).messages).toEqual([
      { role: "assistant", content: "I look.", tool_calls: [CALL] },
      { role: "tool", tool_call_id: "call_1", content: "true" },
    ]);
    expect(format.decodeReply(body({ content: "Done.", reasoning_content: "Hm." })).native).toBeUndefined();
  });
  test("calls that the conversation no longer has are omitted from the message", () => {
    const format = openAiChat("deepseek");
    const other = { ...CALL, id: "call_2" };
    const reply = format.decodeReply(body({ content: null, reasoning_content: "Hm.", tool_calls: [CALL, other] }));
    expect(format.encodeMessages(historyOf(reply).slice(0, 3)).messages[0]).toEqual({
      role: "assistant",
      content: null,
      reasoning_content: "Hm.",
      tool_calls: [CALL],
    });
  });
  test("OpenRouter's reasoning_details are assembled from their chunks", () => {
    const format = openAiChat("openrouter");
    const detail = (index: number, fields: JsonObject): JsonObject => ({
      choices: [{ index: 0, delta: { reasoning_details: [{ type: "reasoning.text", index, ...fields }] } }],
    });
    const { native } = replyOf(
      allEvents(format, [
        detail(0, { text: "One ", signature: null }),
        detail(0, { text: "two." }),
        detail(0, { signature: "s1" }),
        detail(1, { text: "Three." }),
        { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" }] },
      ]),
    );
    expect(native).toEqual({
      format: "openai-chat:openrouter",
      blocks: [
        {
          role: "assistant",
          content: "Hi",
          reasoning_details: [
            { type: "reasoning.text", index: 0, text: "One two.", signature: "s1" },
            { type: "reasoning.text", index: 1, text: "Three." },
          ],
        },
      ],
    });
  });
  test("Gemini's signatures are sent back, with generated ids for calls that had none", () => {
    const format = openAiChat("gemini");
    const extra_content = { google: { thought_signature: "s" } };
    const reply = format.decodeReply(body({ tool_calls: [{ ...CALL, id: "", extra_content }] }));
    expect(reply.calls).toEqual([{ name: "look", input: {} }]);
    expect(format.encodeMessages(historyOf(reply)).messages).toEqual([
      { role: "assistant", content: null, tool_calls: [{ ...CALL, id: "c0", extra_content }] },
      { role: "tool", tool_call_id: "c0", content: "true" },
    ]);
  });
});
