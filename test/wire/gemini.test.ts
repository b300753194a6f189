import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelEvent, ModelReply } from "../../src/core/model.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";

const format = gemini();
const NEW = { model: "gemini-3-pro-preview" };
const weather = {
  name: "weather::get",
  description: "The weather.",
  inputSchema: {
    type: "object",
    properties: { city: { type: "string" }, unit: { const: "c" } },
    required: ["city"],
    additionalProperties: false,
  },
} as const;

function chunk(parts: readonly JsonObject[], rest: JsonObject = {}): JsonObject {
  return { candidates: [{ content: { role: "model", parts }, ...rest }] };
}

function events(...chunks: readonly JsonValue[]): readonly ModelEvent[] {
  const decoder = format.decodeStream();
  return [...chunks.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function replyOf(all: readonly ModelEvent[]): ModelReply {
  const last = all.at(-1);
  if (last?.type !== "reply-end") throw new Error("the events do not end with a reply");
  return last.reply;
}

function piece(jsonPath: string, value: JsonObject): JsonObject {
  return chunk([{ functionCall: { partialArgs: [{ jsonPath, ...value }], willContinue: true } }]);
}

const STOP = { finishReason: "STOP" };
const begun = chunk([{ functionCall: { name: "get", willContinue: true } }]);
const finished = chunk([], STOP);

describe("error bodies and bodies that are not replies", () => {
  test.each<readonly [JsonValue, JsonObject]>([
    [
      { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Quota.", details: [{ retryDelay: "12.5s" }] } },
      { code: "rate_limited", retryable: true, retryAfterMs: 12_500, message: "Gemini reports RESOURCE_EXHAUSTED: Quota." },
    ],
    [{ error: { code: 503, status: "UNAVAILABLE", message: "Busy." } }, { code: "unavailable", retryable: true }],
    [{ error: { code: 403, message: "No." } }, { code: "permission_denied" }],
    [{ error: { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid." } }, { code: "permission_denied" }],
    [
      { error: { code: 400, status: "INVALID_ARGUMENT", message: "The input token count exceeds the maximum number of tokens allowed." } },
      { code: "too_large" },
    ],
    [{ error: "odd" }, { code: "model_failed", message: "Gemini reports an error: odd" }],
    [
      { candidates: "odd" },
      { code: "model_failed", retryable: true, message: "The answer of Gemini is not a reply: it has no candidates." },
    ],
    [[], { code: "model_failed" }],
    [null, { code: "model_failed" }],
  ])("%j", (body, error) => {
    expect(() => format.decodeReply(body)).toThrow(expect.objectContaining(error));
  });

  test("an error in a stream is thrown at its position", () => {
    const decoder = format.decodeStream();
    decoder.push(chunk([{ text: "Well" }]));
    expect(() => decoder.push({ error: { code: 500, status: "INTERNAL", message: "Oh." } })).toThrow(
      expect.objectContaining({ code: "unavailable" }),
    );
  });

  test("H07 a reply longer than maxChars throws too_large, streamed arguments included", () => {
    const decoder = format.decodeStream({ maxChars: 100 });
    expect(() => decoder.push(chunk([{ text: "x".repeat(101) }]))).toThrow(expect.objectContaining({ code: "too_large" }));
    const streamed = format.decodeStream({ maxChars: 100 });
    streamed.push(begun);
    expect(() => streamed.push(piece("$.a", { stringValue: "x".repeat(101) }))).toThrow(expect.objectContaining({ code: "too_large" }));
  });
});

describe("how a message ends", () => {
  const call = { functionCall: { name: "get", args: {} } };

  test.each<readonly [string, JsonObject, ModelReply["finish"], string, number]>([
    ["STOP", {}, "calls", "STOP", 1],
    ["stop", {}, "calls", "stop", 1], // of another API
    ["tool_calls", {}, "calls", "tool_calls", 1],
    ["MAX_TOKENS", {}, "length", "MAX_TOKENS", 0],
    ["length", {}, "length", "length", 0],
    ["SAFETY", {}, "content-filter", "SAFETY", 0],
    ["MALFORMED_FUNCTION_CALL", { finishMessage: "Broken." }, "error", "MALFORMED_FUNCTION_CALL: Broken.", 0],
    ["UNEXPECTED_TOOL_CALL", { finishMessage: "No get." }, "calls", "UNEXPECTED_TOOL_CALL: No get.", 1],
    ["SOMETHING_NEW", {}, "other", "SOMETHING_NEW", 0],
  ])("%s: calls are returned only if the message ended normally", (finishReason, rest, finish, finishDetail, count) => {
    const reply = format.decodeReply(chunk([call], { finishReason, ...rest }));
    expect([reply.finish, reply.finishDetail, reply.calls.length]).toEqual([finish, finishDetail, count]);
  });

  test("UNEXPECTED_TOOL_CALL without a call is an error, and a blocked prompt is a content filter", () => {
    expect(format.decodeReply(chunk([], { finishReason: "UNEXPECTED_TOOL_CALL" })).finish).toBe("error");
    const { finish, finishDetail } = format.decodeReply({ promptFeedback: { blockReason: "SAFETY" } });
    expect([finish, finishDetail]).toEqual(["content-filter", "SAFETY"]);
  });

  test("a truncated stream returns no calls, whether sealed or incomplete", () => {
    const whole = replyOf(events(chunk([call])));
    const half = replyOf(events(begun, piece("$.a", { numberValue: 1 })));
    expect([whole.finish, whole.calls, half.finish, half.calls]).toEqual(["truncated", [], "truncated", []]);
  });
});

describe("a reply", () => {
  test("F4.17 decodes text, reasoning, media, calls, provider calls and usage, and keeps the native parts", () => {
    const parts = [
      { text: "Hm.", thought: true },
      { text: "Look: " },
      { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } },
      { executableCode: { language: "PYTHON", code: "1+1", id: "x1" } },
      { codeExecutionResult: { outcome: "OUTCOME_OK", output: "2", id: "x1" } },
      { toolCall: { id: "s1", toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["a"] } }, thoughtSignature: "S1" },
      { toolResponse: { id: "s1", toolType: "GOOGLE_SEARCH_WEB", response: {} } },
      { functionCall: { id: "c1", name: "weather__get", args: { city: "Oslo" } }, thoughtSignature: "S2" },
      { functionCall: { name: "now" } },
    ];
    const usageMetadata = {
      promptTokenCount: 10,
      toolUsePromptTokenCount: 1,
      candidatesTokenCount: 5,
      thoughtsTokenCount: 3,
      cachedContentTokenCount: 4,
    };
    const body = { ...chunk(parts, STOP), usageMetadata, responseId: "r1", modelVersion: "gemini-3" };
    expect(format.decodeReply(body, { toolNames: new Map([["weather__get", "weather::get"]]) })).toEqual({
      text: "Look: ",
      reasoning: "Hm.",
      media: [PICTURE],
      calls: [
        { id: "c1", name: "weather::get", input: { city: "Oslo" } },
        { name: "now", input: {} },
      ],
      providerCalls: [
        { id: "x1", name: "code_execution", kind: "executableCode", input: { language: "PYTHON", code: "1+1" } },
        { id: "s1", name: "GOOGLE_SEARCH_WEB", kind: "toolCall", input: { queries: ["a"] } },
      ],
      finish: "calls",
      finishDetail: "STOP",
      usage: { inputTokens: 11, outputTokens: 8, cachedInputTokens: 4, reasoningTokens: 3 },
      native: { format: "gemini-generateContent", blocks: parts },
      model: "gemini-3",
      id: "r1",
    });
  });

  test("has no native form if it is plain text, and is also accepted as an array of chunks", () => {
    const reply = format.decodeReply([chunk([{ text: "He" }]), chunk([{ text: "llo" }], STOP)]);
    expect(reply).toEqual({
      text: "Hello",
      reasoning: "",
      media: [],
      calls: [],
      providerCalls: [],
      finish: "stop",
      finishDetail: "STOP",
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  });

  test("seals a whole call in the chunk that contains it", () => {
    const decoder = format.decodeStream();
    expect(decoder.push(chunk([{ functionCall: { id: "c1", name: "get", args: { a: 1 } } }]))).toEqual([
      { type: "call-open", index: 0, name: "get" },
      { type: "call-delta", index: 0, text: '{"a":1}' },
      { type: "call-seal", index: 0, call: { id: "c1", name: "get", input: { a: 1 } } },
    ]);
  });

  test("ignores other candidates, unknown parts and malformed chunks", () => {
    const odd = { candidates: [{ content: { parts: [null, "x", { text: "Hi" }] } }, { content: { parts: [{ text: "no" }] } }] };
    expect(replyOf(events("[DONE]", null, odd, { candidates: [7] }, finished)).text).toBe("Hi");
  });
});

describe("arguments streamed value by value", () => {
  test("are assembled by their paths, as own keys only, and the signature stays on the part", () => {
    const all = events(
      chunk([{ functionCall: { name: "get", id: "c1", willContinue: true }, thoughtSignature: "S" }]),
      piece("$.place.city", { stringValue: "Os", willContinue: true }),
      piece("$.place.city", { stringValue: "lo" }),
      piece("$.days[0].n", { numberValue: 0 }),
      piece("$.days[1].n", { numberValue: 2 }),
      piece("$['a \\'b']", { boolValue: false }),
      piece('$["__proto__"]', { nullValue: "NULL_VALUE" }),
      chunk([{ functionCall: {} }], STOP),
    );
    const input: unknown = JSON.parse(`{"place":{"city":"Oslo"},"days":[{"n":0},{"n":2}],"a 'b":false,"__proto__":null}`);
    const { calls, native } = replyOf(all);
    expect(calls).toEqual([{ id: "c1", name: "get", input }]);
    expect(native?.blocks).toEqual([{ functionCall: { name: "get", id: "c1", args: input }, thoughtSignature: "S" }]);
    expect(all.findIndex(({ type }) => type === "call-seal")).toBeLessThan(all.length - 1);
  });

  test("end with the next call or with the message if no end is signalled", () => {
    const { calls } = replyOf(events(begun, piece("$.a", { numberValue: 1 }), begun, piece("$.a", { numberValue: 2 }), finished));
    expect(calls).toEqual([
      { name: "get", input: { a: 1 } },
      { name: "get", input: { a: 2 } },
    ]);
  });

  test.each(["a", "$", "$.a[1]", "$.a[0", "$.a..b", "$[0]", "$.x.y", `$${".a".repeat(65)}`])(
    "H07 with an impossible path, %j, are decoded as an array that no object schema accepts",
    (path) => {
      const { calls } = replyOf(events(begun, piece("$.x", { numberValue: 1 }), piece(path, { numberValue: 1 }), finished));
      const input = ["$.x", path].map((jsonPath) => ({ jsonPath, numberValue: 1 }));
      expect(calls).toEqual([{ name: "get", input }]);
    },
  );

  test("give the same text however it is split", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 8 }), (texts) => {
        const pieces = texts.map((text, at) => piece("$.t", { stringValue: text, willContinue: at < texts.length - 1 }));
        const { calls } = replyOf(events(begun, ...pieces, finished));
        expect(calls).toEqual([{ name: "get", input: texts.length === 0 ? {} : { t: texts.join("") } }]);
      }),
    );
  });
});

describe("a conversation", () => {
  const signature = "S".repeat(8);
  const blocks = [
    { text: "Hm.", thought: true },
    { functionCall: { name: "weather__get", args: { city: "Oslo" } }, thoughtSignature: signature },
    { functionCall: { name: "weather__get", args: { city: "Rome" } } },
  ];
  const native = { format: "gemini-generateContent", blocks };
  const turn: readonly ModelMessage[] = [
    said("user", "Weather?"),
    { role: "assistant", at: 0, content: "", native },
    called("c1", "weather::get", { input: { city: "Oslo" } }),
    called("c2", "weather::get", { input: { city: "Rome" } }),
    answered("c1", "weather::get", { output: 12 }),
    failed("c2", "weather::get"),
  ];
  const answer = (response: JsonObject): JsonObject => ({ functionResponse: { name: "weather__get", response } });
  const tooSlow = "Error (timeout): too slow\nHint: Ask for less.";

  test("F4.18 is sent back unchanged, with signatures on their parts, and results matched by order where calls have no ids", () => {
    expect(format.encodeMessages(turn, NEW).messages).toEqual([
      { role: "user", parts: [{ text: "Weather?" }] },
      { role: "model", parts: blocks },
      { role: "user", parts: [answer({ output: 12 }), answer({ error: tooSlow })] },
    ]);
  });

  test("omits empty texts and thoughts without a following part, and keeps signatures", () => {
    const signed = { text: "", thoughtSignature: "s" };
    const blocks = [{ text: "" }, { text: "Hm.", thought: true }, { text: "Hi." }, signed, { text: "So.", thought: true }, { text: "" }];
    const reply = { role: "assistant", at: 0, content: "Hi.", native: { format: format.name, blocks } } as const;
    expect(format.encodeMessages([said("user", "Hi"), reply]).messages[1]?.["parts"]).toEqual([...blocks.slice(1, 3), signed]);
  });

  test("omits a native call that the conversation no longer has", () => {
    const without = turn.filter((message) => !("callId" in message) || message.callId !== "c1");
    expect(format.encodeMessages(without).messages.slice(1)).toEqual([
      { role: "model", parts: [blocks[0], blocks[2]] },
      { role: "user", parts: [answer({ error: tooSlow })] },
    ]);
  });

  test("re-encodes the native message if its calls differ from those of the conversation", () => {
    const other = [
      ...turn.slice(0, 2),
      called("c1", "weather::get", { id: "given", input: {} }),
      answered("c1", "weather::get", { output: 1 }),
    ];
    expect(format.encodeMessages(other).messages.slice(1)).toEqual([
      { role: "model", parts: [{ functionCall: { id: "given", name: "weather__get", args: {} } }] },
      { role: "user", parts: [{ functionResponse: { id: "given", name: "weather__get", response: { output: 1 } } }] },
    ]);
  });

  test("F4.22 calls of another provider carry the documented signature for Gemini 3, and images are part of the response", () => {
    const foreign = [
      called("c1", "eyes::look", { id: "toolu_1" }),
      called("c2", "eyes::look"),
      answered("c1", "eyes::look", { content: [PICTURE] }),
    ];
    const image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    const first = { functionCall: { id: "toolu_1", name: "eyes__look", args: {} } };
    const second = { functionCall: { name: "eyes__look", args: {} } };
    const [, newer, inside] = format.encodeMessages(foreign, NEW).messages;
    expect(newer).toEqual({ role: "model", parts: [{ ...first, thoughtSignature: "skip_thought_signature_validator" }, second] });
    expect(inside).toMatchObject({
      parts: [{ functionResponse: { id: "toolu_1", response: { output: "[image image/png]" }, parts: [image] } }, {}],
    });
    const [, older, , behind] = format.encodeMessages(foreign, { model: "gemini-2.5-flash" }).messages;
    expect(older).toEqual({ role: "model", parts: [first, second] });
    expect(behind).toEqual({ role: "user", parts: [{ text: "Attachments of toolu_1:" }, image] });
  });

  test("F4.21 without tools, calls and results are encoded as text", () => {
    const { messages } = format.encodeMessages(turn, { tools: false });
    expect(JSON.stringify(messages)).not.toMatch(/functionCall|functionResponse/u);
    expect(JSON.stringify(messages)).toContain("weather::get");
  });

  test("F4.18 results alone are encoded as one user content", () => {
    const result = answered("c1", "weather::get", { output: 12 }).result;
    expect(format.encodeResults([{ id: "g1", name: "weather::get", result }])).toEqual([
      { role: "user", parts: [{ functionResponse: { id: "g1", name: "weather__get", response: { output: 12 } } }] },
    ]);
    expect(format.encodeResults([])).toEqual([]);
  });
});

describe("a request", () => {
  const user = said("user", "Hi");
  const body = (request: JsonObject, target: JsonObject = {}): JsonObject =>
    format.encodeRequest({ messages: [user], tools: [weather], ...request }, { model: "gemini-2.5-pro", ...target }).body;

  test("F4.16 has declarations and the system instruction, and native fields override it", () => {
    const searching = {
      name: "search",
      description: "",
      inputSchema: true,
      providerExecuted: true,
      providers: { "gemini-generateContent": { googleSearch: {} } },
    };
    const elsewhere = { name: "shell", description: "", inputSchema: true, providerExecuted: true };
    const empty = { name: "now", description: "The time.", inputSchema: { type: "object" } };
    const request = {
      system: "Be brief.",
      messages: [said("system", "Be kind."), user],
      tools: [weather, searching, elsewhere, empty, { name: "bad", description: "", inputSchema: false }],
      maxOutputTokens: 9,
      temperature: 0,
      parallelCalls: false,
      native: { generationConfig: { thinkingConfig: { thinkingBudget: 0 } }, labels: { a: "b" } },
    };
    const { body: written, toolNames, notes } = format.encodeRequest(request, { model: "gemini-2.5-pro" });
    expect(written).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      systemInstruction: { parts: [{ text: "Be brief." }, { text: "Be kind." }] },
      tools: [
        {
          functionDeclarations: [
            {
              name: "weather__get",
              description: "The weather.",
              parametersJsonSchema: {
                type: "object",
                properties: { city: { type: "string" }, unit: { type: "string", enum: ["c"] } },
                required: ["city"],
                additionalProperties: false,
              },
            },
            { name: "now", description: "The time." },
          ],
        },
        { googleSearch: {} },
      ],
      generationConfig: { maxOutputTokens: 9, temperature: 0, thinkingConfig: { thinkingBudget: 0 } },
      labels: { a: "b" },
    });
    expect([...toolNames]).toEqual([
      ["weather__get", "weather::get"],
      ["now", "now"],
    ]);
    expect(notes).toEqual([
      { kind: "unsupported", tool: "shell", note: "gemini-generateContent does not run this tool, so it is left out." },
      { kind: "quarantined", tool: "bad", note: "The schema allows no input at all." },
      { kind: "unsupported", note: "Gemini has no setting for one call at a time." },
    ]);
  });

  test("puts an OpenAPI schema under parameters for old models", () => {
    const { tools } = gemini({ schemaField: "parameters" }).encodeTools([weather]);
    expect(tools).toEqual([
      {
        functionDeclarations: [
          {
            name: "weather__get",
            description: "The weather.",
            parameters: {
              type: "object",
              properties: { city: { type: "string" }, unit: { type: "string", enum: ["c"] } },
              required: ["city"],
            },
          },
        ],
      },
    ]);
  });

  test("encodes whether the model may, must or must not call", () => {
    const config = (request: JsonObject, target?: JsonObject): unknown => body(request, target)["toolConfig"];
    expect(config({})).toBeUndefined();
    expect(config({}, { strict: true })).toEqual({ functionCallingConfig: { mode: "VALIDATED" } });
    expect(config({ toolChoice: "none" })).toEqual({ functionCallingConfig: { mode: "NONE" } });
    expect(config({ toolChoice: "required" })).toEqual({ functionCallingConfig: { mode: "ANY" } });
    expect(config({ toolChoice: { tool: "weather::get" } })).toEqual({
      functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["weather__get"] },
    });
    expect(() => config({ toolChoice: { tool: "gone" } })).toThrow(expect.objectContaining({ code: "invalid_argument" }));
  });

  test("is sent to the model's path, which the model name cannot escape", () => {
    expect([
      format.path({ model: "gemini-2.5-pro" }),
      format.path({ model: "publishers/google/models/gemini-3", stream: false }),
      format.path({ model: "x?y#z" }),
    ]).toEqual([
      "/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
      "/publishers/google/models/gemini-3:generateContent",
      "/models/x%3Fy%23z:streamGenerateContent?alt=sse",
    ]);
  });
});

describe("F4.18 a result is sent under the name of its call", () => {
  const sent = (name: string, tool: string): readonly JsonObject[] => {
    const native = { format: "gemini-generateContent", blocks: [{ functionCall: { id: "g1", name, args: {} }, thoughtSignature: "S" }] };
    const { messages } = format.encodeMessages(
      [said("user", "?"), { ...said("assistant", ""), native } as ModelMessage, called("c1", tool, { id: "g1" }), answered("c1", tool)],
      NEW,
    );
    return messages.slice(1);
  };

  test.each([
    ["an overload", "crm__find__fd97752cad65f86d", "crm::find"],
    ["a name that was mended", "Search", "search"],
  ])("%s", (_, name, tool) => {
    expect(sent(name, tool)).toEqual([
      { role: "model", parts: [{ functionCall: { id: "g1", name, args: {} }, thoughtSignature: "S" }] },
      { role: "user", parts: [{ functionResponse: { id: "g1", name, response: { output: null } } }] },
    ]);
  });
});

test("F4.20 an invalid tool name is sanitised in Gemini's native message and in the result", () => {
  const native = { format: format.name, blocks: [{ functionCall: { name: "default_api.search", args: {} }, thoughtSignature: "S" }] };
  const { messages } = format.encodeMessages(
    [
      said("user", "?"),
      { role: "assistant", at: 0, content: "", native },
      called("c1", "default_api.search"),
      failed("c1", "default_api.search"),
    ],
    NEW,
  );
  const name = expect.stringMatching(/^default_api_search__[0-9a-f]{16}$/u) as string; // the matcher stands for a string
  expect(messages.slice(1)).toMatchObject([
    { parts: [{ functionCall: { name, args: {} }, thoughtSignature: "S" }] },
    { parts: [{ functionResponse: { name } }] },
  ]);
});

test("F4.16 a tool that takes any arguments keeps its additionalProperties", () => {
  const inputSchema = { type: "object", additionalProperties: { type: "string" } } as const;
  const { tools } = format.encodeTools([{ name: "tag", description: "", inputSchema }]);
  expect(tools).toEqual([
    { functionDeclarations: [{ name: "tag", description: "", parametersJsonSchema: { ...inputSchema, properties: {} } }] },
  ]);
});
