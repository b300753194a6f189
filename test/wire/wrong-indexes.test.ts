/** Streams whose blocks have no index, or all the same: gateways and compatible servers send them, and no call of them may be lost. */
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { called, answered, said } from "./conversations.ts";
import { allEvents, replyOf } from "./recorded-cases.ts";

const CALLS = [
  { id: "call_1", name: "get", input: { x: 1 } },
  { id: "call_2", name: "get", input: { x: 2 } },
];
type Made = (typeof CALLS)[number];

const cut = ({ input }: Made): readonly [string, string] => ['{"x"', `:${input.x}}`];

/** A text and two calls, in a stream as documented. */
const STREAMS: readonly (readonly [name: string, format: WireFormat, stream: readonly JsonObject[]])[] = [
  [
    "anthropic",
    anthropicMessages(),
    [
      { type: "message_start", message: { role: "assistant", content: [] } },
      ...CALLS.flatMap((call, at) => [
        { type: "content_block_start", index: at, content_block: { type: "tool_use", id: call.id, name: call.name, input: {} } },
        ...cut(call).map((json) => ({
          type: "content_block_delta",
          index: at,
          delta: { type: "input_json_delta", partial_json: json },
        })),
        { type: "content_block_stop", index: at },
      ]),
      { type: "message_delta", delta: { stop_reason: "tool_use" } },
      { type: "message_stop" },
    ],
  ],
  [
    "bedrock",
    bedrockConverse(),
    [
      { messageStart: { role: "assistant" } },
      { contentBlockDelta: { contentBlockIndex: 0, delta: { text: "I look." } } },
      { contentBlockStop: { contentBlockIndex: 0 } },
      ...CALLS.flatMap((call, at) => [
        { contentBlockStart: { contentBlockIndex: at + 1, start: { toolUse: { toolUseId: call.id, name: call.name } } } },
        ...cut(call).map((input) => ({ contentBlockDelta: { contentBlockIndex: at + 1, delta: { toolUse: { input } } } })),
        { contentBlockStop: { contentBlockIndex: at + 1 } },
      ]),
      { messageStop: { stopReason: "tool_use" } },
    ],
  ],
  [
    "cohere",
    cohere(),
    [
      { type: "message-start", id: "c", delta: { message: { role: "assistant" } } },
      { type: "tool-plan-delta", delta: { message: { tool_plan: "I look." } } },
      ...CALLS.flatMap((call, at) => [
        toolCall("tool-call-start", at, { id: call.id, type: "function", function: { name: call.name, arguments: "" } }),
        ...cut(call).map((json) => toolCall("tool-call-delta", at, { function: { arguments: json } })),
        { type: "tool-call-end", index: at },
      ]),
      { type: "message-end", delta: { finish_reason: "TOOL_CALL" } },
    ],
  ],
  [
    "openai-responses",
    openAiResponses(),
    [
      { type: "response.created", response: { id: "r1" } },
      ...CALLS.flatMap((call, at) => {
        const item = { type: "function_call", id: `fc_${at}`, call_id: call.id, name: call.name };
        return [
          { type: "response.output_item.added", output_index: at, item: { ...item, arguments: "" } },
          ...cut(call).map((delta) => ({ type: "response.function_call_arguments.delta", output_index: at, item_id: item.id, delta })),
          { type: "response.output_item.done", output_index: at, item: { ...item, arguments: cut(call).join("") } },
        ];
      }),
      { type: "response.completed", response: { id: "r1", status: "completed" } },
    ],
  ],
  [
    "openai-chat",
    openAiChat(),
    [
      ...CALLS.flatMap((call, at) => [
        chunk({ index: at, id: call.id, type: "function", function: { name: call.name, arguments: "" } }),
        ...cut(call).map((json) => chunk({ index: at, function: { arguments: json } })),
      ]),
      { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" }] },
    ],
  ],
];

function toolCall(type: string, index: number, tool_calls: JsonObject): JsonObject {
  return { type, index, delta: { message: { tool_calls } } };
}

function chunk(call: JsonObject): JsonObject {
  return { choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] };
}

const INDEXES: ReadonlySet<string> = new Set(["index", "contentBlockIndex", "output_index"]);

/** The same JSON with another index everywhere; without one if it is undefined. */
function withIndex(value: JsonValue, index: number | undefined): JsonValue {
  if (isJsonArray(value)) return value.map((one) => withIndex(one, index));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, one]) =>
      INDEXES.has(key) ? (index === undefined ? [] : [[key, index]]) : [[key, withIndex(one, index)]],
    ),
  );
}

describe.each(STREAMS)("F4.17 %s", (_name, format, stream) => {
  test("reads all calls of a stream in which every block has the index 0", () => {
    expect(replyOf(allEvents(format, withIndexes(stream, 0))).calls).toEqual(CALLS);
  });
  test("reads all calls of a stream without indexes", () => {
    expect(replyOf(allEvents(format, withIndexes(stream, undefined))).calls).toEqual(CALLS);
  });
  test("reads no call twice if the event that begins it is repeated", () => {
    const repeated = stream.flatMap((event) =>
      /"(?:added|contentBlockStart|tool-call-start)"/u.test(JSON.stringify(event)) ? [event, event] : [event],
    );
    expect(replyOf(allEvents(format, repeated)).calls).toEqual(CALLS);
  });
});

function withIndexes(stream: readonly JsonObject[], index: number | undefined): readonly JsonValue[] {
  return stream.map((event) => withIndex(event, index));
}

test("F4.18 cohere: calls that came without ids are sent back with those that their results refer to", () => {
  const format = cohere();
  const made = ["get", "set"].map((name) => ({ type: "function", function: { name, arguments: "{}" } }));
  const { native } = format.decodeReply({ message: { tool_plan: "I look.", tool_calls: made }, finish_reason: "TOOL_CALL" });
  const [message, ...results] = format.encodeMessages([
    { ...said("assistant", ""), ...(native === undefined ? {} : { native }) },
    called("own_1", "get"),
    called("own_2", "set"),
    answered("own_1", "get", { output: 1 }),
    answered("own_2", "set", { output: 2 }),
  ]).messages;
  expect(message).toMatchObject({ tool_plan: "I look.", tool_calls: [{ id: "own_1" }, { id: "own_2" }] });
  expect(results.map(({ tool_call_id: id }) => id)).toEqual(["own_1", "own_2"]);
});

test("F4.17 ollama: a call without a name is reported, so that its result can say so", () => {
  const body = { message: { content: "", tool_calls: [{ id: "c1", function: { arguments: { x: 1 } } }] }, done: true };
  expect(ollama().decodeReply(body).calls).toEqual([{ id: "c1", name: "", input: { x: 1 } }]);
});
