import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import { type ModelRequest, type ReasoningEffort, REASONING_EFFORTS } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { said } from "./conversations.ts";

const MESSAGES = [said("user", "Why?")];
const TOOLS = [{ name: "look", description: "", inputSchema: { type: "object" } }] as const;

function encode(format: WireFormat, model: string, request: Partial<ModelRequest>) {
  const { body, notes } = format.encodeRequest({ messages: MESSAGES, ...request }, { model });
  return { body, notes: notes.map(({ kind, note }) => `${kind}: ${note}`) };
}

/** What each effort adds to the body of a request; the word "no" where a note says that it cannot be asked for. */
function efforts(format: WireFormat, model: string): Readonly<Record<ReasoningEffort, JsonObject | "no">> {
  const plain = encode(format, model, {}).body;
  const added = REASONING_EFFORTS.map((reasoningEffort): readonly [ReasoningEffort, JsonObject | "no"] => {
    const { body, notes } = encode(format, model, { reasoningEffort });
    const fields = Object.entries(body).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key]));
    return [reasoningEffort, notes.length === 0 ? Object.fromEntries(fields) : "no"];
  });
  return Object.fromEntries(added) as Record<ReasoningEffort, JsonObject | "no">; // one entry for each effort
}

type Row = readonly [name: string, format: WireFormat, model: string, ...by: readonly (JsonObject | "no")[]];
const field = (effort: string): JsonObject => ({ reasoning_effort: effort });
const responses = (effort: string): JsonObject => ({ reasoning: { effort } });
const claude = (effort: string): JsonObject => ({ thinking: { type: "adaptive" }, output_config: { effort } });
const LOW_TO_HIGH = ["low", "medium", "high"] as const;
const LOW_TO_XHIGH = [...LOW_TO_HIGH, "xhigh"] as const;
const LOW_TO_MAX = [...LOW_TO_XHIGH, "max"] as const;
const DISABLED: JsonObject = { thinking: { type: "disabled" } };
const onBedrock = (effort: string): JsonObject => ({
  additionalModelRequestFields: { thinking: { type: "adaptive" } },
  outputConfig: { effort },
});
const nova = (reasoningConfig: JsonObject): JsonObject => ({ additionalModelRequestFields: { reasoningConfig } });
const level = (thinkingLevel: string): JsonObject => ({ generationConfig: { thinkingConfig: { thinkingLevel } } });
const budget = (thinkingBudget: number): JsonObject => ({ generationConfig: { thinkingConfig: { thinkingBudget } } });
const interaction = (thinking_level: string): JsonObject => ({ generation_config: { thinking_level } });
const deepseek = (effort: string): JsonObject => ({ thinking: { type: "enabled" }, reasoning_effort: effort });

/** none, minimal, low, medium, high, xhigh, max; those behind the last are "no" */
const ROWS: readonly Row[] = [
  ["a server that speaks Chat Completions", openAiChat("vllm"), "m", ...REASONING_EFFORTS.map(field)],
  ["GPT-5", openAiChat(), "gpt-5", "no", field("minimal"), field("low"), field("medium"), field("high")],
  ["GPT-5 Codex", openAiChat(), "gpt-5-codex", "no", "no", ...LOW_TO_HIGH.map(field)],
  ["GPT-5.1", openAiChat(), "gpt-5.1", field("none"), "no", ...LOW_TO_HIGH.map(field)],
  ["GPT-5.1 Codex Max", openAiChat(), "gpt-5.1-codex-max", field("none"), "no", ...LOW_TO_XHIGH.map(field)],
  ["GPT-5.2", openAiChat(), "gpt-5.2", field("none"), "no", ...LOW_TO_XHIGH.map(field)],
  ["GPT-5.2 pro", openAiChat(), "gpt-5.2-pro", "no", "no", "no", field("medium"), field("high"), field("xhigh")],
  ["GPT-5.6", openAiChat(), "gpt-5.6-sol", field("none"), "no", ...LOW_TO_MAX.map(field)],
  ["GPT-6 Luna", openAiChat(), "gpt-6-luna", field("none"), "no", ...LOW_TO_MAX.map(field)],
  ["GPT-6.2 Astra, which always reasons", openAiChat(), "gpt-6.2-astra", "no", "no", ...LOW_TO_MAX.map(field)],
  ["a model of OpenAI's that is not known", openAiChat(), "gpt-9", "no", "no", ...LOW_TO_MAX.map(field)],
  ["o3", openAiChat(), "o3", "no", "no", field("low"), field("medium"), field("high")],
  ["GPT-5 pro", openAiChat(), "gpt-5-pro", "no", "no", "no", "no", field("high")],
  ["a model that does not reason", openAiChat(), "gpt-4.1", {}, "no", "no", "no", "no"],
  ["a deployment of Azure", openAiChat("azure"), "ours", ...REASONING_EFFORTS.map(field)],
  ["OpenRouter", openAiChat("openrouter"), "a/b", ...REASONING_EFFORTS.map(responses)],
  [
    "DeepSeek",
    openAiChat("deepseek"),
    "m",
    DISABLED,
    deepseek("minimal"),
    deepseek("low"),
    deepseek("medium"),
    deepseek("high"),
    deepseek("xhigh"),
    deepseek("max"),
  ],
  ["Groq", openAiChat("groq"), "m", field("none"), "no", field("low"), field("medium"), field("high")],
  ["xAI", openAiChat("xai"), "m", field("none"), "no", field("low"), field("medium"), field("high")],
  ["Cerebras", openAiChat("cerebras"), "m", field("none"), "no", field("low"), field("medium"), field("high")],
  ["Moonshot", openAiChat("moonshot"), "m", DISABLED, "no", "no", "no", "no"],
  ["Zhipu", openAiChat("zhipu"), "m", DISABLED, "no", "no", "no", "no"],
  ["Alibaba", openAiChat("alibaba"), "m", { enable_thinking: false }, "no", "no", "no", "no"],
  ["Gemini's Chat Completions", openAiChat("gemini"), "gemini-3-flash", field("none"), field("minimal"), ...LOW_TO_HIGH.map(field)],
  ["Mistral", mistral(), "mistral-small-latest", field("none"), "no", "no", "no", field("high")],
  ["Mistral Large 4", mistral(), "mistral-large-4-0", "no", "no", ...LOW_TO_HIGH.map(field)],
  ["Responses", openAiResponses(), "gpt-5.2", responses("none"), "no", ...LOW_TO_XHIGH.map(responses)],
  ["Responses of another model", openAiResponses(), "m", ...REASONING_EFFORTS.map(responses)],
  ["Responses of GPT-4o", openAiResponses(), "gpt-4o", {}, "no", "no", "no", "no"],
  ["Claude Opus 5", anthropicMessages(), "claude-opus-5", DISABLED, "no", ...LOW_TO_MAX.map(claude)],
  ["Claude Opus 4.7", anthropicMessages(), "claude-opus-4-7", DISABLED, "no", ...LOW_TO_MAX.map(claude)],
  ["Claude Sonnet 4.6", anthropicMessages(), "claude-sonnet-4-6", DISABLED, "no", ...LOW_TO_HIGH.map(claude), "no", claude("max")],
  ["Claude Haiku 5.5", anthropicMessages(), "claude-haiku-5-5", DISABLED, "no", ...LOW_TO_MAX.map(claude)],
  ["Claude Opus 5.5, which always thinks", anthropicMessages(), "claude-opus-5-5", "no", "no", ...LOW_TO_MAX.map(claude)],
  [
    "Claude Sonnet 5.5, which thinks between calls",
    anthropicMessages(),
    "claude-sonnet-5-5",
    { thinking: { type: "between_tools" } },
    "no",
    ...LOW_TO_MAX.map(claude),
  ],
  ["Claude Fable 5, which always thinks", anthropicMessages(), "claude-fable-5", "no", "no", ...LOW_TO_MAX.map(claude)],
  ["Claude Mythos, without a version", anthropicMessages(), "claude-mythos-preview", "no", "no", ...LOW_TO_MAX.map(claude)],
  ["a Claude that is not known", anthropicMessages(), "claude-sage-7", "no", "no", ...LOW_TO_MAX.map(claude)],
  [
    "Claude Opus 4.5, with an effort alone",
    anthropicMessages(),
    "claude-opus-4-5-20251101",
    DISABLED,
    "no",
    ...["low", "medium", "high"].map((effort) => ({ output_config: { effort } })),
  ],
  ["Claude Sonnet 4.5", anthropicMessages(), "claude-sonnet-4-5", DISABLED, "no", "no", "no", "no"],
  ["Claude Sonnet 4", anthropicMessages(), "claude-sonnet-4-20250514", DISABLED, "no", "no", "no", "no"],
  ["Claude 3.5, which does not think", anthropicMessages(), "claude-3-5-haiku-latest", {}, "no", "no", "no", "no"],
  ["Gemini 3 Flash", gemini(), "gemini-3-flash", "no", level("minimal"), level("low"), level("medium"), level("high")],
  ["Gemini 3.8 Flash", gemini(), "gemini-3.8-flash", "no", "no", ...LOW_TO_HIGH.map(level)],
  ["Gemini 3 Pro", gemini(), "gemini-3-pro-preview", "no", "no", level("low"), "no", level("high")],
  ["Gemini 3.1 Pro", gemini(), "gemini-3.1-pro-preview", "no", "no", level("low"), level("medium"), level("high")],
  ["Gemini 2.5 Flash", gemini(), "gemini-2.5-flash", budget(0), budget(1_024), budget(1_024), budget(8_192), budget(24_576)],
  ["Gemini 2.5 Pro", gemini(), "gemini-2.5-pro", "no", budget(1_024), budget(1_024), budget(8_192), budget(24_576)],
  ["Gemini 2.0", gemini(), "gemini-2.0-flash", {}, "no", "no", "no", "no"],
  [
    "Gemini's Interactions",
    geminiInteractions(),
    "gemini-3-flash",
    "no",
    interaction("minimal"),
    interaction("low"),
    interaction("medium"),
    interaction("high"),
  ],
  ["Gemini 2.5 by Interactions", geminiInteractions(), "gemini-2.5-flash", "no", "no", "no", "no", "no"],
  [
    "Claude on Bedrock",
    bedrockConverse(),
    "us.anthropic.claude-opus-4-6-v1",
    { additionalModelRequestFields: DISABLED },
    "no",
    ...LOW_TO_HIGH.map(onBedrock),
    "no",
    onBedrock("max"),
  ],
  [
    "Nova 2",
    bedrockConverse(),
    "us.amazon.nova-2-lite-v1:0",
    nova({ type: "disabled" }),
    "no",
    ...["low", "medium", "high"].map((maxReasoningEffort) => nova({ type: "enabled", maxReasoningEffort })),
  ],
  [
    "gpt-oss on Bedrock",
    bedrockConverse(),
    "openai.gpt-oss-120b-1:0",
    "no",
    "no",
    ...["low", "medium", "high"].map((effort) => ({ additionalModelRequestFields: field(effort) })),
  ],
  ["Llama on Bedrock", bedrockConverse(), "meta.llama3-70b-instruct-v1:0", "no", "no", "no", "no", "no"],
  ["Cohere", cohere(), "command-a-reasoning", DISABLED, "no", "no", "no", "no"],
  ["Ollama", ollama(), "qwen3", { think: false }, "no", { think: "low" }, { think: "medium" }, { think: "high" }],
];

const NAMED = ROWS.map(([name, format, model, ...by]) => ({ name, format, model, by }));
test.each(NAMED)("F15.4 $name is sent each effort that it supports", ({ format, model, by }) => {
  expect(efforts(format, model)).toEqual(Object.fromEntries(REASONING_EFFORTS.map((effort, index) => [effort, by[index] ?? "no"])));
});

describe("F15.4 an effort that is not supported", () => {
  test("is omitted with a note that lists the supported ones, and the request is still made", () => {
    expect(encode(openAiChat(), "o3", { reasoningEffort: "none" })).toEqual({
      body: encode(openAiChat(), "o3", {}).body,
      notes: ['unsupported: openai-chat cannot ask o3 for the reasoning effort "none", only for "low", "medium", "high".'],
    });
    expect(encode(bedrockConverse(), "meta.llama3", { reasoningEffort: "high" })).toEqual({
      body: encode(bedrockConverse(), "meta.llama3", {}).body,
      notes: ['unsupported: bedrock-converse cannot ask meta.llama3 for the reasoning effort "high".'],
    });
  });

  test("throws if it is not a known effort", () => {
    const reasoningEffort = "extreme" as ReasoningEffort; // as JavaScript may give it
    expect(() => encode(gemini(), "gemini-3-flash", { reasoningEffort })).toThrow(
      'reasoningEffort of a request is "extreme"; it takes one of "none", "minimal", "low", "medium", "high", "xhigh", "max".',
    );
  });
});

describe("F15.4 the effort with other settings", () => {
  const natives: readonly (readonly [WireFormat, string, JsonObject, JsonObject])[] = [
    [openAiChat(), "gpt-5.2", { reasoning_effort: "xhigh" }, { reasoning_effort: "xhigh" }],
    [openAiResponses(), "gpt-5.2", { reasoning: { effort: "max" } }, { reasoning: { effort: "max" } }],
    [openAiResponses(), "gpt-5.2", { reasoning: { summary: "auto" } }, { reasoning: { effort: "low", summary: "auto" } }],
    [anthropicMessages(), "claude-opus-5", { output_config: { effort: "max" } }, { output_config: { effort: "max" } }],
    [anthropicMessages(), "claude-opus-5", { thinking: { type: "disabled" } }, { thinking: { type: "disabled" } }],
    [
      gemini(),
      "gemini-3-flash",
      { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
      { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } },
    ],
    [bedrockConverse(), "anthropic.claude-opus-5", { outputConfig: { effort: "max" } }, { outputConfig: { effort: "max" } }],
    [ollama(), "qwen3", { think: true }, { think: true }],
  ];
  test.each(natives)("native fields override it in %o", (format, model, native, expected) => {
    expect(encode(format, model, { reasoningEffort: "low", native }).body).toMatchObject(expected);
  });

  test("Claude is sent no temperature while it thinks, and a note is added", () => {
    const request = { reasoningEffort: "high", temperature: 0.5 } as const;
    const own = encode(anthropicMessages(), "claude-opus-4-6", request);
    expect(own.body["temperature"]).toBeUndefined();
    expect(own.notes).toEqual(["unsupported: anthropic-messages takes no temperature for claude-opus-4-6 in such a request."]);
    const hosted = encode(bedrockConverse(), "anthropic.claude-opus-4-6-v1", request);
    expect(hosted.body["inferenceConfig"]).toBeUndefined();
    expect(hosted.notes).toEqual([
      "unsupported: bedrock-converse takes no temperature for anthropic.claude-opus-4-6-v1 in such a request.",
    ]);
    const native = { thinking: { type: "disabled" } };
    expect(encode(anthropicMessages(), "claude-opus-4-6", { ...request, native })).toMatchObject({ body: { temperature: 0.5 }, notes: [] });
  });

  test("thinking is not requested from Claude with a required tool choice, because the API rejects the combination", () => {
    const { body, notes } = encode(anthropicMessages(), "claude-opus-5", { reasoningEffort: "low", tools: TOOLS, toolChoice: "required" });
    expect(body["thinking"]).toBeUndefined();
    expect(body["output_config"]).toEqual({ effort: "low" });
    expect(notes).toEqual([]);
  });

  test("the effort and the schema of a reply are merged into output_config", () => {
    const schema = { type: "object", properties: { id: { type: "string" } }, required: ["id"], additionalProperties: false };
    const { body } = encode(anthropicMessages(), "claude-opus-5", { reasoningEffort: "low", responseFormat: { schema } });
    expect(body["output_config"]).toEqual({ effort: "low", format: { type: "json_schema", schema } });
  });
});
