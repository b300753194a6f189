import { hash } from "node:crypto";
import { describe, expect, test } from "vitest";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { toAnthropicMessages } from "../../src/wire/anthropic-conversation.ts";
import { toGeminiContents } from "../../src/wire/gemini-conversation.ts";
import { toOpenAiMessages } from "../../src/wire/openai-conversation.ts";
import { CONVERSATION, PICTURE, answered, called, failed, said } from "./conversations.ts";

const TOO_SLOW = "Error (timeout): too slow\nHint: Ask for less.";
const NO_RESULT = "Error (outcome_unknown): This call has no result: it still runs, or it was interrupted. Its effect is not known.";
const NAMES = [
  ["weather__get", "weather::get"],
  ["eyes__look", "eyes::look"],
  ["camera__shoot", "camera::shoot"],
  ["mail__send", "mail::send"],
];

test("F1.30 OpenAI messages have results in call order and images after them, and no call is separated from its results", () => {
  const { messages, toolNames } = toOpenAiMessages(CONVERSATION);
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
  expect(messages).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: 'Document "Hours":\nThe house opens at nine.' },
    { role: "user", content: [{ type: "text", text: "What is this, and how is the weather?" }, image] },
    {
      role: "assistant",
      content: "I look.",
      tool_calls: [
        { id: "toolu_1", type: "function", function: { name: "weather__get", arguments: '{"city":"Oslo"}' } },
        { id: "toolu_2", type: "function", function: { name: "eyes__look", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "toolu_1", content: '{"temperature":12}' },
    { role: "tool", tool_call_id: "toolu_2", content: TOO_SLOW },
    { role: "user", content: "Hurry." },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_3", type: "function", function: { name: "camera__shoot", arguments: "{}" } },
        { id: "call_4", type: "function", function: { name: "mail__send", arguments: '"not an object"' } },
      ],
    },
    { role: "tool", tool_call_id: "call_3", content: "Here:\n[image image/png]" },
    { role: "tool", tool_call_id: "call_4", content: NO_RESULT },
    { role: "user", content: [{ type: "text", text: "Attachments of call_3:" }, image] },
    { role: "assistant", content: "Done." },
  ]);
  expect([...toolNames]).toEqual(NAMES);
});

test("F1.30 Anthropic messages mark errors, keep documents in place and alternate roles", () => {
  const { system, messages, toolNames } = toAnthropicMessages(CONVERSATION);
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } };
  expect(system).toEqual([{ type: "text", text: "Be brief." }]);
  expect(messages).toEqual([
    {
      role: "user",
      content: [
        { type: "document", source: { type: "text", media_type: "text/plain", data: "The house opens at nine." }, title: "Hours" },
        { type: "text", text: "What is this, and how is the weather?" },
        image,
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_1", name: "weather__get", input: { city: "Oslo" } },
        { type: "tool_use", id: "toolu_2", name: "eyes__look", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_1", content: '{"temperature":12}' },
        { type: "tool_result", tool_use_id: "toolu_2", content: TOO_SLOW, is_error: true },
        { type: "text", text: "Hurry." },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "tool_use", id: "call_3", name: "camera__shoot", input: {} },
        { type: "tool_use", id: "call_4", name: "mail__send", input: { value: "not an object" } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "call_3", content: [{ type: "text", text: "Here:" }, image] },
        { type: "tool_result", tool_use_id: "call_4", content: NO_RESULT, is_error: true },
      ],
    },
    { role: "assistant", content: [{ type: "text", text: "Done." }] },
  ]);
  expect([...toolNames]).toEqual(NAMES);
});

test("F1.30 Gemini contents have one response for each call, with outputs and errors under their keys", () => {
  const { systemInstruction, contents, toolNames } = toGeminiContents(CONVERSATION, {
    thoughtSignature: "skip_thought_signature_validator",
  });
  const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
  const thoughtSignature = "skip_thought_signature_validator";
  expect(systemInstruction).toEqual({ parts: [{ text: "Be brief." }] });
  expect(contents).toEqual([
    { role: "user", parts: [{ text: 'Document "Hours":' }, { text: "The house opens at nine." }] },
    { role: "user", parts: [{ text: "What is this, and how is the weather?" }, image] },
    {
      role: "model",
      parts: [
        { text: "I look." },
        { functionCall: { id: "toolu_1", name: "weather__get", args: { city: "Oslo" } }, thoughtSignature },
        { functionCall: { id: "toolu_2", name: "eyes__look", args: {} } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "toolu_1", name: "weather__get", response: { output: { temperature: 12 } } } },
        { functionResponse: { id: "toolu_2", name: "eyes__look", response: { error: TOO_SLOW } } },
      ],
    },
    { role: "user", parts: [{ text: "Hurry." }] },
    {
      role: "model",
      parts: [
        { functionCall: { id: "call_3", name: "camera__shoot", args: {} }, thoughtSignature },
        { functionCall: { id: "call_4", name: "mail__send", args: { value: "not an object" } } },
      ],
    },
    {
      role: "user",
      parts: [
        { functionResponse: { id: "call_3", name: "camera__shoot", response: { output: "Here:\n[image image/png]" } } },
        { functionResponse: { id: "call_4", name: "mail__send", response: { error: NO_RESULT } } },
      ],
    },
    { role: "user", parts: [{ text: "Attachments of call_3:" }, image] },
    { role: "model", parts: [{ text: "Done." }] },
  ]);
  expect([...toolNames]).toEqual(NAMES);
});

describe("which calls are grouped into one message", () => {
  const one = called("c1", "a::b");
  const two = called("c2", "a::b");
  const groups = (messages: readonly ModelMessage[]): unknown =>
    toOpenAiMessages(messages)
      .messages.filter((message) => message["role"] === "assistant")
      .map(({ tool_calls: calls }) => (calls as readonly JsonObject[]).map((call) => call["id"]));

  test.each<readonly [string, readonly ModelMessage[], readonly (readonly string[])[]]>([
    ["calls that stand together are", [one, two, answered("c2", "a::b"), answered("c1", "a::b")], [["c1", "c2"]]],
    ["a call behind the other's result is not", [one, answered("c1", "a::b"), two], [["c1"], ["c2"]]],
    ["calls of two turns are not", [one, called("c2", "a::b", { turnId: "turn_2" })], [["c1"], ["c2"]]],
    ["calls with a message between them are not", [one, said("user", "and?"), two], [["c1"], ["c2"]]],
    [
      "a late result of an older call does not part them",
      [one, said("user", "and?"), two, answered("c1", "a::b"), called("c3", "a::b")],
      [["c1"], ["c2", "c3"]],
    ],
    ["a call that is there twice counts once", [one, one, two], [["c1", "c2"]]],
    ["a result without a call is left out", [answered("c9", "a::b"), one], [["c1"]]],
  ])("%s", (_, messages, expected) => {
    expect(groups(messages)).toEqual(expected);
  });
});

describe("input that providers reject is never sent", () => {
  test("ids: repeated ids, ids with invalid characters and long ids are replaced, always by the same ids", () => {
    const messages = [
      called("r1", "a::b", { id: "functions.b:0" }),
      answered("r1", "a::b"),
      called("r2", "a::b", { id: "functions.b:0" }),
      answered("r2", "a::b"),
      called("r3", "a::b", { id: "x".repeat(100) }),
    ];
    const digits = hash("sha256", JSON.stringify("functions.b:0")).slice(0, 16);
    const ids = (given: readonly ModelMessage[]): unknown => idsOf(toAnthropicMessages(given).messages);
    expect(ids(messages)).toEqual([
      `functions_b_0_${digits}`,
      expect.stringMatching(new RegExp(`^functions_b_0_${digits}_[0-9a-f]{16}$`, "u")),
      expect.stringMatching(/^x{47}_[0-9a-f]{16}$/u),
    ]);
    expect(ids(messages.slice(0, 3))).toEqual((ids(messages) as readonly unknown[]).slice(0, 2));
    expect(idsOf(toOpenAiMessages(messages).messages)[0]).toBe("functions.b:0");
  });

  test("lone surrogates in text, titles, inputs and results", () => {
    const messages = [
      said("system", "\ud800"),
      said("document", "\ud800", "\ud800"),
      said("user", "\ud800"),
      called("c", "a::\ud800", { input: { "\ud800": ["\ud800"] } }),
      answered("c", "a::\ud800", { output: { text: "\ud800" } }),
    ];
    for (const conversation of [toOpenAiMessages(messages), toAnthropicMessages(messages), toGeminiContents(messages)])
      expect(textsOf({ ...conversation, toolNames: null }).filter((text) => !text.isWellFormed())).toEqual([]);
  });

  test("to Anthropic: empty blocks, images in an error, audio, or a conversation that begins with the assistant", () => {
    const messages = [
      said("assistant", ""),
      called("c1", "a::b"),
      failed("c1", "a::b", { content: [PICTURE] }),
      said("user", [
        { type: "text", text: " " },
        { type: "audio", mediaType: "audio/wav", data: "UklGRg==" },
      ]),
      said("document", ""),
      said("user", ""),
    ];
    expect(toAnthropicMessages(messages)).toEqual({
      messages: [
        { role: "user", content: [{ type: "text", text: "(The conversation begins with the assistant.)" }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "a__b", input: {} }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "c1", content: `${TOO_SLOW}\n[image image/png]`, is_error: true },
            { type: "text", text: "[audio audio/wav]" },
          ],
        },
      ],
      toolNames: new Map([["a__b", "a::b"]]),
    });
  });

  test("a partial result is not marked as an error, and has its error text beside the data", () => {
    const error = { code: "invalid_output", message: "no city", retryable: false, outcome: "unknown" } as const;
    const messages = [said("user", "?"), called("c1", "a::b"), answered("c1", "a::b", { status: "partial", error, output: { at: 1 } })];
    expect(toAnthropicMessages(messages).messages[2]).toEqual({
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "c1", content: 'Error (invalid_output): no city\n{"at":1}' }],
    });
    expect(toGeminiContents(messages).contents[2]).toEqual({
      role: "user",
      parts: [{ functionResponse: { id: "c1", name: "a__b", response: { output: { at: 1 }, error: "Error (invalid_output): no city" } } }],
    });
  });

  test("to OpenAI: audio in an unsupported format, or images of an assistant", () => {
    const sound = { type: "audio", mediaType: "audio/mpeg", data: "SUQz" } as const;
    const messages = [said("user", [sound, { ...sound, mediaType: "audio/ogg" }]), said("assistant", [PICTURE])];
    expect(toOpenAiMessages(messages).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "input_audio", input_audio: { data: "SUQz", format: "mp3" } },
          { type: "text", text: "[audio audio/ogg]" },
        ],
      },
      { role: "assistant", content: "[image image/png]" },
    ]);
  });
});

test("section 6.19 for any messages, every call has one result directly after its message, and ids are unique", () => {
  const callId = fc.constantFrom("c1", "c2", "c3", "c4", "c5");
  const id = fc.constantFrom("p1", "p2", "bad id", "");
  const message = fc.oneof(
    fc
      .tuple(fc.constantFrom("user" as const, "assistant" as const, "system" as const, "document" as const), fc.string({ maxLength: 3 }))
      .map(([role, text]) => said(role, text)),
    fc.tuple(callId, id, fc.constantFrom("t1", "t2")).map(([callId, id, turnId]) => called(callId, "a::b", { id, turnId })),
    callId.map((callId) => answered(callId, "a::b", { output: callId })),
    callId.map((callId) => failed(callId, "a::b")),
  );
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
      const calls = new Set(messages.flatMap((one) => (one.role === "call" ? [one.callId] : []))).size;
      for (const turns of [openAiTurns(messages), anthropicTurns(messages), geminiTurns(messages)]) {
        expect(turns.map((turn) => turn.results)).toEqual(turns.map((turn) => turn.calls));
        const ids = turns.flatMap((turn) => turn.calls);
        expect([ids.length, new Set(ids).size]).toEqual([calls, calls]);
      }
    }),
    { numRuns: 500 },
  );
});

interface Turn {
  readonly calls: readonly unknown[];
  /** Of the messages right behind the calls. */
  readonly results: readonly unknown[];
}

function openAiTurns(messages: readonly ModelMessage[]): readonly Turn[] {
  const written = toOpenAiMessages(messages).messages;
  return written.flatMap((message, index) => {
    if (message["tool_calls"] === undefined) return [];
    const calls = (message["tool_calls"] as readonly JsonObject[]).map((call) => call["id"]);
    return [{ calls, results: written.slice(index + 1, index + 1 + calls.length).map((next) => next["tool_call_id"]) }];
  });
}

function anthropicTurns(messages: readonly ModelMessage[]): readonly Turn[] {
  const written = toAnthropicMessages(messages).messages;
  expect(written.map((message) => message["role"])).toEqual(written.map((_, index) => (index % 2 === 0 ? "user" : "assistant")));
  return written.flatMap((message, index) => {
    const calls = blocksOf(message, "content").flatMap((block) => (block["type"] === "tool_use" ? [block["id"]] : []));
    const results = blocksOf(written[index + 1], "content").slice(0, calls.length);
    return calls.length === 0 ? [] : [{ calls, results: results.map((block) => block["tool_use_id"]) }];
  });
}

function geminiTurns(messages: readonly ModelMessage[]): readonly Turn[] {
  const written = toGeminiContents(messages).contents;
  return written.flatMap((content, index) => {
    const calls = blocksOf(content, "parts").flatMap((part) => idsAt(part["functionCall"]));
    const results = blocksOf(written[index + 1], "parts").flatMap((part) => idsAt(part["functionResponse"]));
    return calls.length === 0 ? [] : [{ calls, results }];
  });
}

function blocksOf(message: JsonObject | undefined, key: string): readonly JsonObject[] {
  return (message?.[key] ?? []) as readonly JsonObject[];
}

function idsAt(value: JsonValue | undefined): readonly JsonValue[] {
  return value === undefined ? [] : [(value as JsonObject)["id"] ?? null];
}

function idsOf(messages: readonly JsonObject[]): readonly JsonValue[] {
  return messages.flatMap((message) =>
    [
      ...blocksOf(message, "tool_calls"),
      ...(typeof message["content"] === "object" && message["content"] !== null ? blocksOf(message, "content") : []),
    ].flatMap((block) => (block["id"] === undefined ? [] : [block["id"]])),
  );
}

function textsOf(value: JsonValue): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsOf(item)]);
}
