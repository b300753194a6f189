import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { allEvents, allPieces, frame, replyOf } from "./recorded-cases.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";

const format = ollama();
const TOOLS = [{ name: "look", description: "Looks.", inputSchema: true as const }];
const line = (message: JsonObject, more: JsonObject = {}): JsonObject => ({
  model: "m",
  message: { role: "assistant", ...message },
  done: false,
  ...more,
});
const DONE = {
  model: "m",
  message: { role: "assistant", content: "" },
  done: true,
  done_reason: "stop",
  prompt_eval_count: 9,
  eval_count: 4,
};
const call = (name: string, input: JsonValue, more: JsonObject = {}): JsonObject => ({ ...more, function: { name, arguments: input } });

describe("F4.17 Ollama replies", () => {
  test("a call is sealed in the line that contains it", () => {
    const decoder = format.decodeStream();
    const seals = [
      line({ content: "", tool_calls: [call("a", { x: 1 })] }),
      line({ tool_calls: [call("ns__b", "{}", { id: "call_1" })] }),
      DONE,
    ].map((piece) => decoder.push(piece).flatMap((event) => (event.type === "call-seal" ? [event.call] : [])));
    expect(seals).toEqual([[{ name: "a", input: { x: 1 } }], [{ id: "call_1", name: "ns::b", input: {} }], []]);
    expect(replyOf(decoder.end())).toMatchObject({ finish: "calls", finishDetail: "stop", usage: { inputTokens: 9, outputTokens: 4 } });
  });
  test("thinking and text are assembled from a stream split at every byte", () => {
    const pieces = [line({ thinking: "H" }), line({ thinking: "m." }), line({ content: "Hé" }), line({ content: "llo" }), DONE];
    const bytes = Array.from(frame("json-lines", pieces), (byte) => Uint8Array.of(byte));
    expect(replyOf(allEvents(format, allPieces("json-lines", bytes)))).toEqual({
      text: "Héllo",
      reasoning: "Hm.",
      media: [],
      calls: [],
      providerCalls: [],
      finish: "stop",
      finishDetail: "stop",
      usage: { inputTokens: 9, outputTokens: 4 },
      model: "m",
    });
  });
  test("a stream without its last line returns no calls", () => {
    expect(replyOf(allEvents(format, [line({ tool_calls: [call("a", {})] })]))).toMatchObject({ calls: [], finish: "truncated" });
  });
  test("a message truncated at the token limit returns no calls", () => {
    expect(format.decodeReply({ ...DONE, done_reason: "length", message: { tool_calls: [call("a", {})] } })).toMatchObject({
      calls: [],
      finish: "length",
    });
  });
  test.each([
    [{ error: "model is broken" }, "model_failed"],
    ["no json", "model_failed"],
    [{ error: { message: "slow", code: 429 } }, "rate_limited"],
  ])("an error in the stream throws: %j", (piece, code) => {
    expect(() => allEvents(format, [line({ content: "Hi" }), piece])).toThrow(expect.objectContaining({ code }));
  });
  test.each([[null], [{}], [{ message: "x" }]])("a body that is not a reply throws: %j", (body) => {
    expect(() => format.decodeReply(body)).toThrow(expect.objectContaining({ code: "model_failed" }));
  });
  test.each([
    ["with ids", { id: "call_1" }],
    ["without", {}],
  ])("F4.18 thinking is sent back with the calls it led to, %s", (_, id) => {
    const message = { role: "assistant", content: "I look.", thinking: "Hm.", tool_calls: [call("look", { at: "it" }, id)] };
    const { native, text } = format.decodeReply({ ...DONE, message });
    const history = [
      { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) } as const,
      called("c", "look", { ...id, input: { at: "it" } }),
      answered("c", "look", { output: "ok" }),
    ];
    const [written] = format.encodeMessages(history).messages;
    expect(written).toEqual(message);
  });
});

describe("F4.16 Ollama requests", () => {
  test("encodes the whole body, and notes an unsupported tool choice and parallelCalls", () => {
    const { body, notes } = format.encodeRequest(
      {
        system: "Be brief.",
        messages: [said("user", [{ type: "text", text: "What?" }, PICTURE])],
        tools: TOOLS,
        toolChoice: "required",
        parallelCalls: true,
        temperature: 0,
        maxOutputTokens: 5,
        native: { think: true },
      },
      { model: "m" },
    );
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "What?\n[image image/png]", images: ["iVBORw0KGgo="] },
      ],
      tools: [{ type: "function", function: { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } } }],
      options: { temperature: 0, num_predict: 5 },
      stream: true,
      think: true,
    });
    expect(notes.map(({ kind }) => kind)).toEqual(["unsupported", "unsupported"]);
  });
  test("the choice none omits the tools, and choosing a tool that is not offered throws", () => {
    expect(format.encodeRequest({ messages: [], tools: TOOLS, toolChoice: "none" }, { model: "m" }).body).toEqual({
      model: "m",
      messages: [],
      stream: true,
    });
    expect(() => format.encodeRequest({ messages: [], tools: TOOLS, toolChoice: { tool: "x" } }, { model: "m" })).toThrow(/"x" is chosen/u);
  });
  test("F4.18 results name tool and call, errors are text, and images follow", () => {
    const messages = [
      called("a", "look", { id: "1", input: "odd" }),
      called("b", "look", { id: "2" }),
      failed("a", "look"),
      answered("b", "look", { content: [PICTURE] }),
    ];
    expect(format.encodeMessages(messages).messages).toEqual([
      { role: "assistant", content: "", tool_calls: [call("look", { value: "odd" }, { id: "1" }), call("look", {}, { id: "2" })] },
      { role: "tool", tool_name: "look", tool_call_id: "1", content: "Error (timeout): too slow\nHint: Ask for less." },
      { role: "tool", tool_name: "look", tool_call_id: "2", content: "[image image/png]" },
      { role: "user", content: "Attachments of 2:", images: ["iVBORw0KGgo="] },
    ]);
    const { result } = answered("a", "n::look", { output: 1 });
    expect(format.encodeResults([{ name: "n::look", result }])).toEqual([{ role: "tool", tool_name: "n__look", content: "1" }]);
  });
});

test("F4.18 calls round-trip through the message they are encoded in", () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 4 }), (inputs) => {
      const sent = inputs.map((input, index) => ({
        id: `call_${index}`,
        name: "n::look",
        input: JSON.parse(JSON.stringify(input)) as JsonValue,
      }));
      const { messages, toolNames } = format.encodeMessages(sent.map(({ id, name, input }) => called(id, name, { id, input })));
      expect(format.decodeReply({ ...DONE, message: messages[0] ?? null }, { toolNames }).calls).toEqual(sent);
    }),
  );
});

test("F4.18 an image in a format that no model reads is described, not sent", () => {
  const drawing = { type: "image", mediaType: "image/svg+xml", data: "PHN2Zy8+" } as const;
  const { messages } = format.encodeMessages([
    said("user", [drawing]),
    called("c1", "look"),
    answered("c1", "look", { content: [drawing] }),
  ]);
  expect(JSON.stringify(messages)).not.toContain(drawing.data);
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  expect(messages[0]).toEqual({ role: "user", content: "[image image/svg+xml]" });
});
