import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelEvent, ModelReply, ModelTool } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { answered, called, said } from "./conversations.ts";
import { inputs, names, pieces } from "./generated.ts";

const FORMAT = anthropicMessages();
const USAGE = { input_tokens: 10, cache_read_input_tokens: 5, cache_creation_input_tokens: 3, output_tokens: 7 };
const WEATHER: ModelTool = {
  name: "default::get_weather",
  description: "Get current weather for location",
  inputSchema: {
    type: "object",
    properties: { location: { type: "string", description: "City and state" } },
    required: ["location"],
  },
};

function message(content: readonly JsonObject[], stop_reason = "tool_use"): JsonObject {
  return { type: "message", id: "msg_1", role: "assistant", model: "claude", content, stop_reason, stop_sequence: null, usage: USAGE };
}

function started(content: readonly JsonObject[] = []): JsonObject {
  const usage = { ...USAGE, output_tokens: 1 };
  return { type: "message_start", message: { ...message(content), stop_reason: null, usage } };
}

function start(index: number, content_block: JsonObject): JsonObject {
  return { type: "content_block_start", index, content_block };
}

function delta(index: number, type: string, fields: JsonObject): JsonObject {
  return { type: "content_block_delta", index, delta: { type: `${type}_delta`, ...fields } };
}

function json(index: number, partial_json: string): JsonObject {
  return delta(index, "input_json", { partial_json });
}

function stop(index: number): JsonObject {
  return { type: "content_block_stop", index };
}

function ended(stop_reason: string): readonly JsonObject[] {
  return [{ type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 7 } }, { type: "message_stop" }];
}

function use(id: string, name: string, input: JsonObject = {}): JsonObject {
  return { type: "tool_use", id, name, input };
}

function stream(events: readonly JsonValue[]): readonly ModelEvent[] {
  const decoder = FORMAT.decodeStream();
  return [...events.flatMap((event) => decoder.push(event)), ...decoder.end()];
}

function streamed(events: readonly JsonValue[]): ModelReply {
  const last = stream(events).at(-1);
  if (last?.type !== "reply-end") throw new Error("no reply");
  return last.reply;
}

/** A message in deltas, its texts cut into pieces. */
function inPieces(content: readonly JsonObject[], cut: (text: string) => readonly string[]): readonly JsonObject[] {
  const blocks = content.flatMap((block, index) => {
    if (block["type"] === "tool_use")
      return [
        start(index, { ...block, input: {} }),
        json(index, ""),
        ...cut(JSON.stringify(block["input"])).map((part) => json(index, part)),
        stop(index),
      ];
    const text = String(block["text"]);
    return [start(index, { type: "text", text: "" }), ...cut(text).map((part) => delta(index, "text", { text: part })), stop(index)];
  });
  return [started(), ...blocks, ...ended("tool_use")];
}

describe("errors and bad replies", () => {
  test.each([
    ["overloaded_error", "Overloaded", { code: "unavailable", retryable: true }],
    ["api_error", "Internal", { code: "unavailable", retryable: true }],
    ["rate_limit_error", "Slow down", { code: "rate_limited", retryable: true }],
    ["timeout_error", "Too slow", { code: "timeout", retryable: true }],
    ["permission_error", "Not you", { code: "permission_denied", retryable: false }],
    ["authentication_error", "Who are you", { code: "permission_denied", retryable: false }],
    ["request_too_large", "Too big", { code: "too_large", retryable: false }],
    ["invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum", { code: "too_large", retryable: false }],
    ["invalid_request_error", "bad field", { code: "model_failed", retryable: false }],
    ["constructor", "no such type", { code: "model_failed", retryable: false }],
  ])("F4.17 %s (%s) throws a typed error, in a stream and in place of a reply", (type, text, expected) => {
    const body = { type: "error", error: { type, message: text } };
    const error = expect.objectContaining({ ...expected, message: `Anthropic reports ${type}: ${text}` });
    expect(() => stream([started(), body])).toThrow(error);
    expect(() => FORMAT.decodeReply(body)).toThrow(error);
  });

  test.each<[JsonValue]>([[null], ["hello"], [[]], [{}], [{ content: "hello" }]])(
    "F4.17 %j is not a reply and throws model_failed",
    (body) => {
      expect(() => FORMAT.decodeReply(body)).toThrow(expect.objectContaining({ code: "model_failed" }));
    },
  );

  test("H07 a truncated stream returns no calls", () => {
    const whole = [started(), start(0, use("t1", "a")), stop(0), start(1, use("t2", "b")), json(1, '{"x"')];
    expect(streamed(whole)).toMatchObject({ finish: "truncated", calls: [] });
    expect(streamed([])).toEqual({
      text: "",
      reasoning: "",
      media: [],
      calls: [],
      providerCalls: [],
      finish: "truncated",
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  });

  test.each([
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "refusal"],
    ["pause_turn", "pause"],
    ["tomorrow", "other"],
    ["length", "length"],
  ])("F4.17 a message that ended with %s returns no calls", (reason, finish) => {
    const { calls, ...rest } = FORMAT.decodeReply(message([use("t1", "a")], reason));
    expect({ calls, finish: rest.finish, detail: rest.finishDetail }).toEqual({ calls: [], finish, detail: reason });
  });

  test.each(["tool_calls", "stop", "STOP", "function_call"])(
    "F4.17 the finish reason %s of another API ends a message with its calls",
    (reason) => {
      const { calls, finish } = FORMAT.decodeReply(message([use("t1", "a")], reason));
      expect([finish, calls.length]).toEqual(["calls", 1]);
    },
  );

  test("F4.17 input left as broken JSON by eager streaming stays text, and the call keeps its place", () => {
    const events = [
      started(),
      start(0, use("t1", "a")),
      json(0, '{"x": [1,'),
      stop(0),
      start(1, use("t2", "b")),
      stop(1),
      ...ended("tool_use"),
    ];
    expect(streamed(events).calls).toEqual([
      { id: "t1", name: "a", input: '{"x": [1,' },
      { id: "t2", name: "b", input: {} },
    ]);
  });

  test("F4.17 a block longer than maxChars throws too_large, whatever its type", () => {
    const many = [
      json(0, "x".repeat(60)),
      delta(0, "signature", { signature: "x".repeat(60) }),
      delta(0, "text", { text: "x".repeat(60) }),
    ];
    for (const one of many)
      for (const type of ["tool_use", "server_tool_use", "text", "thinking"]) {
        const decoder = FORMAT.decodeStream({ maxChars: 100 });
        const push = (): unknown => [started(), start(0, { type, id: "t", name: "a" }), one, one].map((event) => decoder.push(event));
        expect(push).toThrow(expect.objectContaining({ code: "too_large" }));
      }
  });

  test("F4.17 unknown events and fields are ignored", () => {
    const noise = [
      null,
      "[DONE]",
      7,
      [],
      {},
      { type: "ping" },
      { type: "tomorrow" },
      { type: "content_block_stop", index: 9 },
      json(9, "{"),
    ];
    const blank = [{ type: "message_start" }, { type: "content_block_start", index: 0 }, { type: "content_block_delta", index: 0 }];
    const known = [started(), start(0, use("t1", "a")), delta(0, "tomorrow", { text: "?" }), stop(0), ...ended("tool_use")];
    const events = known.flatMap((event) => [...noise, event, ...blank, ...noise]);
    expect(streamed(events)).toEqual(streamed(known));
  });
});

describe("a reply", () => {
  test("F4.17 decodes text, calls and tokens, and has no native form if it needs none", () => {
    const content = [
      { type: "text", text: "I look." },
      { ...use("t1", "web__search", { q: "x" }), caller: { type: "direct" } },
    ];
    expect(FORMAT.decodeReply(message(content))).toEqual({
      text: "I look.",
      reasoning: "",
      media: [],
      calls: [{ id: "t1", name: "web::search", input: { q: "x" } }],
      providerCalls: [],
      finish: "calls",
      finishDetail: "tool_use",
      usage: { inputTokens: 18, outputTokens: 7, cachedInputTokens: 5, cacheWriteTokens: 3 },
      model: "claude",
      id: "msg_1",
    });
  });

  test("F1.17 provider-executed calls are reported and kept unchanged, and are never calls", () => {
    const content = [
      { type: "thinking", thinking: "Hm.", signature: "c2ln" },
      { type: "redacted_thinking", data: "ZGF0YQ==" },
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://a.example" }] },
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "ask", server_name: "s", input: {} },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] },
      { type: "text", text: "Found.", citations: [{ type: "web_search_result_location", cited_text: "a" }] },
      { ...use("toolu_1", "bash", { command: "ls" }), caller: { type: "code_execution_20250825", tool_id: "srvtoolu_1" } },
    ];
    const reply = FORMAT.decodeReply(message(content));
    expect(reply).toMatchObject({
      text: "Found.",
      reasoning: "Hm.",
      calls: [{ id: "toolu_1", name: "bash", input: { command: "ls" } }],
      providerCalls: [
        { id: "srvtoolu_1", name: "web_search", kind: "server_tool_use", input: { query: "x" } },
        { id: "mcptoolu_1", name: "ask", kind: "mcp_tool_use", input: {} },
      ],
      native: { format: "anthropic-messages", blocks: content },
    });
  });

  test.each<[string, readonly JsonObject[]]>([
    ["text behind a call", [use("t1", "a"), { type: "text", text: "So." }]],
    ["a call out of a toolset", [{ ...use("t1", "click"), toolset_name: "browser" }]],
    ["a block that is not known", [{ type: "tomorrow", x: 1 }]],
  ])("F1.17 %s is kept unchanged in the native form", (_name, blocks) => {
    expect(FORMAT.decodeReply(message(blocks)).native).toEqual({ format: "anthropic-messages", blocks });
  });
});

describe("a streamed reply", () => {
  test("F4.17 a call is sealed when its block stops, blocks may interleave, and missing arguments are {}", () => {
    const events = stream([
      started(),
      start(0, use("t1", "a")),
      start(1, use("t2", "b")),
      json(1, ""),
      json(0, '{"x":'),
      json(0, "1}"),
      stop(1),
      stop(0),
      ...ended("tool_use"),
    ]);
    const one = { id: "t1", name: "a", input: { x: 1 } };
    const two = { id: "t2", name: "b", input: {} };
    expect(events.slice(0, -1)).toEqual([
      { type: "call-open", index: 0, name: "a" },
      { type: "call-open", index: 1, name: "b" },
      { type: "call-delta", index: 0, text: '{"x":' },
      { type: "call-delta", index: 0, text: "1}" },
      { type: "call-seal", index: 0, call: one },
      { type: "call-seal", index: 1, call: two },
    ]);
    expect(events.at(-1)).toMatchObject({ type: "reply-end", reply: { calls: [one, two], finish: "calls" } });
  });

  test("F4.17 native blocks from deltas equal those of the whole reply", () => {
    const citation = { type: "char_location", cited_text: "a" };
    const content = [
      { type: "thinking", thinking: "Let me see.", signature: "c2ln" },
      { type: "redacted_thinking", data: "ZGF0YQ==" },
      { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } },
      { type: "text", text: "It is so.", citations: [citation, citation] },
      { type: "compaction", content: "So far.", encrypted_content: "ZW5j" },
      use("t1", "a", { x: [1, "two"] }),
    ];
    const events = [
      started(),
      start(0, { type: "thinking", thinking: "", signature: "" }),
      delta(0, "thinking", { thinking: "Let me " }),
      delta(0, "thinking", { thinking: "see." }),
      delta(0, "signature", { signature: "c2ln" }),
      stop(0),
      start(1, { type: "redacted_thinking", data: "ZGF0YQ==" }),
      stop(1),
      start(2, { type: "server_tool_use", id: "s1", name: "web_search", input: {} }),
      json(2, '{"query"'),
      json(2, ':"x"}'),
      stop(2),
      start(3, { type: "text", text: "", citations: [] }),
      delta(3, "citations", { citation }),
      delta(3, "text", { text: "It is " }),
      delta(3, "citations", { citation }),
      delta(3, "text", { text: "so." }),
      stop(3),
      start(4, { type: "compaction", content: null }),
      delta(4, "compaction", { content: "So far.", encrypted_content: "ZW5j" }),
      stop(4),
      start(5, use("t1", "a")),
      json(5, '{"x":[1,"tw'),
      json(5, 'o"]}'),
      stop(5),
      ...ended("tool_use"),
    ];
    expect(streamed(events)).toEqual(FORMAT.decodeReply(message(content)));
  });

  test("F4.17 input that arrives whole, in a block's start or in the message, is decoded like deltas", () => {
    const block = { ...use("t1", "roll", { player: "one" }), caller: { type: "code_execution_20250825", tool_id: "s1" } };
    const whole = FORMAT.decodeReply(message([block]));
    expect(streamed([started(), start(0, block), stop(0), ...ended("tool_use")])).toEqual(whole);
    expect(streamed([started([block]), ...ended("tool_use")])).toEqual(whole);
    expect(streamed([{ type: "message_start", message: message([block]) }, { type: "message_stop" }])).toEqual(whole);
  });

  test("F4.17 a second message_start before the end voids the reply so far", () => {
    const events = stream([
      started(),
      start(0, use("t1", "a")),
      stop(0),
      started(),
      start(0, use("t2", "b")),
      stop(0),
      ...ended("tool_use"),
      started(),
      start(0, use("t3", "c")),
    ]);
    expect(events.map(({ type }) => type)).toEqual(["call-open", "call-seal", "reply-void", "call-open", "call-seal", "reply-end"]);
    expect(events.at(-1)).toMatchObject({ reply: { calls: [{ id: "t2", name: "b", input: {} }], finish: "calls" } });
  });

  test("F4.17 blocks without a start or stop event, as some gateways send them, are still read", () => {
    const thought = [delta(0, "thinking", { thinking: "Hm." }), delta(0, "signature", { signature: "c2ln" }), stop(0)];
    const call = [start(2, use("t1", "a")), json(2, '{"x":1}')];
    expect(streamed([started(), ...thought, delta(1, "text", { text: "So." }), ...call, ...ended("tool_use")])).toEqual(
      FORMAT.decodeReply(
        message([{ type: "thinking", thinking: "Hm.", signature: "c2ln" }, { type: "text", text: "So." }, use("t1", "a", { x: 1 })]),
      ),
    );
  });

  test("F4.17 later token counts replace earlier ones, and null is ignored", () => {
    const usage = { input_tokens: 20, cache_read_input_tokens: null, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    const close = { type: "message_delta", delta: { stop_reason: "end_turn" }, usage };
    expect(streamed([started(), close]).usage).toEqual({
      inputTokens: 28,
      outputTokens: 9,
      cachedInputTokens: 5,
      cacheWriteTokens: 3,
      reasoningTokens: 4,
    });
  });

  test("F4.17 the end is reported once", () => {
    const decoder = FORMAT.decodeStream();
    for (const event of [started(), ...ended("end_turn")]) decoder.push(event);
    expect(decoder.end().map(({ type }) => type)).toEqual(["reply-end"]);
    expect([decoder.end(), decoder.push(start(0, use("t1", "a")))]).toEqual([[], []]);
  });
});

describe("a request", () => {
  test("F4.16 encodes a tool byte for byte", () => {
    const { tools, toolNames, notes } = FORMAT.encodeTools([WEATHER]);
    expect(JSON.stringify(tools[0], null, 4)).toBe(`{
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
    expect([[...toolNames], notes]).toEqual([[["get_weather", "default::get_weather"]], []]);
  });

  test("F1.18 provider-defined tools are sent unchanged, and their calls are decoded to the tools' own names", () => {
    const bash = { type: "bash_20250124", name: "bash" };
    const search = { type: "web_search_20250305", name: "web_search" };
    const tools: readonly ModelTool[] = [
      { ...WEATHER, name: "shell::run", providers: { "anthropic-messages": bash } },
      { ...WEATHER, name: "web::search", providerExecuted: true, providers: { "anthropic-messages": search } },
      { ...WEATHER, name: "web::draw", providerExecuted: true, providers: { "openai-responses": { type: "image_generation" } } },
    ];
    const { body, toolNames, notes } = FORMAT.encodeRequest({ messages: [said("user", "Hi")], tools }, { model: "claude" });
    expect(body["tools"]).toEqual([bash, search]);
    expect(notes.map(({ kind, tool }) => [kind, tool])).toEqual([["unsupported", "web::draw"]]);
    expect(FORMAT.decodeReply(message([use("t1", "bash")]), { toolNames }).calls).toEqual([{ id: "t1", name: "shell::run", input: {} }]);
  });

  test("F4.16 strict is set only where nothing of the schema is lost", () => {
    const closed = { ...(WEATHER.inputSchema as JsonObject), additionalProperties: false };
    const tools = [
      { ...WEATHER, name: "a::closed", inputSchema: closed },
      { ...WEATHER, name: "a::long", inputSchema: { ...closed, properties: { location: { type: "string", maxLength: 3 } } } },
    ];
    const encoded = FORMAT.encodeTools(tools, { strict: true });
    expect(encoded.tools.map(({ name, strict }) => [name, strict])).toEqual([
      ["a__closed", true],
      ["a__long", undefined],
    ]);
    expect(encoded.tools[1]?.["input_schema"]).toEqual(tools[1]?.inputSchema);
    expect(encoded.notes.map(({ kind, tool }) => [kind, tool])).toEqual([["unsupported", "a::long"]]);
  });

  test("F4.16 encodes a minimal body and a complete one", () => {
    expect(FORMAT.path({ model: "claude" })).toBe("/messages");
    const messages = [said("system", "Be kind."), said("user", "Hi")];
    expect(FORMAT.encodeRequest({ messages: messages.slice(1) }, { model: "claude", stream: false }).body).toEqual({
      model: "claude",
      max_tokens: 8192,
      messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
    });
    const request = {
      system: "Be brief.",
      messages,
      tools: [WEATHER],
      parallelCalls: false,
      maxOutputTokens: 100,
      temperature: 0.5,
      native: { thinking: { type: "adaptive" }, max_tokens: 200 },
    };
    expect(FORMAT.encodeRequest(request, { model: "claude-sonnet-4-6" })).toEqual({
      body: {
        model: "claude-sonnet-4-6",
        max_tokens: 200,
        system: [
          { type: "text", text: "Be brief." },
          { type: "text", text: "Be kind." },
        ],
        messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
        tools: FORMAT.encodeTools([WEATHER]).tools,
        tool_choice: { type: "auto", disable_parallel_tool_use: true },
        temperature: 0.5,
        stream: true,
        thinking: { type: "adaptive" },
      },
      toolNames: new Map([["get_weather", "default::get_weather"]]),
      notes: [],
    });
  });

  test.each([
    ["auto", undefined, undefined],
    ["none", undefined, { type: "none" }],
    ["none", false, { type: "none" }],
    ["required", true, { type: "any" }],
    ["required", false, { type: "any", disable_parallel_tool_use: true }],
    [{ tool: "default::get_weather" }, undefined, { type: "tool", name: "get_weather" }],
  ] as const)("F4.16 encodes the choice %j with parallel calls %j as %j", (toolChoice, parallelCalls, expected) => {
    const rest = parallelCalls === undefined ? {} : { parallelCalls };
    const request = { messages: [], tools: [WEATHER], toolChoice, ...rest };
    expect(FORMAT.encodeRequest(request, { model: "claude-sonnet-4-6" }).body["tool_choice"]).toEqual(expected);
  });

  test("F4.16 an impossible tool choice throws invalid_argument", () => {
    const wrong = expect.objectContaining({ code: "invalid_argument" });
    const choose = (toolChoice: "required" | { readonly tool: string }, tools: readonly ModelTool[]): unknown =>
      FORMAT.encodeRequest({ messages: [], tools, toolChoice }, { model: "claude-sonnet-4-6" });
    expect(() => choose({ tool: "a::b" }, [WEATHER])).toThrow(wrong);
    expect(() => choose("required", [])).toThrow(wrong);
  });

  test("F4.21 without tools, past calls are encoded as text", () => {
    const messages = [said("user", "Hi"), called("c1", "a::b", { id: "t1" }), answered("c1", "a::b", { output: 1 })];
    const { body } = FORMAT.encodeRequest({ messages }, { model: "claude" });
    expect(JSON.stringify(body)).not.toContain("tool_");
    expect(JSON.stringify(body)).toContain("a::b");
    expect(JSON.stringify(FORMAT.encodeRequest({ messages, tools: [WEATHER] }, { model: "claude" }).body)).toContain('"tool_use_id":"t1"');
  });
});

test("F4.17 F4.18 calls and text round-trip, whole and split anywhere", () => {
  const calls = fc.array(fc.record({ name: names, input: inputs }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), calls, pieces, (text, made, cut) => {
      const messages = [
        said("user", "Hi"),
        said("assistant", text),
        ...made.map(({ name, input }, index) => called(`c${index}`, name, { id: `t${index}`, input })),
      ];
      const { messages: written, toolNames } = FORMAT.encodeMessages(messages);
      const content = written[1]?.["content"] as readonly JsonObject[];
      const whole = FORMAT.decodeReply(message(content), { toolNames });
      expect({ text: whole.text, calls: whole.calls }).toEqual({
        text: text.trim() === "" ? "" : text,
        calls: made.map(({ name, input }, index) => ({ id: `t${index}`, name, input })),
      });
      const decoder = FORMAT.decodeStream({ toolNames });
      for (const event of inPieces(content, cut)) decoder.push(event);
      expect(decoder.end()).toEqual([{ type: "reply-end", reply: whole }]);
    }),
  );
});
