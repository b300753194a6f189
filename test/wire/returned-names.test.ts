/** A model may call what no tool can be named: the name must not go back, or the provider refuses the conversation for good. */
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { called, failed, said } from "./conversations.ts";

const chatCall = (name: JsonValue): JsonObject => ({ id: "abcdefghi", type: "function", function: { name, arguments: "{}" } });
const chat = (thought: JsonObject, name: JsonValue): JsonObject => ({
  choices: [{ message: { role: "assistant", ...thought, tool_calls: [chatCall(name)] }, finish_reason: "tool_calls" }],
});

/** Messages that go back as they came, as they hold reasoning. */
const FORMATS: readonly (readonly [name: string, format: WireFormat, reply: (name: JsonValue) => JsonObject])[] = [
  [
    "bedrock",
    bedrockConverse(),
    (name) => ({
      output: {
        message: {
          content: [{ reasoningContent: { reasoningText: { text: "Hm." } } }, { toolUse: { toolUseId: "t1", name, input: {} } }],
        },
      },
      stopReason: "tool_use",
    }),
  ],
  [
    "anthropic",
    anthropicMessages(),
    (name) => ({
      type: "message",
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "S" },
        { type: "tool_use", id: "toolu_1", name, input: {} },
      ],
      stop_reason: "tool_use",
    }),
  ],
  [
    "openai-responses",
    openAiResponses(),
    (name) => ({
      object: "response",
      status: "completed",
      output: [
        { type: "reasoning", id: "r1", summary: [], encrypted_content: "E" },
        { type: "function_call", id: "fc_1", call_id: "call_1", name, arguments: "{}" },
      ],
    }),
  ],
  ["deepseek", openAiChat("deepseek"), (name) => chat({ content: "", reasoning_content: "Hm." }, name)],
  ["mistral", openAiChat("mistral"), (name) => chat({ content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] }, name)],
  [
    "cohere",
    cohere(),
    (name) => ({ message: { role: "assistant", tool_plan: "Hm.", tool_calls: [chatCall(name)] }, finish_reason: "TOOL_CALL" }),
  ],
];

test.each(FORMATS)("F4.20 %s: an invalid tool name, or a missing one, is replaced in the model's native message", (_, format, reply) => {
  for (const name of ["search<|channel|>commentary", "browser.tabs.open", "$look up", "x".repeat(300), "", null, 7, "search"]) {
    const { native, calls } = format.decodeReply(reply(name), {});
    const [call] = calls;
    if (native === undefined || call === undefined) throw new Error("the reply has no call, or nothing of its own");
    const { messages } = format.encodeMessages(
      [
        said("user", "?"),
        { role: "assistant", at: 0, content: "", native },
        called("c1", call.name, call.id === undefined ? {} : { id: call.id }),
        failed("c1", call.name),
      ],
      { model: "openai.gpt-oss-120b-1:0" },
    );
    const text = JSON.stringify(messages);
    const sent = [...text.matchAll(/"name":"([^"]*)"/gu)].map(([, one = ""]) => one);
    expect(sent.length).toBeGreaterThan(0);
    for (const one of sent) expect(one).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
    if (name === "search") expect(new Set(sent)).toEqual(new Set(["search"]));
  }
});

test("F4.20 ollama: a result uses the name that its call has in the native message, also if that was sanitised", () => {
  const format = ollama();
  const made = (name: string, id?: string): JsonObject => ({ ...(id === undefined ? {} : { id }), function: { name, arguments: {} } });
  for (const ids of [true, false]) {
    const calls = ["default__read", "default__list"].map((name, index) => made(name, ids ? `call_${index}` : undefined));
    const reply = format.decodeReply({ message: { role: "assistant", content: "", thinking: "Hm.", tool_calls: calls }, done: true }, {});
    const { messages } = format.encodeMessages([
      said("user", "?"),
      { role: "assistant", at: 0, content: "", ...(reply.native === undefined ? {} : { native: reply.native }) },
      ...reply.calls.map(({ id, name }, index) => called(`c${index}`, name.replace("default__", ""), id === undefined ? {} : { id })),
      ...reply.calls.map(({ name }, index) => failed(`c${index}`, name.replace("default__", ""))),
    ]);
    const answers = messages.filter(({ role }) => role === "tool");
    expect(answers.map(({ tool_name: name }) => name)).toEqual(["default__read", "default__list"]);
  }
});
