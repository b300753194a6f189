/** Blocks of a model's own message that its provider would refuse: they must not go back, or the provider refuses the conversation for good. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { answered, called, said } from "./conversations.ts";

const thought = { type: "thinking", thinking: "Hm.", signature: "S" };
const reasoning = { reasoningContent: { reasoningText: { text: "Hm.", signature: "S" } } };

/** A reply with an empty block between the others. */
const REPLIES: readonly (readonly [name: string, format: WireFormat, reply: (blocks: readonly JsonObject[]) => JsonObject])[] = [
  [
    "anthropic",
    anthropicMessages(),
    (empty) => ({
      type: "message",
      content: [thought, ...empty, { type: "tool_use", id: "c1", name: "get", input: {} }],
      stop_reason: "tool_use",
    }),
  ],
  [
    "bedrock",
    bedrockConverse(),
    (empty) => ({
      output: { message: { content: [reasoning, ...empty, { toolUse: { toolUseId: "c1", name: "get", input: {} } }] } },
      stopReason: "tool_use",
    }),
  ],
  [
    "gemini",
    gemini(),
    (empty) => ({
      candidates: [
        {
          content: { parts: [...empty, { functionCall: { id: "c1", name: "get", args: {} }, thoughtSignature: "S" }] },
          finishReason: "STOP",
        },
      ],
    }),
  ],
  [
    "openai-responses",
    openAiResponses(),
    (empty) => ({
      status: "completed",
      output: [
        ...empty,
        { type: "reasoning", id: "r1", summary: [], encrypted_content: "E" },
        { type: "function_call", id: "f1", call_id: "c1", name: "get", arguments: "{}" },
      ],
    }),
  ],
];

describe.each(REPLIES)("F4.20 %s", (_name, format, reply) => {
  test("an empty block of the model's native message is not sent back", () => {
    const sent = ([...blocks]: readonly JsonObject[]) => {
      const { native, calls } = format.decodeReply(reply(blocks));
      expect(calls.map(({ id, name }) => [id, name])).toEqual([["c1", "get"]]);
      return format.encodeMessages(
        [
          said("user", "?"),
          { ...said("assistant", ""), ...(native === undefined ? {} : { native }) },
          called("own_1", "get", { id: "c1" }),
          answered("own_1", "get", { output: 1 }),
        ],
        { model: "anthropic.claude-x" },
      ).messages;
    };
    expect(sent([{}])).toEqual(sent([]));
  });
});

test("F4.20 openai-responses: a call that came without a call_id is sent back with the one that its result refers to", () => {
  const format = openAiResponses();
  for (const call_id of [undefined, null, ""]) {
    const call = { type: "function_call", id: "fc_1", ...(call_id === undefined ? {} : { call_id }), name: "get", arguments: "{}" };
    const output = [{ type: "reasoning", id: "r1", summary: [], encrypted_content: "E" }, call];
    const { native, calls } = format.decodeReply({ status: "completed", output });
    const { messages } = format.encodeMessages([
      said("user", "?"),
      { ...said("assistant", ""), ...(native === undefined ? {} : { native }) },
      ...calls.map(({ id = "" }) => called("own_1", "get", { id })),
      answered("own_1", "get", { output: 1 }),
    ]);
    expect(messages.flatMap(({ type, call_id: id = null }) => (type === "message" ? [] : [[type, id]]))).toEqual([
      ["reasoning", null],
      ["function_call", "fc_1"],
      ["function_call_output", "fc_1"],
    ]);
  }
});

test("F4.20 anthropic: thinking is sent back with its call if a compatible server repeats ids, or gives ids that the API refuses", () => {
  const format = anthropicMessages();
  const call = { type: "tool_use", id: "functions.get:0", name: "get", input: {} };
  const { native } = format.decodeReply({ type: "message", content: [thought, call], stop_reason: "tool_use" });
  const round = (turn: number) => [
    { ...said("assistant", ""), ...(native === undefined ? {} : { native }) },
    called(`own_${turn}`, "get", { id: call.id, turnId: `turn_${turn}` }),
    answered(`own_${turn}`, "get", { output: turn }),
  ];
  const { messages } = format.encodeMessages([said("user", "?"), ...round(1), ...round(2)]);
  const blocks = messages.slice(1).flatMap(({ content }) => content as readonly JsonObject[]);
  expect(blocks.map(({ type }) => type)).toEqual(["thinking", "tool_use", "tool_result", "thinking", "tool_use", "tool_result"]);
  const [first, second] = blocks.flatMap(({ id = [] }) => id);
  expect([first, second].every((id) => /^[\w-]{1,64}$/u.test(String(id)))).toBe(true);
  expect(first).not.toBe(second);
  expect(blocks.flatMap(({ tool_use_id: id = [] }) => id)).toEqual([first, second]);
});

const REPEATING: readonly (readonly [name: string, format: WireFormat, reply: JsonObject, isReasoning: (block: JsonObject) => boolean])[] =
  [
    [
      "bedrock",
      bedrockConverse(),
      {
        output: { message: { content: [reasoning, { toolUse: { toolUseId: "functions.get:0", name: "get", input: {} } }] } },
        stopReason: "tool_use",
      },
      ({ reasoningContent }) => reasoningContent !== undefined,
    ],
    [
      "openai-responses",
      openAiResponses(),
      {
        status: "completed",
        output: [
          { type: "reasoning", id: "r1", summary: [], encrypted_content: "E" },
          { type: "function_call", id: "f1", call_id: "functions.get:0", name: "get", arguments: "{}" },
        ],
      },
      ({ type }) => type === "reasoning",
    ],
    [
      "gemini",
      gemini(),
      {
        candidates: [
          {
            content: {
              parts: [
                { text: "Hm.", thought: true },
                { functionCall: { id: "functions.get:0", name: "get", args: {} }, thoughtSignature: "S" },
              ],
            },
            finishReason: "STOP",
          },
        ],
      },
      ({ thought: isThought }) => isThought === true,
    ],
    [
      "gemini-interactions",
      geminiInteractions(),
      {
        status: "requires_action",
        steps: [
          { type: "thought", signature: "S" },
          { type: "function_call", id: "functions.get:0", name: "get", arguments: {} },
        ],
      },
      ({ type }) => type === "thought",
    ],
  ];

test.each(REPEATING)(
  "F4.20 %s: reasoning is sent back before each call if the ids of calls repeat",
  (_name, format, reply, isReasoning) => {
    const { native } = format.decodeReply(reply);
    const round = (turn: number) => [
      { ...said("assistant", ""), ...(native === undefined ? {} : { native }) },
      called(`own_${turn}`, "get", { id: "functions.get:0", turnId: `turn_${turn}` }),
      answered(`own_${turn}`, "get", { output: turn }),
    ];
    const { messages } = format.encodeMessages([said("user", "?"), ...round(1), ...round(2), ...round(3)], { model: "anthropic.claude-x" });
    const blocks = messages
      .slice(1)
      .flatMap(({ parts, content, ...message }) => [parts, content].find(Array.isArray) ?? [message]) as JsonObject[];
    expect(blocks.map((block) => (isReasoning(block) ? "reasoning" : "other"))).toEqual(
      [1, 2, 3].flatMap(() => ["reasoning", "other", "other"]),
    );
    const idsOf = (block: JsonObject): readonly unknown[] => {
      const { toolUse, toolResult, functionCall, functionResponse, call_id, id } = block as Record<string, JsonObject | undefined>;
      const inner = toolUse?.["toolUseId"] ?? toolResult?.["toolUseId"] ?? functionCall?.["id"] ?? functionResponse?.["id"];
      return [inner ?? call_id ?? id];
    };
    const pairs = [1, 4, 7].map((at) => blocks.slice(at, at + 2).flatMap(idsOf));
    for (const [call, result] of pairs) expect(call).toBe(result);
    expect(new Set(pairs.flat()).size).toBe(3);
  },
);
