/** The definitions and messages that the seeds spell out, byte for byte, ids aside. */
import { expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ModelTool } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { PLAIN_CHAT } from "../../src/wire/chat-variants.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { answered, called } from "./conversations.ts";

const WEATHER: ModelTool = {
  name: "get_weather",
  description: "Get current weather for location",
  inputSchema: {
    type: "object",
    properties: { location: { type: "string", description: "City and state" } },
    required: ["location"],
  },
};

/** As Python prints it with `json.dumps(value, indent=4)`. */
const print = (value: JsonValue | undefined): string => JSON.stringify(value, undefined, 4);

test("F4.16 a tool definition for Anthropic matches the reference example byte for byte", () => {
  const [tool] = anthropicMessages().encodeTools([WEATHER]).tools;
  expect(print(tool)).toBe(`{
    "name": "get_weather",
    "description": "Get current weather for location",
    "input_schema": {
        "type": "object",
        "properties": {
            "location": {
                "type": "string",
                "description": "City and state"
            }
        },
        "required": [
            "location"
        ]
    }
}`);
});

test("F4.16 a tool definition for OpenAI matches the reference example byte for byte", () => {
  const [tool] = openAiChat().encodeTools([WEATHER]).tools;
  expect(print(tool)).toBe(`{
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get current weather for location",
        "parameters": {
            "type": "object",
            "properties": {
                "location": {
                    "type": "string",
                    "description": "City and state"
                }
            },
            "required": [
                "location"
            ]
        }
    }
}`);
});

const CONVERSATION = [
  called("c", "inspect_location", { id: "call_abc123", input: { detail_level: "full" } }),
  answered("c", "inspect_location", { id: "call_abc123", output: { success: true, location: "Town Square" } }),
];

test("F3.21 a call and its result can be encoded with the spacing of Python's JSON", () => {
  const python = openAiChat({ ...PLAIN_CHAT, spacedJson: true });
  const [message, result] = python.encodeMessages(CONVERSATION).messages;
  expect(print(message)).toBe(`{
    "role": "assistant",
    "content": null,
    "tool_calls": [
        {
            "id": "call_abc123",
            "type": "function",
            "function": {
                "name": "inspect_location",
                "arguments": "{\\"detail_level\\": \\"full\\"}"
            }
        }
    ]
}`);
  expect(print(result)).toBe(`{
    "role": "tool",
    "tool_call_id": "call_abc123",
    "content": "{\\"success\\": true, \\"location\\": \\"Town Square\\"}"
}`);
});

test("F4.18 results are encoded in both native forms, with their ids", () => {
  const answers = CONVERSATION.flatMap((message) =>
    message.role === "result" ? [{ id: "call_abc123", name: "inspect_location", result: message.result }] : [],
  );
  expect(openAiChat().encodeResults(answers)).toEqual([
    { role: "tool", tool_call_id: "call_abc123", content: '{"success":true,"location":"Town Square"}' },
  ]);
  expect(anthropicMessages().encodeResults(answers)).toEqual([
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "call_abc123", content: '{"success":true,"location":"Town Square"}' }],
    },
  ]);
});
