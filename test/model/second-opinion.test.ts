import { LLMock } from "@copilotkit/aimock";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { modelFrom } from "../../src/model/model-from.ts";
import type { ProviderName } from "../../src/model/provider-names.ts";
import { answered, called, said } from "../wire/conversations.ts";
import { KEY, hasty, listen } from "./listen.ts";

const TOOLS = [
  { name: "weather::get", description: "The weather.", inputSchema: { type: "object", properties: { city: { type: "string" } } } },
] as const;
const mock = new LLMock({ port: 0, host: "127.0.0.1" });
const STREAMS = [
  { stream: true, how: "streamed" },
  { stream: false, how: "whole" },
];

/** Where the fake stands for each provider. */
const PLACES = {
  "openai-chat": "/v1",
  openai: "/v1",
  anthropic: "/v1",
  gemini: "/v1beta",
  bedrock: "",
  cohere: "",
  ollama: "",
  openrouter: "/api/v1",
  groq: "/v1",
} as const satisfies Partial<Record<ProviderName, string>>;

beforeAll(async () => {
  mock.onMessage("hello", { content: "Hi there, wörld." });
  mock.onMessage("parallel", {
    content: "I look.",
    finishReason: "stop", // what Gemini says in truth; of itself this fake says FUNCTION_CALL
    toolCalls: [
      { name: "weather__get", arguments: '{"city":"Oslo"}' },
      { name: "weather__get", arguments: '{"city":"Ålesund"}' },
    ],
  });
  mock.on({ hasToolResult: true, userMessage: "round" }, { content: "It rains." });
  mock.onMessage("broken", { error: { message: "Too many requests", type: "rate_limit_error" }, status: 429 });
  await mock.start();
});
afterAll(() => mock.stop());

function model(provider: ProviderName & keyof typeof PLACES, stream: boolean) {
  const spec = { provider, model: "some-model", baseUrl: `${mock.url}${PLACES[provider]}`, apiKey: KEY, stream, ports: hasty().ports };
  return modelFrom(spec, { environment: {} });
}

const CASES = (Object.keys(PLACES) as readonly (keyof typeof PLACES)[]).flatMap((name) => STREAMS.map((how) => ({ name, ...how }))); // the keys of a literal

describe.each(CASES)("$name, $how, against a third-party fake", ({ name, stream }) => {
  test("F4.17 returns text", async () => {
    const { error, reply } = await listen(model(name, stream), { messages: [said("user", "hello")] });
    expect([error, reply?.text, reply?.finish]).toEqual([undefined, "Hi there, wörld.", "stop"]);
  });

  test("F4.17 seals parallel calls in order", async () => {
    const { error, reply, events } = await listen(model(name, stream), { messages: [said("user", "parallel")], tools: TOOLS });
    const sealed = events.flatMap((event) => (event.type === "call-seal" ? [event.call] : []));
    expect([error, reply?.finish, sealed]).toEqual([undefined, "calls", reply?.calls]);
    expect(reply?.calls.map(({ name, input }) => ({ name, input }))).toEqual([
      { name: "weather::get", input: { city: "Oslo" } },
      { name: "weather::get", input: { city: "Ålesund" } },
    ]);
  });

  test("F4.18 accepts results", async () => {
    const messages = [
      said("user", "round"),
      called("call_1", "weather::get", { id: "call00001", input: { city: "Oslo" } }),
      answered("call_1", "weather::get", { output: "Rain." }),
    ];
    const { error, reply } = await listen(model(name, stream), { messages, tools: TOOLS });
    expect([error, reply?.text]).toEqual([undefined, "It rains."]);
  });

  test("reports errors", async () => {
    const { error } = await listen(model(name, stream), { messages: [said("user", "broken")] });
    expect(error).toMatchObject({ code: "rate_limited", retryable: true });
    expect(error?.message).toContain("Too many requests");
  });
});
