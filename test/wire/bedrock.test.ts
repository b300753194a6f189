import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelEvent, ModelReply, ModelTool } from "../../src/core/model.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";
import { inputs, names, pieces } from "./generated.ts";

const FORMAT = bedrockConverse();
const USAGE = { inputTokens: 10, outputTokens: 7, cacheReadInputTokens: 5, cacheWriteInputTokens: 3, totalTokens: 25 };
const SCHEMA: JsonObject = { type: "object", properties: { city: { type: "string" } } };
const WEATHER: ModelTool = { name: "weather::get", description: "The weather", inputSchema: SCHEMA };
const SPEC = { name: "weather__get", description: "The weather", inputSchema: { json: SCHEMA } };

function message(content: readonly JsonObject[], stopReason = "tool_use"): JsonObject {
  return { output: { message: { role: "assistant", content } }, stopReason, usage: USAGE, metrics: { latencyMs: 1 } };
}

const STARTED: JsonObject = { messageStart: { role: "assistant", p: "abc" } };

function start(contentBlockIndex: number, start: JsonObject): JsonObject {
  return { contentBlockStart: { contentBlockIndex, start, p: "ab" } };
}

function delta(contentBlockIndex: number, delta: JsonObject): JsonObject {
  return { contentBlockDelta: { contentBlockIndex, delta, p: "abcdef" } };
}

function json(index: number, input: string): JsonObject {
  return delta(index, { toolUse: { input } });
}

function stop(contentBlockIndex: number): JsonObject {
  return { contentBlockStop: { contentBlockIndex } };
}

function ended(stopReason = "tool_use"): readonly JsonObject[] {
  return [{ messageStop: { stopReason } }, { metadata: { usage: USAGE, metrics: { latencyMs: 1 } } }];
}

function use(toolUseId: string, name: string, input: JsonObject = {}): JsonObject {
  return { toolUse: { toolUseId, name, input } };
}

function opened(toolUseId: string, name: string): JsonObject {
  return { toolUse: { toolUseId, name } };
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

describe("errors and bad replies", () => {
  test.each([
    ["throttlingException", "Slow down", { code: "rate_limited", retryable: true }],
    ["serviceUnavailableException", "Later", { code: "unavailable", retryable: true }],
    ["internalServerException", "Oh", { code: "unavailable", retryable: true }],
    ["modelStreamErrorException", "Again", { code: "model_failed", retryable: true }],
    ["modelTimeoutException", "Too slow", { code: "timeout", retryable: true }],
    ["AccessDeniedException", "Not you", { code: "permission_denied", retryable: false }],
    ["validationException", "Input is too long for requested model.", { code: "too_large", retryable: false }],
    ["validationException", "bad field", { code: "model_failed", retryable: false }],
    ["InternalFailure", "Oh", { code: "model_failed", retryable: false }],
  ])("F4.17 %s (%s) throws a typed error, in a stream and in place of a reply", (type, text, expected) => {
    const error = expect.objectContaining({ ...expected, message: `Bedrock reports ${type}: ${text}` });
    expect(() => stream([STARTED, { [type]: { message: text } }])).toThrow(error);
    expect(() => FORMAT.decodeReply({ __type: `com.amazon.coral.service#${type}`, message: text })).toThrow(error);
  });

  test.each<[JsonValue]>([[null], ["hello"], [[]], [{}], [{ output: { message: {} } }], [{ message: "no type" }]])(
    "F4.17 %j is not a reply and throws model_failed",
    (body) => {
      expect(() => FORMAT.decodeReply(body)).toThrow(expect.objectContaining({ code: "model_failed" }));
    },
  );

  test("H07 a truncated stream returns no calls", () => {
    expect(streamed([STARTED, start(0, opened("t1", "a")), stop(0)])).toMatchObject({ finish: "truncated", calls: [] });
  });

  test.each([
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["guardrail_intervened", "content-filter"],
    ["content_filtered", "content-filter"],
    ["malformed_tool_use", "error"],
    ["malformed_model_output", "error"],
    ["constructor", "other"],
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

  test("F4.17 input that is broken JSON stays text, and the call keeps its place", () => {
    const events = [STARTED, start(0, opened("t1", "a")), json(0, '{"x": ['), stop(0), start(1, opened("t2", "b")), stop(1), ...ended()];
    expect(streamed(events).calls).toEqual([
      { id: "t1", name: "a", input: '{"x": [' },
      { id: "t2", name: "b", input: {} },
    ]);
  });

  test("F4.17 a block longer than maxChars throws too_large, whatever its type", () => {
    const long = "x".repeat(60);
    const many = [{ text: long }, { reasoningContent: { signature: long } }, { toolUse: { input: long } }, { citation: { title: long } }];
    for (const one of many)
      for (const begin of [opened("t", "a"), { toolUse: { toolUseId: "t", name: "a", type: "server_tool_use" } }, {}]) {
        const decoder = FORMAT.decodeStream({ maxChars: 100 });
        const push = (): unknown => [start(0, begin), delta(0, one), delta(0, one)].map((event) => decoder.push(event));
        expect(push).toThrow(expect.objectContaining({ code: "too_large" }));
      }
  });

  test("F4.17 unknown events and fields are ignored", () => {
    const noise = [null, "[DONE]", 7, [], {}, { tomorrow: { x: 1 } }, { contentBlockDelta: {} }, { messageStop: 1 }, stop(9), json(8, "")];
    const known = [STARTED, start(0, opened("t1", "a")), delta(0, { tomorrow: 1 }), stop(0), ...ended()];
    const events = known.flatMap((event) => [...noise, event, ...noise]);
    expect(streamed(events).calls).toEqual(streamed(known).calls);
  });
});

describe("a reply", () => {
  test("F4.17 decodes text, calls and tokens, and has no native form if it needs none", () => {
    const typed = { toolUse: { toolUseId: "t1", name: "web__search", input: { q: "x" }, type: "tool_use" } };
    expect(FORMAT.decodeReply(message([{ text: "I look." }, typed]))).toEqual({
      text: "I look.",
      reasoning: "",
      media: [],
      calls: [{ id: "t1", name: "web::search", input: { q: "x" } }],
      providerCalls: [],
      finish: "calls",
      finishDetail: "tool_use",
      usage: { inputTokens: 18, outputTokens: 7, cachedInputTokens: 5, cacheWriteTokens: 3 },
    });
  });

  test("F1.17 native blocks and images from deltas equal those of the whole reply, and provider-executed calls are not calls", () => {
    const citation = { title: "A", location: { documentChar: { documentIndex: 0, start: 0, end: 1 } } };
    const content = [
      { reasoningContent: { reasoningText: { text: "Let me see.", signature: "c2ln" } } },
      { reasoningContent: { redactedContent: "YWJjZA==" } },
      { toolUse: { toolUseId: "s1", name: "nova_grounding", type: "server_tool_use", input: { query: "x" } } },
      { toolResult: { toolUseId: "s1", type: "nova_grounding_result", content: [{ text: "Found." }, { json: { x: 1 } }] } },
      { citationsContent: { content: [{ text: "It is so." }], citations: [citation] } },
      { image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } },
      use("t1", "a", { x: [1, "two"] }),
      { text: "So." },
    ];
    const events = [
      STARTED,
      delta(0, { reasoningContent: { text: "Let me " } }),
      delta(0, { reasoningContent: { text: "see." } }),
      delta(0, { reasoningContent: { signature: "c2ln" } }),
      stop(0),
      delta(1, { reasoningContent: { redactedContent: "YWI=" } }),
      delta(1, { reasoningContent: { redactedContent: "Y2Q=" } }),
      stop(1),
      start(2, { toolUse: { toolUseId: "s1", name: "nova_grounding", type: "server_tool_use" } }),
      json(2, '{"query":'),
      json(2, '"x"}'),
      stop(2),
      start(3, { toolResult: { toolUseId: "s1", type: "nova_grounding_result" } }),
      delta(3, { toolResult: [{ text: "Fou" }] }),
      delta(3, { toolResult: [{ text: "nd." }, { json: { x: 1 } }] }),
      stop(3),
      delta(4, { text: "It is " }),
      delta(4, { text: "so." }),
      delta(4, { citation }),
      stop(4),
      start(5, { image: { format: "png" } }),
      delta(5, { image: { source: { bytes: "iVBORw0KGgo=" } } }),
      stop(5),
      start(6, opened("t1", "a")),
      json(6, '{"x":[1,"tw'),
      json(6, 'o"]}'),
      stop(6),
      delta(7, { text: "So." }),
      stop(7),
      ...ended(),
    ];
    const whole = FORMAT.decodeReply(message(content));
    expect(whole).toMatchObject({
      text: "It is so.So.",
      reasoning: "Let me see.",
      media: [PICTURE],
      calls: [{ id: "t1", name: "a", input: { x: [1, "two"] } }],
      providerCalls: [{ id: "s1", name: "nova_grounding", kind: "server_tool_use", input: { query: "x" } }],
      native: { format: "bedrock-converse", blocks: content },
    });
    expect(streamed(events)).toEqual(whole);
  });

  test("F4.17 a call is sealed when its block stops, blocks may interleave, and usage may come before the end", () => {
    const [over = {}, counted = {}] = ended();
    const events = stream([
      STARTED,
      start(0, opened("t1", "a")),
      start(1, opened("t2", "b")),
      json(0, '{"x":1}'),
      stop(1),
      stop(0),
      counted,
      over,
    ]);
    expect(events.map(({ type }) => type)).toEqual(["call-open", "call-open", "call-delta", "call-seal", "call-seal", "reply-end"]);
    expect(events.at(-1)).toMatchObject({
      reply: {
        calls: [
          { id: "t1", name: "a", input: { x: 1 } },
          { id: "t2", name: "b", input: {} },
        ],
        finish: "calls",
        usage: { inputTokens: 18 },
      },
    });
  });

  test("F4.17 a second messageStart voids the reply so far, and the end is reported once", () => {
    const decoder = FORMAT.decodeStream();
    const events = [STARTED, delta(0, { text: "One" }), STARTED, delta(0, { text: "Two" }), ...ended("end_turn")].flatMap((event) =>
      decoder.push(event),
    );
    expect(events.map(({ type }) => type)).toEqual(["text-delta", "reply-void", "text-delta"]);
    expect(decoder.end()).toMatchObject([{ type: "reply-end", reply: { text: "Two", finish: "stop" } }]);
    expect([decoder.end(), decoder.push(STARTED)]).toEqual([[], []]);
  });
});

describe("a request", () => {
  test("F4.16 is sent to a path that contains the encoded model id", () => {
    const model = "arn:aws:bedrock:eu-west-1::foundation-model/x.y-v1:0";
    const id = "arn%3Aaws%3Abedrock%3Aeu-west-1%3A%3Afoundation-model%2Fx.y-v1%3A0";
    expect(FORMAT.path({ model })).toBe(`/model/${id}/converse-stream`);
    expect(FORMAT.path({ model, stream: false })).toBe(`/model/${id}/converse`);
  });

  test("F4.16 encodes a minimal body and a complete one", () => {
    const messages = [said("system", "Be kind."), said("user", "Hi")];
    const spoken = [{ role: "user", content: [{ text: "Hi" }] }];
    expect(FORMAT.encodeRequest({ messages: messages.slice(1) }, { model: "m" }).body).toEqual({ messages: spoken });
    const cachePoint = { cachePoint: { type: "default" } };
    const grounding = { systemTool: { name: "nova_grounding" } };
    const tools: readonly ModelTool[] = [
      WEATHER,
      { ...WEATHER, name: "a::quiet", description: "" },
      { ...WEATHER, name: "a::search", providerExecuted: true, providers: { "bedrock-converse": grounding } },
      { ...WEATHER, name: "a::cache", providers: { "bedrock-converse": cachePoint } },
    ];
    const request = {
      system: "Be brief.",
      messages,
      tools,
      parallelCalls: false,
      maxOutputTokens: 100,
      temperature: 0.5,
      native: { additionalModelRequestFields: { x: 1 } },
    };
    expect(FORMAT.encodeRequest(request, { model: "m" })).toEqual({
      body: {
        messages: spoken,
        system: [{ text: "Be brief." }, { text: "Be kind." }],
        inferenceConfig: { maxTokens: 100, temperature: 0.5 },
        toolConfig: {
          tools: [{ toolSpec: SPEC }, { toolSpec: { name: "a__quiet", inputSchema: SPEC.inputSchema } }, grounding, cachePoint],
        },
        additionalModelRequestFields: { x: 1 },
      },
      toolNames: new Map([
        ["weather__get", "weather::get"],
        ["a__quiet", "a::quiet"],
      ]),
      notes: [{ kind: "unsupported", note: "bedrock-converse has no setting for one call at a time." }],
    });
  });

  test.each([
    ["auto", undefined],
    ["required", { any: {} }],
    [{ tool: "weather::get" }, { tool: { name: "weather__get" } }],
  ] as const)("F4.16 encodes the tool choice %j as %j", (toolChoice, expected) => {
    const { body } = FORMAT.encodeRequest({ messages: [], tools: [WEATHER], toolChoice }, { model: "m" });
    expect(body["toolConfig"]).toEqual({ tools: [{ toolSpec: SPEC }], ...(expected === undefined ? {} : { toolChoice: expected }) });
  });

  test("F1.18 a provider-defined tool keeps its native name, and its calls are decoded to the tool's own name", () => {
    const own = { toolSpec: { ...SPEC, name: "forecast" } };
    const tools = [{ ...WEATHER, providers: { "bedrock-converse": own } }];
    const { body, toolNames } = FORMAT.encodeRequest({ messages: [], tools, toolChoice: { tool: "weather::get" } }, { model: "m" });
    expect(body["toolConfig"]).toEqual({ tools: [own], toolChoice: { tool: { name: "forecast" } } });
    expect(FORMAT.decodeReply(message([use("t1", "forecast")]), { toolNames }).calls).toEqual([
      { id: "t1", name: "weather::get", input: {} },
    ]);
  });

  test("F4.16 references in a schema are inlined for Nova only", () => {
    const inputSchema = { type: "object", properties: { at: { $ref: "#/$defs/place" } }, $defs: { place: { type: "string" } } };
    const schemaFor = (model: string): unknown => FORMAT.encodeTools([{ ...WEATHER, inputSchema }], { model }).tools[0];
    expect(schemaFor("us.amazon.nova-pro-v1:0")).toEqual({
      toolSpec: { ...SPEC, inputSchema: { json: { type: "object", properties: { at: { type: "string" } } } } },
    });
    expect(schemaFor("eu.anthropic.claude-sonnet-4-5-20250929-v1:0")).toEqual({
      toolSpec: { ...SPEC, inputSchema: { json: inputSchema } },
    });
  });

  test("F4.16 an impossible tool choice throws invalid_argument", () => {
    const wrong = expect.objectContaining({ code: "invalid_argument" });
    expect(() => FORMAT.encodeRequest({ messages: [], tools: [WEATHER], toolChoice: { tool: "a" } }, { model: "m" })).toThrow(wrong);
    expect(() => FORMAT.encodeRequest({ messages: [], toolChoice: "required" }, { model: "m" })).toThrow(wrong);
  });

  test("F4.21 without tools, or with the tool choice none, past calls are encoded as text", () => {
    const native = {
      format: "bedrock-converse",
      blocks: [{ toolUse: { toolUseId: "s1", name: "nova_grounding", type: "server_tool_use", input: {} } }, { text: "Found." }],
    };
    const messages = [
      said("user", "Hi"),
      { role: "assistant", at: 0, content: "Found.", native } as const,
      called("c1", "a::b", { id: "t1" }),
      answered("c1", "a::b", { output: 1 }),
      { role: "assistant", at: 0, content: "Found.", native } as const,
    ];
    for (const request of [{ messages }, { messages, tools: [WEATHER], toolChoice: "none" as const }]) {
      const { body } = FORMAT.encodeRequest(request, { model: "m" });
      expect(JSON.stringify(body)).not.toContain("tool");
      expect(JSON.stringify(body)).toContain("a::b");
    }
    expect(JSON.stringify(FORMAT.encodeRequest({ messages, tools: [WEATHER] }, { model: "m" }).body)).toContain('"toolUseId":"t1"');
  });
});

describe("a conversation", () => {
  test("F4.20 reasoning is sent back unchanged with the service's ids, without missing calls and blank texts", () => {
    const thought = { reasoningContent: { reasoningText: { text: "Hm.", signature: "c2ln" } } };
    const own = use("functions.a:0", "a");
    const content = [thought, { text: " " }, own, use("t2", "b")];
    const reply = FORMAT.decodeReply(message(content));
    expect(reply.native?.blocks).toEqual(content);
    const messages = [
      said("user", "Hi"),
      { role: "assistant", at: 0, content: reply.text, native: { format: "bedrock-converse", blocks: content } } as const,
      called("c1", "a", { id: "functions.a:0" }),
      answered("c1", "a", { output: "ok" }),
      called("c2", "a", { id: "functions.a:0" }),
      answered("c2", "a", { output: { again: true } }),
    ];
    const id = expect.stringMatching(/^functions_a_0_[0-9a-f_]{33}$/u);
    expect(FORMAT.encodeMessages(messages).messages.slice(1)).toEqual([
      { role: "assistant", content: [thought, own] },
      { role: "user", content: [{ toolResult: { toolUseId: "functions.a:0", content: [{ text: "ok" }], status: "success" } }] },
      { role: "assistant", content: [{ toolUse: { toolUseId: id, name: "a", input: {} } }] },
      { role: "user", content: [{ toolResult: { toolUseId: id, content: [{ json: { again: true } }], status: "success" } }] },
    ]);
  });

  test.each([
    ["us.anthropic.claude-sonnet-4-5", ["signed", "redacted"]],
    ["us.deepseek.r1-v1:0", ["plain"]],
    ["arn:aws:bedrock:us-east-1::foundation-model/openai.gpt-oss-120b-1:0", ["plain"]],
    ["arn:aws:bedrock:us-east-1:1:application-inference-profile/abc", ["signed", "redacted", "plain"]],
  ])("F4.20 %s is sent only the kind of reasoning that it accepts", (model, kept) => {
    const reasoning = {
      signed: { reasoningContent: { reasoningText: { text: "Hm.", signature: "s" } } },
      redacted: { reasoningContent: { redactedContent: "eA==" } },
      plain: { reasoningContent: { reasoningText: { text: "Hm." } } },
    };
    const native = { format: FORMAT.name, blocks: [...Object.values(reasoning), { text: "Hi." }] };
    const reply = { role: "assistant", at: 0, content: "Hi.", native } as const;
    const { messages } = FORMAT.encodeMessages([said("user", "Hi"), reply], { model });
    const wanted = Object.entries(reasoning).flatMap(([kind, block]) => (kept.includes(kind) ? [block] : []));
    expect(messages[1]).toEqual({ role: "assistant", content: [...wanted, { text: "Hi." }] });
  });

  test("F4.22 ids of other providers are sanitised", () => {
    const messages = [said("user", "Hi"), called("c1", "a", { id: "call:1|x" }), failed("c1", "a")];
    const id = expect.stringMatching(/^call_1_x_[0-9a-f]{16}$/u);
    expect(FORMAT.encodeMessages(messages).messages.slice(1)).toEqual([
      { role: "assistant", content: [{ toolUse: { toolUseId: id, name: "a", input: {} } }] },
      {
        role: "user",
        content: [
          { toolResult: { toolUseId: id, content: [{ text: "Error (timeout): too slow\nHint: Ask for less." }], status: "error" } },
        ],
      },
    ]);
  });

  test("F4.18 results are encoded as text, JSON, images and documents with valid names", () => {
    const pdf = { type: "file", uri: "data:application/pdf;base64,JVBERg==", name: "a/b  ä.pdf" } as const;
    const content = [{ type: "text", text: "Here:" }, PICTURE, pdf, pdf, { type: "file", uri: "data:x/y;base64,AA==", name: "z" }] as const;
    const { result } = answered("c1", "a", { content });
    const rows = [
      result,
      { ...result, content: [] },
      answered("c2", "a", { output: { x: 1 } }).result,
      answered("c3", "a", { output: [1] }).result,
    ];
    const [first] = FORMAT.encodeResults(rows.map((one) => ({ name: "a", result: one })));
    const document = { format: "pdf", source: { bytes: "JVBERg==" } };
    expect(first).toEqual({
      role: "user",
      content: [
        {
          toolResult: {
            toolUseId: "c1",
            content: [
              { text: "Here:" },
              { image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } },
              { document: { ...document, name: "a b pdf" } },
              { document: { ...document, name: "a b pdf (2)" } },
              { text: "[file z: x/y, 1 byte]" },
            ],
            status: "success",
          },
        },
        { toolResult: { toolUseId: "c1", content: [{ text: "(no output)" }], status: "success" } },
        { toolResult: { toolUseId: "c2", content: [{ json: { x: 1 } }], status: "success" } },
        { toolResult: { toolUseId: "c3", content: [{ text: "[1]" }], status: "success" } },
      ],
    });
    const partial = failed("c2", "a", { status: "partial", content: [PICTURE] }).result;
    expect(FORMAT.encodeResults([{ name: "a", result: partial }])[0]?.["content"]).toEqual([
      {
        toolResult: {
          toolUseId: "c2",
          content: [
            { text: "Error (timeout): too slow\nHint: Ask for less." },
            { image: { format: "png", source: { bytes: "iVBORw0KGgo=" } } },
          ],
          status: "success",
        },
      },
    ]);
    expect(FORMAT.encodeResults([])).toEqual([]);
  });

  test("F4.18 a user's document is sent with a text, and a model that only reads JSON results is sent JSON", () => {
    const file = { type: "file", uri: "data:text/plain;base64,SGk=" } as const;
    const messages = [said("user", [file]), called("c1", "a", { id: "t1" }), answered("c1", "a", { output: "ok" })];
    expect(FORMAT.encodeMessages(messages, { model: "mistral.mistral-large-2407-v1:0" }).messages).toEqual([
      {
        role: "user",
        content: [{ document: { format: "txt", name: "Document", source: { bytes: "SGk=" } } }, { text: "(The document is above.)" }],
      },
      { role: "assistant", content: [use("t1", "a")] },
      { role: "user", content: [{ toolResult: { toolUseId: "t1", content: [{ json: { output: "ok" } }], status: "success" } }] },
    ]);
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
      const blocks = content.flatMap(({ text: spoken, toolUse }, index) => {
        if (typeof spoken === "string") return [...cut(spoken).map((part) => delta(index, { text: part })), stop(index)];
        const { input, ...head } = toolUse as JsonObject;
        return [start(index, { toolUse: head }), ...cut(JSON.stringify(input)).map((part) => json(index, part)), stop(index)];
      });
      const decoder = FORMAT.decodeStream({ toolNames });
      for (const event of [STARTED, ...blocks, ...ended()]) decoder.push(event);
      expect(decoder.end()).toEqual([{ type: "reply-end", reply: whole }]);
    }),
  );
});

test("F4.16 strict and toolChoice are omitted, with a note, for models that reject them", () => {
  const sent = (model: string): readonly unknown[] => {
    const { body, notes } = FORMAT.encodeRequest(
      { messages: [said("user", "?")], tools: [WEATHER], toolChoice: "required" },
      { model, strict: true },
    );
    return [JSON.stringify(body).includes('"strict":true'), JSON.stringify(body).includes('"toolChoice"'), notes.length];
  };
  expect(sent("anthropic.claude-opus-4-6")).toEqual([true, true, 0]);
  expect(sent("us.amazon.nova-pro-v1:0")).toEqual([false, true, 1]);
  expect(sent("us.meta.llama3-3-70b-instruct-v1:0")).toEqual([false, false, 2]);
});
