import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelTool } from "../../src/core/model.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { allEvents, allPieces, frame, replyOf } from "./recorded-cases.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";

const format = cohere();
const TOOLS = ["look", "go"].map((name) => ({ name, description: "", inputSchema: true as const }));
const event = (type: string, message: JsonObject, index = 0): JsonObject => ({ type, index, delta: { message } });
const usage = { billed_units: { input_tokens: 1, output_tokens: 1 }, tokens: { input_tokens: 20, output_tokens: 8 } };
const start = (index: number, id: string, name: string): JsonObject =>
  event("tool-call-start", { tool_calls: { id, type: "function", function: { name, arguments: "" } } }, index);
const args = (index: number, text: string): JsonObject =>
  event("tool-call-delta", { tool_calls: { function: { arguments: text } } }, index);
const STREAM = [
  { id: "r1", type: "message-start", delta: { message: { role: "assistant", content: [], tool_plan: "", tool_calls: [] } } },
  event("tool-plan-delta", { tool_plan: "I " }),
  event("tool-plan-delta", { tool_plan: "look." }),
  start(0, "look_1", "n__look"),
  args(0, '{"at":'),
  args(0, '"it"}'),
  { type: "tool-call-end", index: 0 },
  start(1, "go_1", "go"),
  { type: "tool-call-end", index: 1 },
  { type: "message-end", delta: { finish_reason: "TOOL_CALL", usage } },
];
const MESSAGE = {
  role: "assistant",
  tool_plan: "I look.",
  tool_calls: [
    { id: "look_1", type: "function", function: { name: "n__look", arguments: '{"at":"it"}' } },
    { id: "go_1", type: "function", function: { name: "go", arguments: "{}" } },
  ],
};
const REPLY = {
  text: "",
  reasoning: "I look.",
  media: [],
  calls: [
    { id: "look_1", name: "n::look", input: { at: "it" } },
    { id: "go_1", name: "go", input: {} },
  ],
  providerCalls: [],
  finish: "calls",
  finishDetail: "TOOL_CALL",
  usage: { inputTokens: 20, outputTokens: 8 },
  native: { format: "cohere-chat", blocks: [MESSAGE] },
  id: "r1",
};

describe("F4.17 Cohere replies", () => {
  test("a stream split at every byte decodes like the whole message", () => {
    const bytes = Array.from(frame("sse", STREAM), (byte) => Uint8Array.of(byte));
    expect(replyOf(allEvents(format, allPieces("sse", bytes)))).toEqual(REPLY);
    expect(format.decodeReply({ id: "r1", finish_reason: "TOOL_CALL", message: MESSAGE, usage })).toEqual(REPLY);
  });
  test("a call is sealed at its tool-call-end", () => {
    const decoder = format.decodeStream();
    const seals = STREAM.map((piece) => decoder.push(piece).filter(({ type }) => type === "call-seal").length);
    expect(seals).toEqual([0, 0, 0, 0, 0, 0, 1, 0, 1, 0]);
  });
  test("text and thinking are decoded", () => {
    const content = [
      { type: "thinking", thinking: "Hm." },
      { type: "text", text: "Hi" },
    ];
    const streamed = allEvents(format, [
      event("content-start", { content: { type: "thinking", thinking: "Hm" } }),
      event("content-delta", { content: { thinking: "." } }),
      { type: "content-end", index: 0 },
      event("content-start", { content: { type: "text", text: "" } }, 1),
      event("content-delta", { content: { text: "Hi" } }, 1),
      event("citation-start", { citations: {} }),
      { type: "message-end", delta: { finish_reason: "COMPLETE" } },
    ]);
    const expected = { text: "Hi", reasoning: "Hm.", finish: "stop" };
    expect(replyOf(streamed)).toMatchObject(expected);
    expect(format.decodeReply({ finish_reason: "COMPLETE", message: { content } })).toMatchObject(expected);
  });
  test.each([
    ["MAX_TOKENS", "length"],
    ["ERROR", "error"],
    ["ERROR_TOXIC", "content-filter"],
    ["NOVEL", "other"],
  ])("a reply that finishes with %s returns no calls", (reason, finish) => {
    const stream = [...STREAM.slice(0, -1), { type: "message-end", delta: { finish_reason: reason } }];
    expect(replyOf(allEvents(format, stream))).toMatchObject({ calls: [], finish });
  });
  test("a truncated stream returns no calls", () => {
    expect(replyOf(allEvents(format, STREAM.slice(0, -1)))).toMatchObject({ calls: [], finish: "truncated" });
  });
  test.each([[null], [{}], [{ message: "invalid request" }]])("a body that is not a reply throws: %j", (body) => {
    expect(() => format.decodeReply(body)).toThrow(expect.objectContaining({ code: "model_failed" }));
  });
  test("an error at the end of a stream throws", () => {
    const end = { type: "message-end", delta: { finish_reason: "ERROR", error: "it broke" } };
    expect(() => allEvents(format, [end])).toThrow(/it broke/u);
  });
  test("F4.18 the tool plan is sent back with the calls it led to", () => {
    const { text, native } = format.decodeReply({ message: MESSAGE });
    const history = [
      { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) } as const,
      called("a", "n::look", { id: "look_1", input: { at: "it" } }),
      called("b", "go", { id: "go_1" }),
    ];
    expect(format.encodeMessages(history).messages[0]).toEqual(MESSAGE);
  });
});

describe("F4.16 Cohere requests", () => {
  test("encodes the whole body", () => {
    const { body, notes } = format.encodeRequest(
      {
        system: "Be brief.",
        messages: [said("document", "Nine.", "Hours"), said("user", [PICTURE])],
        tools: TOOLS,
        toolChoice: "required",
        parallelCalls: false,
        temperature: 0,
        maxOutputTokens: 5,
      },
      { model: "m", stream: false },
    );
    const written = TOOLS.map(({ name }) => ({
      type: "function",
      function: { name, description: "", parameters: { type: "object", properties: {} } },
    }));
    expect(body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: 'Document "Hours":\nNine.' },
        { role: "user", content: [{ type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }] },
      ],
      tools: written,
      tool_choice: "REQUIRED",
      max_tokens: 5,
      temperature: 0,
      stream: false,
    });
    expect(notes.map(({ kind }) => kind)).toEqual(["unsupported"]);
  });
  test("strict_tools is set only if every tool fits it, because the request would be rejected otherwise", () => {
    const tool = (name: string, rest: JsonObject): ModelTool => ({
      name,
      description: "",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, ...rest },
    });
    const fits = tool("fits", { required: ["city"] });
    const sent = (...tools: readonly ModelTool[]): readonly unknown[] => {
      const { body, notes } = format.encodeRequest({ messages: [said("user", "?")], tools }, { model: "m", strict: true });
      return [body["strict_tools"], notes.map(({ kind, tool: of }) => [kind, of])];
    };
    expect(sent(fits)).toEqual([true, []]);
    expect(sent(fits, tool("optional", {}))).toEqual([undefined, [["unsupported", "optional"]]]);
    expect(sent(fits, tool("bounded", { required: ["city"], minProperties: 1 }))).toEqual([undefined, [["unsupported", "bounded"]]]);
    const properties = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`field${index}`, { type: "string" }]));
    expect(sent(fits, tool("wide", { properties, required: ["field0"] }))).toEqual([undefined, [["unsupported", undefined]]]);
  });
  test("a tool that must be called is the only one offered, and choosing a tool that is not offered throws", () => {
    const { body } = format.encodeRequest({ messages: [], tools: TOOLS, toolChoice: { tool: "go" } }, { model: "m" });
    expect(body).toMatchObject({ tool_choice: "REQUIRED", tools: [{ function: { name: "go" } }] });
    expect((body["tools"] as readonly JsonValue[]).length).toBe(1);
    expect(format.encodeRequest({ messages: [], tools: TOOLS, toolChoice: "none" }, { model: "m" }).body).toMatchObject({
      tool_choice: "NONE",
    });
    expect(() => format.encodeRequest({ messages: [], tools: TOOLS, toolChoice: { tool: "x" } }, { model: "m" })).toThrow(/"x" is chosen/u);
  });
  test("F4.18 results are documents if they are objects, else text, and images follow", () => {
    const messages = [
      said("assistant", "I look."),
      called("a", "look", { id: "1" }),
      called("b", "look", { id: "2" }),
      called("c", "look", { id: "3" }),
      answered("a", "look", { output: { seen: true } }),
      failed("b", "look"),
      answered("c", "look", { content: [PICTURE] }),
    ];
    const tool_calls = ["1", "2", "3"].map((id) => ({ id, type: "function", function: { name: "look", arguments: "{}" } }));
    expect(format.encodeMessages(messages).messages).toEqual([
      { role: "assistant", tool_plan: "I look.", tool_calls },
      { role: "tool", tool_call_id: "1", content: [{ type: "document", document: { data: { seen: true } } }] },
      { role: "tool", tool_call_id: "2", content: "Error (timeout): too slow\nHint: Ask for less." },
      { role: "tool", tool_call_id: "3", content: "[image image/png]" },
      {
        role: "user",
        content: [
          { type: "text", text: "Attachments of 3:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        ],
      },
    ]);
  });
});

test("F4.18 calls round-trip through the message they are encoded in", () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1, maxLength: 4 }), (inputs) => {
      const sent = inputs.map((input, index) => ({
        id: `call_${index}`,
        name: "n::look",
        input: { input: JSON.parse(JSON.stringify(input)) as JsonValue },
      }));
      const { messages, toolNames } = format.encodeMessages(sent.map(({ id, name, input }) => called(id, name, { id, input })));
      expect(format.decodeReply({ message: messages[0] ?? null }, { toolNames }).calls).toEqual(sent);
    }),
  );
});
