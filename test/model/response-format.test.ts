import { describe, expect, test } from "vitest";
import { httpModel } from "../../src/model/http-model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { listen, serve } from "./listen.ts";
import type { ServedFormat } from "./provider-server.ts";

const FORMATS: readonly (readonly [ServedFormat, WireFormat])[] = [
  ["openai-chat", openAiChat()],
  ["deepseek", openAiChat("deepseek")],
  ["mistral", mistral()],
  ["openai-responses", openAiResponses()],
  ["anthropic-messages", anthropicMessages()],
  ["gemini", gemini()],
  ["bedrock-converse", bedrockConverse()],
  ["cohere", cohere()],
  ["ollama", ollama()],
];
const MANY: ReadonlySet<ServedFormat> = new Set(["openai-chat", "mistral", "gemini"]);

const STRICT = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
const SCHEMAS = {
  strict: STRICT,
  "of its own optional keys": {
    ...STRICT,
    required: [],
    properties: { a: { type: "string", minLength: 1 }, b: { oneOf: [{ type: "null" }, STRICT] } },
  },
  open: { type: "object", additionalProperties: { type: "string" } },
  "of anything": { type: "object" },
  "for no object": { type: "array" },
} as const;
const CANDIDATES = [
  { text: '{"a":"first of all"}', logProbability: -4 },
  { text: '{"a":"second"}', logProbability: -1 },
];

async function modelOf(served: ServedFormat, format: WireFormat, stream: boolean) {
  const server = await serve({ format: served, script: [{ candidates: CANDIDATES }] });
  const headers = { "anthropic-version": "2023-06-01" };
  return { server, model: httpModel({ format, model: "m", baseUrl: server.url, headers, stream }) };
}

const ASKED = { messages: [{ role: "user", at: 0, content: "Answer in JSON." }] } as const;

describe.each(FORMATS)("F0.42 F0.43 %s", (served, format) => {
  test.each(Object.entries(SCHEMAS))("accepts a request with a schema %s, and for several candidates", async (_, schema) => {
    for (const stream of [true, false]) {
      const { server, model } = await modelOf(served, format, stream);
      const { reply, error } = await listen(model, { ...ASKED, responseFormat: { schema, name: "a b" }, candidates: 2 });
      const isProbable = served !== "mistral";
      expect([server.requests[0]?.refused, error, reply?.text]).toEqual([undefined, undefined, CANDIDATES[0]?.text]);
      const all = isProbable ? CANDIDATES : CANDIDATES.map(({ text }) => ({ text }));
      expect(reply?.candidates).toEqual(MANY.has(served) ? all : undefined);
    }
  });
  test("accepts a request for any JSON object, whether or not a message mentions JSON", async () => {
    for (const content of ["Answer in JSON.", "Hello"]) {
      const { server, model } = await modelOf(served, format, true);
      await listen(model, { messages: [{ role: "user", at: 0, content }], responseFormat: {} });
      expect(server.requests[0]?.refused).toBeUndefined();
    }
  });
});

describe("F0.43 a model with text tool calls", () => {
  test("forwards responseFormat and candidates, and parses each candidate like the first", async () => {
    const inner = scriptedModel([
      { text: "<think>Hm.</think>one", candidates: [{ text: "<think>Hm.</think>one" }, { text: "two", logProbability: -1 }] },
    ]);
    const model = textToolsModel(inner, { format: "hermes", thinking: "split" });
    const { reply } = await listen(model, { ...ASKED, responseFormat: {}, candidates: 2 });
    expect(inner.requests[0]).toMatchObject({ responseFormat: {}, candidates: 2 });
    expect([reply?.text, reply?.candidates]).toEqual(["one", [{ text: "one" }, { text: "two", logProbability: -1 }]]);
  });
  test("does not request JSON when there are tools, since text calls are not JSON", async () => {
    const inner = scriptedModel([{ text: "ok" }]);
    const tools = [{ name: "look", description: "", inputSchema: true }] as const;
    await listen(textToolsModel(inner, { format: "hermes" }), { ...ASKED, tools, responseFormat: {} });
    expect(inner.requests[0] !== undefined && "responseFormat" in inner.requests[0]).toBe(false);
  });
});
