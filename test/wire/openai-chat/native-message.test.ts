import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import type { ModelMessage } from "../../../src/core/message.ts";
import { openAiChat } from "../../../src/wire/openai-chat.ts";
import { answered, called, said } from "../conversations.ts";

const format = openAiChat("deepseek");

/** What a provider made that counts the calls of each message from 0. */
function round(turn: number, ids: readonly string[]): readonly ModelMessage[] {
  const tool_calls = ids.map((id) => ({ id, type: "function", function: { name: "get", arguments: "{}" } }));
  const message = { role: "assistant", content: null, reasoning_content: `Thought ${turn}.`, tool_calls };
  return [
    { role: "assistant", at: 0, content: "", native: { format: format.name, blocks: [message] } },
    ...ids.map((id, index) => called(`own_${turn}_${index}`, "get", { id, turnId: `turn_${turn}` })),
    ...ids.map((_, index) => answered(`own_${turn}_${index}`, "get", { output: index })),
  ];
}

function written(messages: readonly ModelMessage[]): readonly JsonObject[] {
  return format.encodeMessages(messages).messages;
}

/** Of each message with calls: its thought, and the ids of its calls. */
function thoughtsAndIds(messages: readonly JsonObject[]): readonly (readonly [unknown, readonly unknown[]])[] {
  return messages.flatMap(({ tool_calls: calls, reasoning_content: thought }) =>
    calls === undefined ? [] : [[thought, (calls as readonly JsonObject[]).map(({ id }) => id)] as const],
  );
}

describe("F4.18 native messages sent back to their provider", () => {
  test("keep their reasoning if the provider reuses ids in later rounds", () => {
    const messages = written([...round(1, ["call_0", "call_1"]), ...round(2, ["call_0", "call_1"])]);
    const [first, second] = thoughtsAndIds(messages);
    const ids = [...(first?.[1] ?? []), ...(second?.[1] ?? [])];
    expect([first?.[0], second?.[0], first?.[1], new Set(ids).size]).toEqual(["Thought 1.", "Thought 2.", ["call_0", "call_1"], 4]);
    expect(messages.flatMap(({ tool_call_id: id }) => id ?? [])).toEqual(ids);
  });

  test("are re-encoded if two of their calls have the same id", () => {
    const [only] = thoughtsAndIds(written(round(1, ["call_0", "call_0"])));
    expect([only?.[0], only?.[1].length, new Set(only?.[1]).size]).toEqual(["", 2, 2]);
  });
});

test.each([
  ["deepseek", ""],
  ["moonshot", " "],
])("F4.18 %s is sent the reasoning field with every call, at least as %j", (provider, placeholder) => {
  const messages = [
    said("user", "Go."),
    called("call_1", "get", { id: "toolu_1" }),
    answered("call_1", "get", { output: 1 }),
    said("assistant", "Done."),
  ];
  const [, call, , last] = openAiChat(provider).encodeMessages(messages).messages;
  expect([call?.["reasoning_content"], last]).toEqual([placeholder, { role: "assistant", content: "Done." }]);
});

test.each(["openai", "groq", "alibaba"])("F4.18 %s is sent no reasoning field", (provider) => {
  const messages = [said("user", "Go."), called("call_1", "get", { id: "toolu_1" }), answered("call_1", "get", { output: 1 })];
  expect(JSON.stringify(openAiChat(provider).encodeMessages(messages).messages)).not.toContain("reasoning");
});
