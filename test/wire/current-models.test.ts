/** The rules that go by the names of models, over the names that the providers' own libraries list. */
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelRequest } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { answered, called, said } from "./conversations.ts";

const TOOLS = [{ name: "look", description: "", inputSchema: { type: "object" } }] as const;

function encode(format: WireFormat, model: string, request: Partial<ModelRequest>) {
  const { body, notes } = format.encodeRequest({ messages: [said("user", "Hi")], ...request }, { model });
  return { body, notes: notes.map(({ note }) => note) };
}

/** `Model` of @anthropic-ai/sdk 1.14.0 (2026-11-24), by what each takes. */
const CLAUDE = {
  temperature: [
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-haiku-4-5-20251001",
    "claude-opus-4-5",
    "claude-opus-4-5-20251101",
    "claude-sonnet-4-5",
    "claude-sonnet-4-5-20250929",
  ],
  required: [
    "claude-haiku-5-5",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
  ],
  neither: [
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-sonnet-5-5",
    "claude-fable-5-1",
    "claude-opus-5-5",
    "claude-mythos-5-1",
    "claude-mythos-preview",
  ],
} as const;
const CLAUDE_ROWS = [
  ...CLAUDE.temperature.map((model) => ({ model, temperature: true, required: true })),
  ...CLAUDE.required.map((model) => ({ model, temperature: false, required: true })),
  ...CLAUDE.neither.map((model) => ({ model, temperature: false, required: false })),
  { model: "claude-sage-7", temperature: false, required: false },
  { model: "claude-sonnet-latest", temperature: false, required: false },
  // names of deployments and gateways
  ...[
    "claude_sonnet_4_5",
    "claude-4.5-sonnet",
    "claude-sonnet4.5",
    "claude3-opus",
    "claude3.7",
    "claude-v2",
    "my-claude",
    "claude",
    "claude-prod",
  ].map((model) => ({ model, temperature: true, required: true })),
  { model: "claude_opus_5_5", temperature: false, required: false },
];

describe("Claude", () => {
  test.each(CLAUDE_ROWS)("$model accepts a temperature: $temperature", ({ model, temperature }) => {
    const left = (format: string, name: string) => (temperature ? [] : [`${format} takes no temperature for ${name} in such a request.`]);
    const own = encode(anthropicMessages(), model, { temperature: 0.5 });
    expect([own.body["temperature"], own.notes]).toEqual([temperature ? 0.5 : undefined, left("anthropic-messages", model)]);
    const name = `us.anthropic.${model}-v1:0`;
    const hosted = encode(bedrockConverse(), name, { temperature: 0.5 });
    expect([hosted.body["inferenceConfig"], hosted.notes]).toEqual([
      temperature ? { temperature: 0.5 } : undefined,
      left("bedrock-converse", name),
    ]);
  });

  test.each(CLAUDE_ROWS)("$model accepts a required tool choice: $required", ({ model, required }) => {
    const name = `anthropic.${model}`;
    const choices = [
      ["required", { type: "any" }, { any: {} }],
      [{ tool: "look" }, { type: "tool", name: "look" }, { tool: { name: "look" } }],
    ] as const;
    for (const [toolChoice, written, hosted] of choices) {
      const own = encode(anthropicMessages(), model, { tools: TOOLS, toolChoice });
      expect(own.body["tool_choice"]).toEqual(required ? written : undefined);
      expect(own.notes).toEqual(required ? [] : [`anthropic-messages cannot require ${model} to make calls.`]);
      const bedrock = encode(bedrockConverse(), name, { tools: TOOLS, toolChoice });
      expect((bedrock.body["toolConfig"] as JsonObject)["toolChoice"]).toEqual(required ? hosted : undefined);
      expect(bedrock.notes).toEqual(required ? [] : [`bedrock-converse cannot require ${name} to make calls.`]);
    }
  });

  test("third-party models with the same format are sent the request unchanged", () => {
    const request = { tools: TOOLS, toolChoice: "required", temperature: 0.5 } as const;
    const { body, notes } = encode(anthropicMessages(), "deepseek-v4-pro", request);
    expect([body["temperature"], body["tool_choice"], notes]).toEqual([0.5, { type: "any" }, []]);
  });

  test("disable_parallel_tool_use is set also where the call itself cannot be required", () => {
    const { body } = encode(anthropicMessages(), "claude-opus-5-5", { tools: TOOLS, toolChoice: "required", parallelCalls: false });
    expect(body["tool_choice"]).toEqual({ type: "auto", disable_parallel_tool_use: true });
  });
});

/** `AllModels` of openai 7.59.0 (2026-11-17), by whether they reason, and whether they do so without being asked. */
const OPENAI = {
  plain: [
    "gpt-5.3-chat-latest",
    "gpt-5.2-chat-latest",
    "gpt-5.1-chat-latest",
    "gpt-5-chat-latest",
    "gpt-4.1",
    "gpt-4.1-nano-2025-04-14",
    "gpt-4o",
    "gpt-4o-mini-search-preview",
    "gpt-audio-mini",
    "chatgpt-4o-latest",
    "gpt-3.5-turbo",
    "ft:gpt-4.1:org::id",
  ],
  whereAsked: ["gpt-5.4", "gpt-5.4-mini", "gpt-5.2", "gpt-5.1", "gpt-5.1-2025-11-13", "gpt-5.1-codex-max"],
  always: [
    "gpt-6-astra",
    "gpt-6.2-astra",
    "gpt-6.1-sol",
    "gpt-6.1-terra",
    "gpt-6-luna",
    "gpt-6-rosalind",
    "gpt-5.6-sol",
    "gpt-5.5",
    "gpt-5.5-pro",
    "gpt-5.2-pro",
    "gpt-5",
    "gpt-5-mini",
    "o4-mini",
    "o1-pro",
    "ft:o4-mini:org::id",
    "openai/gpt-9",
    "gpt-10-sol",
    "gpt-daybreak-blue-latest",
    "gpt-rosalind-research",
  ],
} as const;
const OPENAI_ROWS = [
  ...OPENAI.plain.map((model) => ({ model, kind: "plain" as const })),
  ...OPENAI.whereAsked.map((model) => ({ model, kind: "whereAsked" as const })),
  ...OPENAI.always.map((model) => ({ model, kind: "always" as const })),
];

describe("OpenAI", () => {
  test.each(OPENAI_ROWS)(
    "$model is sent temperature, log probabilities and reasoning only as it accepts them ($kind)",
    ({ model, kind }) => {
      for (const format of [openAiChat(), openAiResponses()]) {
        const { body, notes } = encode(format, model, { temperature: 0.5 });
        expect(body["temperature"]).toBe(kind === "always" ? undefined : 0.5);
        expect(notes).toEqual(kind === "always" ? [`${format.name} takes no temperature for ${model} in such a request.`] : []);
        const asked = encode(format, model, { temperature: 0.5, reasoningEffort: "high" });
        expect(asked.body["temperature"]).toBe(kind === "plain" ? 0.5 : undefined);
      }
      expect(encode(openAiChat(), model, { candidates: 2 }).body["logprobs"]).toBe(kind === "plain" ? true : undefined);
      expect(encode(openAiResponses(), model, {}).body["include"]).toEqual(kind === "plain" ? undefined : ["reasoning.encrypted_content"]);
    },
  );

  test("a temperature is sent if the reasoning effort is none, also if it is set in native fields", () => {
    for (const model of ["gpt-5.2", "gpt-5.6-sol", "gpt-6-luna"]) {
      const request = { temperature: 0.5, reasoningEffort: "none" } as const;
      expect(encode(openAiChat(), model, request)).toMatchObject({ body: { temperature: 0.5, reasoning_effort: "none" }, notes: [] });
      expect(encode(openAiResponses(), model, request)).toMatchObject({ body: { temperature: 0.5 }, notes: [] });
      const native = { reasoning_effort: "none" };
      expect(encode(openAiChat(), model, { temperature: 0.5, native }).body["temperature"]).toBe(0.5);
      const own = { reasoning: { effort: "high" } };
      expect(encode(openAiResponses(), model, { ...request, native: own }).body["temperature"]).toBeUndefined();
    }
  });

  test("other servers and deployments are sent the request unchanged", () => {
    for (const [format, model] of [
      [openAiChat("vllm"), "gpt-9"],
      [openAiChat("azure"), "ours"],
      [openAiResponses(), "qwen3"],
    ] as const)
      expect(encode(format, model, { temperature: 0.5, reasoningEffort: "max" }).body["temperature"]).toBe(0.5);
  });

  test.each(["gpt-prod", "gpt-neo", "EleutherAI/gpt-j-6b", "gpt-neox-20b", "gpt-oss:20b", "gpt-2", "gpt-7b-chat", "gpt-13b", "gpt-6.7b"])(
    "%s, which only resembles an OpenAI model name, is sent the request unchanged",
    (model) => {
      const request = { temperature: 0.5, reasoningEffort: "none", candidates: 2 } as const;
      const { body, notes } = encode(openAiChat(), model, request);
      expect(body).toMatchObject({ temperature: 0.5, reasoning_effort: "none", logprobs: true });
      expect(notes).toEqual([]);
      expect(encode(openAiResponses(), model, { temperature: 0.5 })).toMatchObject({ body: { temperature: 0.5 }, notes: [] });
    },
  );
});

describe("Gemini", () => {
  /** Of @google/genai 3.3.0 and the list of models at https://ai.google.dev/gemini-api/docs/models (2026-11). */
  const ROWS = [
    ...["gemini-3.8-flash", "gemini-3-pro-preview", "gemini-3.1-flash-lite", "gemini-flash-latest", "gemini-flash-lite-latest"].map(
      (model) => ({ model, isNew: true }),
    ),
    { model: "publishers/google/models/gemini-pro-latest", isNew: true },
    { model: "gemini-10-flash", isNew: true },
    ...["gemini-2.5-flash", "gemini-2.0-flash", "gemini-1.5-pro", "gemini-robotics-er-1.5-preview", "gemma-3-27b-it"].map((model) => ({
      model,
      isNew: false,
    })),
  ];
  test.each(ROWS)("$model is treated as Gemini 3 or newer: $isNew", ({ model, isNew }) => {
    const messages = [said("user", "Look."), called("c1", "look"), answered("c1", "look", { output: 1 })];
    const { body, notes } = encode(gemini(), model, { messages, tools: TOOLS, responseFormat: {} });
    expect(JSON.stringify(body["contents"]).includes('"thoughtSignature":"skip_thought_signature_validator"')).toBe(isNew);
    expect(body["generationConfig"]).toEqual(isNew ? { responseMimeType: "application/json" } : undefined);
    expect(notes).toHaveLength(isNew ? 0 : 1);
  });

  test.each(["gemini-flash-latest", "gemini-4-flash"])("%s is sent a thinking level as the newest models are", (model) => {
    const { body, notes } = encode(gemini(), model, { reasoningEffort: "low" });
    expect([body["generationConfig"], notes]).toEqual([{ thinkingConfig: { thinkingLevel: "low" } }, []]);
  });
});
