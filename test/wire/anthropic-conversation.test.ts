import { expect, test } from "vitest";
import type { NativeMessage } from "../../src/core/message.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";

const FORMAT = anthropicMessages();
const native: NativeMessage = {
  format: "anthropic-messages",
  blocks: [
    { type: "thinking", thinking: "Hm.", signature: "c2ln" },
    { type: "text", text: "\n" },
    { type: "server_tool_use", id: "s1", name: "web_search", input: {} },
    { type: "tool_use", id: "t1", name: "a", input: {} },
    { type: "tool_use", id: "t2", name: "b", input: {} },
  ],
};
const reply = { role: "assistant", at: 0, content: "", native } as const;

test("F4.20 thinking is sent back unchanged, without missing calls and texts that the API rejects", () => {
  const messages = [said("user", "Hi"), reply, called("c2", "b", { id: "t2" }), answered("c2", "b", { output: "ok" })];
  expect(FORMAT.encodeMessages(messages).messages.slice(1)).toEqual([
    { role: "assistant", content: [native.blocks[0], native.blocks[2], native.blocks[4]] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t2", content: "ok" }] },
  ]);
});

test("F4.20 a paused message is sent back unchanged, and its continuation is merged into it", () => {
  const paused = { ...reply, native: { ...native, blocks: native.blocks.slice(0, 3) } };
  const blocks = [
    { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
    { type: "text", text: "Found." },
  ];
  const found = { ...reply, content: "Found.", native: { ...native, blocks } };
  const { messages } = FORMAT.encodeMessages([said("user", "Hi"), paused, said("system", "Be brief."), found]);
  expect(messages.slice(1)).toEqual([{ role: "assistant", content: [native.blocks[0], native.blocks[2], ...blocks] }]);
});

test("F4.22 a message of another provider is re-encoded", () => {
  const foreign = { ...reply, content: "I look.", native: { format: "openai-responses", blocks: [{ type: "reasoning" }] } };
  const messages = [
    said("user", "Hi"),
    foreign,
    called("c1", "a", { id: "call:1|x", input: { x: 1 } }),
    answered("c1", "a", { output: "ok" }),
  ];
  const { messages: written } = FORMAT.encodeMessages(messages);
  expect(written[1]).toEqual({
    role: "assistant",
    content: [
      { type: "text", text: "I look." },
      { type: "tool_use", id: expect.stringMatching(/^call_1_x_[0-9a-f]{16}$/u), name: "a", input: { x: 1 } },
    ],
  });
});

test("F4.20 results of one round are one message, before the user's text, and a call without a result gets one", () => {
  const messages = [called("c1", "a", { id: "t1" }), called("c2", "b", { id: "t2" }), said("user", "Hurry."), failed("c1", "a")];
  expect(FORMAT.encodeMessages(messages).messages.slice(2)).toEqual([
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "t1", content: "Error (timeout): too slow\nHint: Ask for less.", is_error: true },
        {
          type: "tool_result",
          tool_use_id: "t2",
          content: expect.stringContaining("Error (outcome_unknown)"),
          is_error: true,
        },
        { type: "text", text: "Hurry." },
      ],
    },
  ]);
});

test("F4.18 images and documents of a result are blocks, and other files are text", () => {
  const content = [
    { type: "text", text: "Here:" },
    PICTURE,
    { type: "file", uri: "data:application/pdf;base64,JVBERg==", name: "a.pdf" },
    { type: "file", uri: "file:///b.txt", text: "bee" },
    { type: "file", uri: "https://c.example/c.pdf", mediaType: "application/pdf" },
  ] as const;
  const { result } = answered("c1", "a", { content });
  expect(
    FORMAT.encodeResults([
      { id: "t1", name: "a", result },
      { name: "a", result: { ...result, content: [] } },
    ]),
  ).toEqual([
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          tool_use_id: "t1",
          content: [
            { type: "text", text: "Here:" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
            { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERg==" }, title: "a.pdf" },
            { type: "text", text: "bee" },
            { type: "text", text: "[file https://c.example/c.pdf]" },
          ],
        },
        { type: "tool_result", tool_use_id: "c1", content: "" },
      ],
    },
  ]);
  const partial = failed("c2", "a", { status: "partial", content: [PICTURE] }).result;
  expect(FORMAT.encodeResults([{ name: "a", result: partial }])[0]?.["content"]).toEqual([
    {
      type: "tool_result",
      tool_use_id: "c2",
      content: [
        { type: "text", text: "Error (timeout): too slow\nHint: Ask for less." },
        { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" } },
      ],
    },
  ]);
  expect(FORMAT.encodeResults([])).toEqual([]);
});
