import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelEvent, ModelReply } from "../../src/core/model.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";

function streamed(format: WireFormat, pieces: readonly JsonValue[]): { readonly reply: ModelReply | undefined; readonly text: string } {
  const decoder = format.decodeStream();
  const events: ModelEvent[] = [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
  const last = events.at(-1);
  const text = events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("");
  return { reply: last?.type === "reply-end" ? last.reply : undefined, text };
}

const logprobs = (...values: readonly number[]): JsonObject => ({
  logprobs: { content: values.map((logprob) => ({ token: "x", logprob, top_logprobs: [] })), refusal: null },
});
const choice = (index: number, content: string | null, rest: JsonObject = {}): JsonObject => ({
  index,
  message: { role: "assistant", content },
  finish_reason: "stop",
  ...rest,
});
const chunk = (index: number, delta: JsonObject, rest: JsonObject = {}): JsonObject => ({
  choices: [{ index, delta, finish_reason: null, ...rest }],
});
const call = { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };

describe("F0.43 Chat Completions: all replies are returned as candidates, and the first is the reply", () => {
  test("whole, in the order of their indexes, with the log probability of each", () => {
    const reply = openAiChat().decodeReply({
      choices: [choice(1, '{"b":1}', logprobs(-0.25, -0.5)), choice(0, '{"a":1}', logprobs(-1, -2)), choice(2, null)],
    });
    expect([reply.text, reply.finish, reply.candidates]).toEqual([
      '{"a":1}',
      "stop",
      [{ text: '{"a":1}', logProbability: -3 }, { text: '{"b":1}', logProbability: -0.75 }, { text: "" }],
    ]);
  });
  test("streamed, with their chunks in any order", () => {
    const { reply, text } = streamed(openAiChat(), [
      chunk(1, { role: "assistant", content: "" }),
      chunk(0, { content: "He" }, logprobs(-1)),
      chunk(1, { content: "B" }, logprobs(-0.5)),
      {
        choices: [
          { index: 1, delta: { content: "ye" }, ...logprobs(-0.25) },
          { index: 0, delta: { content: "llo" }, ...logprobs(-2) },
        ],
      },
      chunk(1, {}, { finish_reason: "length" }),
      chunk(0, {}, { finish_reason: "stop" }),
      "[DONE]",
    ]);
    expect([text, reply?.text, reply?.finish, reply?.candidates]).toEqual([
      "Hello",
      "Hello",
      "stop",
      [
        { text: "Hello", logProbability: -3 },
        { text: "Bye", logProbability: -0.75 },
      ],
    ]);
  });
  test("calls and a bad finish reason of another candidate do not affect the first", () => {
    const { reply } = streamed(openAiChat(), [
      chunk(1, { tool_calls: [call] }),
      chunk(1, {}, { finish_reason: "content_filter" }),
      chunk(0, { content: "Fine" }),
      chunk(0, {}, { finish_reason: "stop" }),
      "[DONE]",
    ]);
    expect(reply).toMatchObject({ text: "Fine", calls: [], finish: "stop", candidates: [{ text: "Fine" }, { text: "" }] });
  });
  test("Together's format of log probabilities is read too", () => {
    const one = { logprobs: { tokens: ["a", "b"], token_logprobs: [-0.5, -1, null] } };
    expect(openAiChat("together").decodeReply({ choices: [choice(0, "a", one), choice(1, "b")] }).candidates).toEqual([
      { text: "a", logProbability: -1.5 },
      { text: "b" },
    ]);
  });
  test.each([
    [[choice(0, "a", logprobs(-1))]],
    [[choice(0, "a"), choice(-1, "b")]],
    [[choice(0, "a"), choice(1e9, "b")]],
    [[choice(0, "a"), choice(1.5, "b")]],
    [[choice(0, "a"), { message: { content: "b" } }]],
  ])("a single reply has no candidates: %#", (choices) => {
    expect(openAiChat().decodeReply({ choices })).toEqual(openAiChat().decodeReply({ choices: [choice(0, "a")] }));
  });
  test("all candidates together must not exceed maxChars", () => {
    const body = { choices: [choice(0, "a"), choice(1, "x".repeat(50)), choice(2, "x".repeat(50))] };
    expect(() => openAiChat().decodeReply(body, { maxChars: 100 })).toThrow("more than 100 characters");
  });
});

describe("F0.43 Gemini: all candidates are returned, and the first is the reply", () => {
  const candidate = (text: string, rest: JsonObject = {}): JsonObject => ({ content: { role: "model", parts: [{ text }] }, ...rest });

  test("whole, with the log probability from the average times the token count, or from the tokens", () => {
    const tokens = { logprobsResult: { chosenCandidates: [{ logProbability: -1 }, { logProbability: -0.5 }] } };
    const reply = gemini().decodeReply({
      candidates: [
        candidate("b", { index: 1, avgLogprobs: -0.5, tokenCount: 4 }),
        candidate("a", { finishReason: "STOP", avgLogprobs: -9, tokenCount: 1, ...tokens }),
        candidate("c", { index: 2, avgLogprobs: -0.5 }),
      ],
    });
    expect([reply.text, reply.finish, reply.candidates]).toEqual([
      "a",
      "stop",
      [{ text: "a", logProbability: -1.5 }, { text: "b", logProbability: -2 }, { text: "c" }],
    ]);
  });
  test("streamed, where a chunk may hold only another candidate", () => {
    const { reply, text } = streamed(gemini(), [
      { candidates: [candidate("By", { index: 1 })] },
      { candidates: [candidate("Hel", { index: 0 })] },
      { candidates: [candidate("e", { index: 1, finishReason: "MAX_TOKENS" }), candidate("lo", { index: 0, finishReason: "STOP" })] },
    ]);
    expect([text, reply?.text, reply?.finish, reply?.candidates]).toEqual(["Hello", "Hello", "stop", [{ text: "Hello" }, { text: "Bye" }]]);
  });
  test("thoughts of another candidate are not part of its text", () => {
    const other = { index: 1, content: { parts: [{ text: "Hm.", thought: true }, { text: "B" }] } };
    expect(gemini().decodeReply({ candidates: [candidate("A", { finishReason: "STOP" }), other] }).candidates).toEqual([
      { text: "A" },
      { text: "B" },
    ]);
  });
  test("a single reply has no candidates", () => {
    const reply = gemini().decodeReply({ candidates: [candidate("a", { finishReason: "STOP", avgLogprobs: -1, tokenCount: 1 })] });
    expect("candidates" in reply).toBe(false);
  });
});
