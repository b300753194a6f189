import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelEvent, ModelReply } from "../../src/core/model.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";

const format = geminiInteractions();
const weather = {
  name: "weather::get",
  description: "The weather.",
  inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

function events(...pieces: readonly JsonValue[]): readonly ModelEvent[] {
  const decoder = format.decodeStream();
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()];
}

function replyOf(all: readonly ModelEvent[]): ModelReply {
  const last = all.at(-1);
  if (last?.type !== "reply-end") throw new Error("the events do not end with a reply");
  return last.reply;
}

const start = (index: number, step: JsonObject): JsonObject => ({ event_type: "step.start", index, step });
const delta = (index: number, fields: JsonObject): JsonObject => ({ event_type: "step.delta", index, delta: fields });
const stop = (index: number): JsonObject => ({ event_type: "step.stop", index });
const completed = (status: string): JsonObject => ({ event_type: "interaction.completed", interaction: { id: "v1", status } });
const call = { type: "function_call", id: "c1", name: "weather__get", arguments: {} };

const STREAM = [
  { event_type: "interaction.created", interaction: { id: "v1", model: "gemini-2.5-flash", status: "in_progress" } },
  { event_type: "interaction.status_update", status: "in_progress" },
  start(0, { type: "thought" }),
  delta(0, { type: "thought_summary", content: { type: "text", text: "Hm." } }),
  delta(0, { type: "thought_signature", signature: "S1" }),
  stop(0),
  start(1, { type: "model_output" }),
  delta(1, { type: "text", text: "I l" }),
  delta(1, { type: "text", text: "ook." }),
  delta(1, { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" }),
  stop(1),
  start(2, { type: "google_search_call", id: "s1" }),
  delta(2, { type: "google_search_call", arguments: { queries: ["a"] }, signature: "S2" }),
  stop(2),
  start(3, call),
  delta(3, { type: "arguments_delta", arguments: '{"city":' }),
  delta(3, { type: "arguments_delta", arguments: '"Oslo"}' }),
  stop(3),
  {
    event_type: "interaction.completed",
    interaction: {
      id: "v1",
      status: "requires_action",
      usage: { total_input_tokens: 5, total_tool_use_tokens: 2, total_output_tokens: 3, total_thought_tokens: 4, total_cached_tokens: 1 },
    },
  },
];

const STEPS = [
  { type: "thought", signature: "S1", summary: [{ type: "text", text: "Hm." }] },
  {
    type: "model_output",
    content: [
      { type: "text", text: "I look." },
      { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" },
    ],
  },
  { type: "google_search_call", id: "s1", signature: "S2", arguments: { queries: ["a"] } },
  { ...call, arguments: { city: "Oslo" } },
];

const REPLY: ModelReply = {
  text: "I look.",
  reasoning: "Hm.",
  media: [PICTURE],
  calls: [{ id: "c1", name: "weather::get", input: { city: "Oslo" } }],
  providerCalls: [{ id: "s1", name: "google_search_call", kind: "google_search_call", input: { queries: ["a"] } }],
  finish: "calls",
  finishDetail: "requires_action",
  usage: { inputTokens: 7, outputTokens: 7, cachedInputTokens: 1, reasoningTokens: 4 },
  native: { format: "gemini-interactions", blocks: STEPS },
  model: "gemini-2.5-flash",
  id: "v1",
};

describe("errors, bad replies and incomplete replies", () => {
  test.each<readonly [JsonValue, string]>([
    [{ error: { code: "too_many_requests", message: "Quota." } }, "rate_limited"],
    [{ error: { code: 503, status: "UNAVAILABLE", message: "Busy." } }, "unavailable"],
    [{}, "model_failed"],
    [null, "model_failed"],
  ])("%j throws %s", (body, code) => {
    expect(() => format.decodeReply(body)).toThrow(expect.objectContaining({ code }));
  });

  test("an error in a stream is thrown at its position", () => {
    const error = { event_type: "error", error: { code: "internal", message: "Oh." } };
    expect(() => events(start(0, call), error)).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  test.each<readonly [string, ModelReply["finish"]]>([
    ["incomplete", "length"],
    ["failed", "error"],
    ["cancelled", "error"],
    ["something_new", "other"],
  ])("an interaction with status %s returns no calls", (status, finish) => {
    const reply = replyOf(events(start(0, call), stop(0), completed(status)));
    expect([reply.finish, reply.finishDetail, reply.calls]).toEqual([finish, status, []]);
  });

  test("F4.17 a damaged event throws, because the rest is not the whole reply", () => {
    expect(() => events(...STREAM.slice(0, 3), '{"event_type":"step.del', ...STREAM.slice(4))).toThrow("not JSON");
  });

  test("a truncated stream returns no calls", () => {
    expect(replyOf(events(start(0, call), stop(0)))).toMatchObject({ finish: "truncated", calls: [] });
  });

  test("H07 a reply longer than maxChars throws too_large", () => {
    const decoder = format.decodeStream({ maxChars: 10 });
    decoder.push(start(0, { type: "thought" }));
    expect(() => decoder.push(delta(0, { type: "thought_signature", signature: "x".repeat(11) }))).toThrow(
      expect.objectContaining({ code: "too_large" }),
    );
  });
});

describe("a reply", () => {
  test("F4.17 is the same streamed and whole", () => {
    expect(replyOf(events(...STREAM))).toEqual(REPLY);
    const { interaction } = STREAM.at(-1) as { readonly interaction: JsonObject }; // as it stands above
    expect(format.decodeReply({ ...interaction, model: "gemini-2.5-flash", steps: STEPS })).toEqual(REPLY);
  });

  test("seals a call at its step.stop, or at the end of an interaction that ended normally", () => {
    const decoder = format.decodeStream();
    decoder.push(start(0, { ...call, arguments: { city: "Rome" } }));
    const sealed = { type: "call-seal", index: 0, call: { id: "c1", name: "weather::get", input: { city: "Rome" } } };
    expect(decoder.push(stop(0))).toContainEqual(sealed);
    expect(events(start(0, { ...call, arguments: { city: "Rome" } }), completed("requires_action"))).toContainEqual(sealed);
  });

  test("ignores unknown events, and reads a step without a step.start", () => {
    const odd = [null, 7, { event_type: "new" }, stop(9), delta(0, { type: "text", text: "Hi" }), completed("completed")];
    expect(replyOf(events(...odd))).toMatchObject({ text: "Hi", finish: "stop" });
  });
});

describe("a request", () => {
  const turn: readonly ModelMessage[] = [
    said("system", "Be kind."),
    said("user", [{ type: "text", text: "Weather?" }, PICTURE]),
    { role: "assistant", at: 0, content: "I look.", native: { format: "gemini-interactions", blocks: STEPS } },
    called("k1", "weather::get", { id: "c1", input: { city: "Oslo" } }),
    answered("k1", "weather::get", { output: { celsius: 12 } }),
    said("assistant", "And"),
    called("k2", "eyes::look", { id: "toolu_1" }),
    called("k3", "eyes::look", { id: "toolu_2" }),
    answered("k2", "eyes::look", { content: [{ type: "text", text: "Here:" }, PICTURE] }),
    failed("k3", "eyes::look"),
  ];
  const image = { type: "image", mime_type: "image/png", data: "iVBORw0KGgo=" };

  test("F4.16 F4.18 has the whole conversation as steps, with Gemini's own steps unchanged", () => {
    const request = { system: "Be brief.", messages: turn, tools: [weather], temperature: 0, native: { generation_config: { seed: 1 } } };
    expect(format.encodeRequest(request, { model: "gemini-2.5-flash" }).body).toEqual({
      model: "gemini-2.5-flash",
      input: [
        { type: "user_input", content: [{ type: "text", text: "Weather?" }, image] },
        ...STEPS,
        { type: "function_result", call_id: "c1", name: "weather__get", result: '{"celsius":12}' },
        { type: "model_output", content: [{ type: "text", text: "And" }] },
        { type: "function_call", id: "toolu_1", name: "eyes__look", arguments: {} },
        { type: "function_call", id: "toolu_2", name: "eyes__look", arguments: {} },
        { type: "function_result", call_id: "toolu_1", name: "eyes__look", result: [{ type: "text", text: "Here:" }, image] },
        {
          type: "function_result",
          call_id: "toolu_2",
          name: "eyes__look",
          is_error: true,
          result: "Error (timeout): too slow\nHint: Ask for less.",
        },
      ],
      system_instruction: "Be brief.\n\nBe kind.",
      tools: [{ type: "function", name: "weather__get", description: "The weather.", parameters: weather.inputSchema }],
      generation_config: { temperature: 0, seed: 1 },
      store: false,
      stream: true,
    });
  });

  test("F4.18 ends with user input unless the model paused, and sends late system messages as user input", () => {
    const user = (text: string): JsonObject => ({ type: "user_input", content: [{ type: "text", text }] });
    const model = { type: "model_output", content: [{ type: "text", text: "Hi." }] };
    const search = { type: "google_search_call", id: "s1", arguments: {} };
    const sent = (...messages: readonly ModelMessage[]): JsonValue | undefined =>
      format.encodeRequest({ messages }, { model: "m" }).body["input"];
    const paused = { role: "assistant", at: 0, content: "", native: { format: "gemini-interactions", blocks: [search] } } as const;
    const [hi, answer, note] = [said("user", "Hi"), said("assistant", "Hi."), said("system", "Be brief.")];
    expect(sent(hi, answer)).toEqual([user("Hi"), model, user("(Continue.)")]);
    expect(sent(hi, answer, answer)).toEqual([user("Hi"), model, user("(Continue.)"), model, user("(Continue.)")]);
    expect(sent(hi, answer, note)).toEqual([user("Hi"), model, user("Be brief.")]);
    expect(sent(hi, paused, note)).toEqual([user("Hi"), search]);
  });

  test("encodes the tool choice, and has a path for streaming and one without", () => {
    const choice = (toolChoice: "auto" | "none" | "required" | { readonly tool: string }, strict = false): unknown =>
      format.encodeRequest({ messages: [], tools: [weather], toolChoice }, { model: "m", strict, stream: false }).body["generation_config"];
    expect([choice("auto"), choice("auto", true), choice("none"), choice("required"), choice({ tool: "weather::get" })]).toEqual([
      undefined,
      { tool_choice: "validated" },
      { tool_choice: "none" },
      { tool_choice: "any" },
      { tool_choice: { allowed_tools: { mode: "any", tools: ["weather__get"] } } },
    ]);
    expect([format.path({ model: "m" }), format.path({ model: "m", stream: false })]).toEqual(["/interactions?alt=sse", "/interactions"]);
  });

  test("F4.18 puts audio and documents after a result, which may contain only text and images", () => {
    const sound = { type: "audio", mediaType: "audio/wav", data: "UklGRg==" } as const;
    const pdf = { type: "file", uri: "data:application/pdf;base64,JVBERi0=", mediaType: "application/pdf", name: "a.pdf" } as const;
    const { messages } = format.encodeMessages([
      called("k4", "eyes::look"),
      answered("k4", "eyes::look", { content: [PICTURE, sound, pdf] }),
    ]);
    expect(messages.slice(-2)).toEqual([
      {
        type: "function_result",
        call_id: "k4",
        name: "eyes__look",
        result: [image, { type: "text", text: "[audio audio/wav]" }, { type: "text", text: expect.stringContaining("a.pdf") }],
      },
      {
        type: "user_input",
        content: [
          { type: "text", text: "Attachments of k4:" },
          { type: "audio", mime_type: "audio/wav", data: "UklGRg==" },
          { type: "document", mime_type: "application/pdf", data: "JVBERi0=" },
        ],
      },
    ]);
  });

  test("F4.21 encodes calls and results as text if no tools are offered", () => {
    expect(JSON.stringify(format.encodeMessages(turn, { tools: false }).messages)).not.toMatch(/function_call|function_result/u);
  });

  test("F4.18 encodes results alone as steps", () => {
    const { result } = answered("k1", "weather::get", { output: 12 });
    expect(format.encodeResults([{ name: "weather::get", result }])).toEqual([
      { type: "function_result", call_id: "k1", name: "weather__get", result: "12" },
    ]);
  });
});

test("F4.20 citations that arrive after their text are merged into it when it is sent back", () => {
  const citation = { type: "url_citation", url: "https://example.com", start_index: 0, end_index: 4 };
  const { text, native } = replyOf(
    events(
      start(0, { type: "thought", signature: "S" }),
      start(1, { type: "model_output" }),
      delta(1, { type: "text", text: "Oslo " }),
      delta(1, { type: "text_annotation_delta", annotations: [citation] }),
      delta(1, { type: "text", text: "rains." }),
      delta(1, { type: "text_annotation_delta", annotations: [citation] }),
      completed("completed"),
    ),
  );
  expect(text).toBe("Oslo rains.");
  expect(native?.blocks.at(-1)).toEqual({
    type: "model_output",
    content: [{ type: "text", text: "Oslo rains.", annotations: [citation, citation] }],
  });
});

test("F4.18 a result is sent under the name of its call", () => {
  const native = {
    format: format.name,
    blocks: [{ type: "function_call", id: "v1", name: "crm__find__fd97752cad65f86d", arguments: {}, signature: "S" }],
  };
  const { messages } = format.encodeMessages([
    said("user", "?"),
    { ...said("assistant", ""), native } as ModelMessage,
    called("c1", "crm::find", { id: "v1" }),
    answered("c1", "crm::find"),
  ]);
  expect(messages.at(-1)).toMatchObject({ type: "function_result", call_id: "v1", name: "crm__find__fd97752cad65f86d" });
});
