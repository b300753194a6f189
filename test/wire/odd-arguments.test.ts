/** Arguments that are not the JSON that a format promises: read as what they say, or kept as they are, never left out. */
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { parseJson } from "../../src/core/base/parse-json.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { called, said } from "./conversations.ts";

const TEXT: ReadonlySet<string> = new Set([
  openAiChat().name,
  openAiChat("deepseek").name,
  mistral().name,
  openAiResponses().name,
  cohere().name,
]);

/** The arguments of every call in these messages. */
function argumentsIn(messages: JsonValue): readonly JsonValue[] {
  if (isJsonArray(messages)) return messages.flatMap(argumentsIn);
  if (!isJsonObject(messages)) return [];
  const { arguments: plain, args = plain, input = args, ...rest } = messages;
  return input === undefined ? Object.values(rest).flatMap(argumentsIn) : [input];
}

const chat = (args: JsonValue, thought: JsonObject = {}): JsonObject => ({
  id: "r",
  choices: [{ index: 0, message: { ...thought, tool_calls: [{ id: "c1", type: "function", function: { name: "rm", arguments: args } }] } }],
});

/** A whole reply with one call of these arguments, which its provider's own form holds where there is one. */
const REPLIES: readonly (readonly [WireFormat, (args: JsonValue) => JsonValue])[] = [
  [openAiChat(), (args) => chat(args)],
  [openAiChat("deepseek"), (args) => chat(args, { reasoning_content: "Hm." })],
  [mistral(), (args) => chat(args, { content: [{ type: "thinking", thinking: [{ type: "text", text: "Hm." }] }] })],
  [
    anthropicMessages(),
    (input) => ({
      type: "message",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "s" },
        { type: "tool_use", id: "c1", name: "rm", input },
      ],
      stop_reason: "tool_use",
    }),
  ],
  [
    openAiResponses(),
    (args) => ({
      status: "completed",
      output: [
        { type: "reasoning", id: "r1", summary: [], encrypted_content: "s" },
        { type: "function_call", id: "f1", call_id: "c1", name: "rm", arguments: args },
      ],
    }),
  ],
  [
    gemini(),
    (args) => ({
      candidates: [{ content: { parts: [{ functionCall: { id: "c1", name: "rm", args }, thoughtSignature: "s" }] }, finishReason: "STOP" }],
    }),
  ],
  [
    geminiInteractions(),
    (args) => ({ status: "requires_action", steps: [{ type: "function_call", id: "c1", name: "rm", arguments: args, signature: "s" }] }),
  ],
  [
    bedrockConverse(),
    (input) => ({
      output: {
        message: {
          content: [
            { reasoningContent: { reasoningText: { text: "Hm.", signature: "s" } } },
            { toolUse: { toolUseId: "c1", name: "rm", input } },
          ],
        },
      },
      stopReason: "tool_use",
    }),
  ],
  [
    cohere(),
    (args) => ({
      message: { tool_plan: "Hm.", tool_calls: [{ id: "c1", type: "function", function: { name: "rm", arguments: args } }] },
      finish_reason: "TOOL_CALL",
    }),
  ],
  [
    ollama(),
    (args) => ({
      message: { content: "", thinking: "Hm.", tool_calls: [{ id: "c1", function: { name: "rm", arguments: args } }] },
      done: true,
    }),
  ],
];

describe.each(REPLIES.map(([format, reply]) => [format.name, format, reply] as const))("%s", (_name, format, reply) => {
  test.each<readonly [JsonValue, JsonValue]>([
    [{ path: "/tmp" }, { path: "/tmp" }],
    ['{"path":"/tmp"}', { path: "/tmp" }],
    ['{"path":"/tm', '{"path":"/tm'],
    ["/tmp", "/tmp"],
    [["/tmp"], ["/tmp"]],
    [7, 7],
    [{}, {}],
    [null, {}],
    ["", {}],
  ])("H07 arguments %j are read as %j, and are sent back as valid JSON, in the type that the provider requires", (args, input) => {
    const { calls, text, native } = format.decodeReply(reply(args));
    expect(calls.map((call) => call.input)).toEqual([input]);
    const messages = [
      said("user", "Hi"),
      { ...said("assistant", text), ...(native === undefined ? {} : { native }) },
      called("own_1", "rm", { id: "c1", input }),
    ];
    const sent = argumentsIn(format.encodeMessages(messages).messages);
    expect(sent.map((value) => (isJsonObject(value) ? "object" : value === null ? "null" : typeof value))).toEqual([
      TEXT.has(format.name) ? "string" : "object",
    ]);
    for (const value of sent) if (typeof value === "string") expect(() => parseJson(value)).not.toThrow();
  });
});
