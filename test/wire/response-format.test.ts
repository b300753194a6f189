import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ModelRequest, ResponseFormat } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { CHAT_VARIANTS } from "../../src/wire/chat-variants.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { said } from "./conversations.ts";

const HELD = { type: "object", properties: { id: { type: "string" } }, required: ["id"], additionalProperties: false } as const;
/** What no provider can be held to: other keys than those that are named. */
const OPEN = {
  type: "object",
  properties: { id: { type: "string" } },
  required: ["id"],
  additionalProperties: { type: "string" },
} as const;
const BAD = { type: "string" } as const;
const ASKED = [said("user", "Answer in JSON.")];
const TOOLS = [{ name: "look", description: "", inputSchema: true }] as const;

function encode(
  format: WireFormat,
  responseFormat: ResponseFormat | undefined,
  rest: Partial<ModelRequest> & { readonly model?: string } = {},
) {
  const { model = "m", ...request } = rest;
  const asked = { messages: ASKED, ...request, ...(responseFormat === undefined ? {} : { responseFormat }) };
  const { body, notes } = format.encodeRequest(asked, { model });
  return { body, notes: notes.map(({ kind, note }) => `${kind}: ${note}`) };
}

/** The fields of a body that a request without the response format lacks or has otherwise. */
function added(format: WireFormat, responseFormat: ResponseFormat, rest: Partial<ModelRequest> & { readonly model?: string } = {}) {
  const plain = encode(format, undefined, rest).body;
  const { body, notes } = encode(format, responseFormat, rest);
  const fields = Object.entries(body).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key]));
  return { fields: Object.fromEntries(fields), notes };
}

const jsonSchema = (schema: JsonObject, rest: JsonObject = {}): JsonObject => ({
  response_format: { type: "json_schema", json_schema: { name: "result", schema, ...rest } },
});
const ANY_OBJECT: JsonObject = { response_format: { type: "json_object" } };

describe("F0.42 a request for JSON is encoded where the provider supports it", () => {
  const withSchema: readonly (readonly [string, WireFormat, JsonObject])[] = [
    ["OpenAI Chat", openAiChat(), jsonSchema(HELD, { strict: true })],
    ["vLLM, which has no strict", openAiChat("vllm"), jsonSchema(HELD)],
    ["Mistral", mistral(), jsonSchema(HELD, { strict: true })],
    ["OpenAI Responses", openAiResponses(), { text: { format: { type: "json_schema", name: "result", schema: HELD, strict: true } } }],
    ["Anthropic", anthropicMessages(), { output_config: { format: { type: "json_schema", schema: HELD } } }],
    ["Gemini", gemini(), { generationConfig: { responseMimeType: "application/json", responseJsonSchema: HELD } }],
    ["Gemini Interactions", geminiInteractions(), { response_format: { type: "text", mime_type: "application/json", schema: HELD } }],
    [
      "Bedrock",
      bedrockConverse(),
      {
        outputConfig: { textFormat: { type: "json_schema", structure: { jsonSchema: { name: "result", schema: JSON.stringify(HELD) } } } },
      },
    ],
    ["Ollama", ollama(), { format: HELD }],
    ["Cohere", cohere(), { response_format: { type: "json_object", json_schema: HELD } }],
  ];
  test.each(withSchema)("%s is sent the schema", (_, format, fields) => {
    expect(added(format, { schema: HELD })).toEqual({ fields, notes: [] });
  });

  const withoutSchema: readonly (readonly [string, WireFormat, JsonObject])[] = [
    ["OpenAI Chat", openAiChat(), ANY_OBJECT],
    ["OpenAI Responses", openAiResponses(), { text: { format: { type: "json_object" } } }],
    ["LM Studio, which knows schemas alone", openAiChat("lm-studio"), jsonSchema({ type: "object", properties: {} })],
    ["Gemini", gemini(), { generationConfig: { responseMimeType: "application/json" } }],
    ["Gemini Interactions", geminiInteractions(), { response_format: { type: "text", mime_type: "application/json" } }],
    ["Ollama", ollama(), { format: "json" }],
    ["Cohere", cohere(), ANY_OBJECT],
  ];
  test.each(withoutSchema)("%s is asked for any object if there is no schema", (_, format, fields) => {
    expect(added(format, {})).toEqual({ fields, notes: [] });
  });

  test.each(["deepseek", "groq", "moonshot", "zhipu", "alibaba"])("%s does not support a schema, and is asked for any object", (name) => {
    const note = `unsupported: openai-chat:${name} has no setting for the schema of the reply.`;
    expect(added(openAiChat(name), { schema: HELD })).toEqual({ fields: ANY_OBJECT, notes: [note] });
  });

  const unable: readonly (readonly [string, WireFormat, ResponseFormat, Partial<ModelRequest> & { readonly model?: string }])[] = [
    ["Anthropic, without a schema", anthropicMessages(), {}, {}],
    ["an old model of Anthropic's", anthropicMessages(), { schema: HELD }, { model: "claude-3-5-sonnet-20241022" }],
    ["Bedrock, without a schema", bedrockConverse(), {}, {}],
    ["a model of Amazon's", bedrockConverse(), { schema: HELD }, { model: "us.amazon.nova-pro-v1:0" }],
    ["Gemini 2.5 beside tools", gemini(), { schema: HELD }, { model: "gemini-2.5-flash", tools: TOOLS }],
    ["Cohere beside tools", cohere(), { schema: HELD }, { tools: TOOLS }],
    ["OpenAI, where no message asks for JSON", openAiChat(), {}, { messages: [said("user", "Hi")] }],
    ["Responses, where no message asks for JSON", openAiResponses(), {}, { messages: [said("user", "Hi")], system: "Answer in JSON." }],
  ];
  test.each(unable)("%s is sent no field that it would reject, and a note is added", (_, format, responseFormat, rest) => {
    const { fields, notes } = added(format, responseFormat, rest);
    expect([fields, notes.length, notes[0]?.startsWith("unsupported: ")]).toEqual([{}, 1, true]);
  });

  test("Gemini 3 is sent both tools and a schema", () => {
    const { fields, notes } = added(gemini(), { schema: HELD }, { model: "gemini-3-pro-preview", tools: TOOLS });
    expect([fields, notes]).toEqual([{ generationConfig: { responseMimeType: "application/json", responseJsonSchema: HELD } }, []]);
  });
  test("Gemini models without JSON Schema support are sent an OpenAPI schema", () => {
    const { fields } = added(gemini({ schemaField: "parameters" }), { schema: HELD });
    expect(fields).toMatchObject({ generationConfig: { responseSchema: { type: "object", required: ["id"] } } });
  });
});

describe("F0.42 the schema of a reply is fitted like the schemas of tools", () => {
  test("a schema that cannot be enforced is sent unchanged, without strict", () => {
    const { fields, notes } = added(openAiChat(), { schema: OPEN });
    expect(fields).toEqual(jsonSchema(OPEN));
    expect(notes).toEqual([
      "unsupported: The reply is not held to its schema: $.additionalProperties Keys that are not named are refused.",
    ]);
    expect(added(openAiResponses(), { schema: OPEN }).fields).toMatchObject({ text: { format: { schema: OPEN, strict: false } } });
  });
  test("an object without declared properties is not closed, because the reply would have to be empty", () => {
    expect(added(openAiChat(), { schema: { type: "object" } }).fields).toEqual(jsonSchema({ type: "object", properties: {} }));
  });
  test("a provider that enforces every schema is not sent one that would reject allowed values", () => {
    for (const format of [anthropicMessages(), bedrockConverse()])
      for (const schema of [OPEN, { type: "object" } as const]) {
        const { fields, notes } = added(format, { schema });
        expect([fields, notes.length]).toEqual([{}, 1]);
      }
  });
  test("an unsupported constraint is reported in a note", () => {
    const schema = { ...HELD, properties: { id: { type: "string", minLength: 3 } } } as const;
    const { fields, notes } = added(anthropicMessages(), { schema });
    expect(fields).toEqual({
      output_config: {
        format: { type: "json_schema", schema: { ...HELD, properties: { id: { type: "string", description: "(minLength: 3)" } } } },
      },
    });
    expect(notes).toEqual([expect.stringMatching(/^schema-loss: /u)]);
  });
  test("Cohere is not sent a schema with an object that has no required property", () => {
    const schema = { ...HELD, properties: { id: { type: "object", properties: { a: { type: "string" } } } } } as const;
    const { fields, notes } = added(cohere(), { schema });
    expect(fields).toEqual(ANY_OBJECT);
    expect(notes).toEqual(["quarantined: The schema of the reply was left out: One of its objects requires no property."]);
  });
  test.each([openAiChat(), openAiResponses(), gemini(), geminiInteractions(), ollama(), cohere()])(
    "$name: a schema that allows no object is omitted with a note, and any object is requested",
    (format) => {
      for (const schema of [BAD, false, { type: "object", description: "\ud800" }]) {
        const { fields, notes } = added(format, { schema });
        expect(fields).toEqual(added(format, {}).fields);
        expect(notes.filter((note) => note.startsWith("quarantined: "))).toHaveLength(1);
      }
    },
  );
  test("an invalid schema name is sanitised", () => {
    const names = ["my tool::run!", "", "x".repeat(100), "…"].map((name) => {
      const { response_format: format } = encode(openAiChat(), { schema: HELD, name }).body;
      return (format as { readonly json_schema: { readonly name: string } }).json_schema.name;
    });
    expect(names).toEqual(["my_tool__run_", "result", "x".repeat(64), "_"]);
  });
  test("native fields of a request are merged over its own", () => {
    const rest = { native: { output_config: { effort: "low" } } };
    expect(encode(anthropicMessages(), { schema: HELD }, rest).body["output_config"]).toEqual({
      format: { type: "json_schema", schema: HELD },
      effort: "low",
    });
    expect(encode(openAiResponses(), {}, { native: { text: { verbosity: "low" } } }).body["text"]).toEqual({
      format: { type: "json_object" },
      verbosity: "low",
    });
  });
});

describe("F0.43 several replies to one request", () => {
  const asked: readonly (readonly [string, WireFormat, JsonObject])[] = [
    ["OpenAI Chat", openAiChat(), { n: 3, logprobs: true }],
    ["Together", openAiChat("together"), { n: 3, logprobs: 1 }],
    ["Gemini", gemini(), { generationConfig: { candidateCount: 3 } }],
  ];
  test.each(asked)("%s is asked for several replies", (_, format, fields) => {
    expect(encode(format, undefined, { candidates: 3 })).toMatchObject({ body: fields, notes: [] });
  });
  test("log probabilities are not requested from a reasoning model", () => {
    const { body, notes } = encode(openAiChat(), undefined, { candidates: 2, model: "gpt-5-mini" });
    expect([body["n"], "logprobs" in body, notes.length]).toEqual([2, false, 1]);
  });
  const alone: readonly WireFormat[] = [
    openAiResponses(),
    anthropicMessages(),
    bedrockConverse(),
    geminiInteractions(),
    ollama(),
    cohere(),
    ...["deepseek", "groq", "openrouter", "lm-studio", "ollama", "moonshot", "zhipu", "cerebras"].map((name) => openAiChat(name)),
  ];
  test.each(alone)("$name makes one reply, and a note is added", (format) => {
    const { body } = encode(format, undefined);
    expect(encode(format, undefined, { candidates: 3 })).toEqual({
      body,
      notes: [`unsupported: ${format.name} makes one reply to a request.`],
    });
  });
  test("the number of replies is limited to the provider's maximum, with a note", () => {
    expect(encode(gemini(), undefined, { candidates: 20 })).toMatchObject({
      body: { generationConfig: { candidateCount: 8 } },
      notes: ["unsupported: gemini-generateContent makes at most 8 replies to a request."],
    });
  });
  const all = [...CHAT_VARIANTS.map((name) => openAiChat(name)), ...alone.slice(0, 6), gemini()];
  test.each(all)("$name: one reply is the default, and a number that is not a positive integer throws", (format) => {
    expect(encode(format, undefined, { candidates: 1 })).toEqual(encode(format, undefined));
    for (const candidates of [0, -1, 1.5, Number.NaN, Infinity])
      expect(() => encode(format, undefined, { candidates })).toThrow("it takes an integer from 1");
  });
});
