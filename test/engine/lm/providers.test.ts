/** The whole way over HTTP: what each provider's wire gets of a session, byte for byte, and what comes back. */
import { describe, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import type { Tool } from "../../../src/core/tool.ts";
import type { Toolset } from "../../../src/core/toolset.ts";
import { lmEngine, type LmEngineOptions } from "../../../src/engine/lm.ts";
import { modelFrom } from "../../../src/model/model-from.ts";
import type { ProviderName } from "../../../src/model/provider-names.ts";
import { type Runtime, createRuntime } from "../../../src/runtime/runtime.ts";
import { KEY, hasty, serve } from "../../model/listen.ts";
import type { ProviderServer, ServedAnswer, ServedFormat } from "../../model/provider-server.ts";
import { SYSTEM, WEATHER } from "./lm-calls.ts";

const NOTE: Tool = {
  name: "note",
  description: "Keeps a note.",
  inputSchema: { type: "object", properties: { text: { type: "string" } } },
};

const WEATHER_SPEC =
  '"tool":{"name":"world::get","description":"Tells the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}}},' +
  '"output_parameters":{"type":"object","properties":{"celsius":{"type":"number"},"sky":{"type":"string"}},"required":["celsius"]}}';

/** What the third call of the session asks: the first has a result, and the second failed. */
const USER_1 = `{${WEATHER_SPEC},"tool_call":{"name":"world::get","arguments":{"city":"Ålesund \\"x\\""}}}`;
const ASSISTANT_1 = '{"celsius":-3.5,"sky":"snow"}';
const USER_2 = `{${WEATHER_SPEC},"tool_call":{"name":"world::get","arguments":{"city":"Rome"}}}`;
const ASSISTANT_2 = '{"error":"failed to generate valid tool result"}';
const USER_3 = `{${WEATHER_SPEC},"tool_call":{"name":"world::get","arguments":{"city":"Oslo"}}}`;

interface Expected {
  readonly format: ServedFormat;
  /** Of the last request, the fields that hold the instruction and the messages. */
  readonly conversation: JsonObject;
}

const EXPECTED: Partial<Record<ProviderName, Expected>> = {
  "openai-chat": { format: "openai-chat", conversation: chatMessages() },
  ollama: { format: "ollama", conversation: chatMessages() },
  anthropic: {
    format: "anthropic-messages",
    conversation: {
      system: [{ type: "text", text: SYSTEM }],
      messages: turns("user", "assistant").map(([role, text]) => ({ role, content: [{ type: "text", text }] })),
    },
  },
  gemini: {
    format: "gemini",
    conversation: {
      systemInstruction: { parts: [{ text: SYSTEM }] },
      contents: turns("user", "model").map(([role, text]) => ({ role, parts: [{ text }] })),
    },
  },
};

function chatMessages(): JsonObject {
  const messages = turns("user", "assistant").map(([role, content]) => ({ role, content }));
  return { messages: [{ role: "system", content: SYSTEM }, ...messages] };
}

function turns(user: string, model: string): readonly (readonly [role: string, text: string])[] {
  return [
    [user, USER_1],
    [model, ASSISTANT_1],
    [user, USER_2],
    [model, ASSISTANT_2],
    [user, USER_3],
  ];
}

interface Served {
  readonly server: ProviderServer;
  readonly runtime: Runtime;
}

interface PlayedOptions extends Partial<Omit<LmEngineOptions, "model">> {
  readonly model?: string;
  readonly toolsets?: readonly Toolset[];
}

async function played(
  provider: string,
  format: ServedFormat,
  script: readonly ServedAnswer[],
  { model = "some-model", toolsets = [], ...options }: PlayedOptions = {},
): Promise<Served> {
  const server = await serve({ format, script, key: KEY });
  const spec = { provider, model, baseUrl: server.url, apiKey: KEY, ports: hasty().ports, retry: { maxAttempts: 1 } };
  const engine = lmEngine({ model: modelFrom(spec, { environment: {} }), ...options });
  const runtime = createRuntime({ toolsets: [{ name: "world", tools: [WEATHER, NOTE], engine }, ...toolsets] });
  await runtime.open();
  return { server, runtime };
}

/** The fields of the last request, as they were sent. */
function sent({ requests }: ProviderServer, fields: JsonObject): string {
  const body = requests.at(-1)?.body ?? {};
  return JSON.stringify(Object.fromEntries(Object.keys(fields).map((field): [string, JsonValue] => [field, body[field] ?? null])));
}

const OSLO = { name: "world::get", input: { city: "Oslo" } };
const CALLS = [{ name: "world::get", input: { city: 'Ålesund "x"' } }, { name: "world::get", input: { city: "Rome" } }, OSLO];
const KEEP = { name: "world::note", input: { text: "warm" } };

describe.each(Object.entries(EXPECTED))("F0.40 F0.41 a session answered by %s", (provider, { format, conversation }) => {
  test("sends the expected requests byte for byte, failures included", async () => {
    const script = [
      { text: '{"celsius":-3.5,"sky":"snow"}' },
      { text: "I am not sure." },
      { text: '```json\n{"celsius":4,"sky":""}\n```' },
    ];
    const { server, runtime } = await played(provider, format, script);
    const results = await runtime.session().execute(CALLS);
    expect(results).toMatchObject([
      { status: "ok", output: { celsius: -3.5, sky: "snow" }, origin: "simulated" },
      { status: "error", error: { code: "invalid_output", message: "failed to generate valid tool result" } },
      { status: "ok", output: { celsius: 4 } },
    ]);
    expect(server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined]);
    expect(sent(server, conversation)).toBe(JSON.stringify(conversation));
  });

  test("reports a rejected or failed provider request as an error of the call", async () => {
    const { runtime } = await played(provider, format, [
      { status: 401 },
      { status: 503 },
      { status: 404 },
      { text: '{"kept":true}', finish: "length" },
    ]);
    const results = await runtime.session().execute([...CALLS, KEEP]);
    expect(results.map(({ status, error, attempts }) => [status, error?.code, error?.retryable, attempts])).toEqual([
      ["error", "permission_denied", false, 1],
      ["error", expect.stringMatching(/^(?:unavailable|network_error)$/u), false, 1],
      ["error", "not_found", false, 1],
      ["error", "invalid_output", false, 1],
    ]);
    expect(JSON.stringify(results)).not.toContain(KEY);
  });
});

describe("F0.41 the exact request to a provider", () => {
  test("contains the definitions of the runtime's other tools, and none for an unknown name", async () => {
    const add: Tool = {
      name: "add",
      description: "Adds.",
      inputSchema: { type: "object", properties: { b: { type: "integer" }, a: { type: "integer" } }, required: ["a"] },
      outputSchema: { type: "object", properties: { sum: { type: "integer" } } },
      execute: () => ({ sum: 3 }),
    };
    const ring: Tool = {
      name: "ring",
      description: "Rings.",
      inputSchema: true,
      execute: () => {
        throw new Error("The bell is cracked.");
      },
    };
    const toolsets = [
      { name: "sums", tools: [add] },
      { name: "bells", tools: [ring] },
    ];
    const { server, runtime } = await played("openai-chat", "openai-chat", [{ text: '{"celsius":1}' }], { toolsets });
    await runtime.session().execute([{ name: "sums::add", input: { b: 2, a: 1 } }, { name: "bells::ring" }, { name: "sums::ad" }, OSLO]);

    const said = (role: string, content: string): JsonObject => ({ role, content });
    const messages = [
      said("system", SYSTEM),
      said(
        "user",
        '{"tool":{"name":"sums::add","description":"Adds.","parameters":{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}},"required":["a"]},' +
          '"output_parameters":{"type":"object","properties":{"sum":{"type":"integer"}}}},"tool_call":{"name":"sums::add","arguments":{"b":2,"a":1}}}',
      ),
      said("assistant", '{"sum":3}'),
      said(
        "user",
        '{"tool":{"name":"bells::ring","description":"Rings.","parameters":true},"tool_call":{"name":"bells::ring","arguments":{}}}',
      ),
      said("assistant", '{"error":"The bell is cracked."}'),
      said("user", '{"tool_call":{"name":"sums::ad","arguments":{}}}'),
      said("assistant", '{"error":"No tool \\"sums::ad\\". Did you mean \\"sums::add\\"?"}'),
      said("user", USER_3),
    ];
    expect(sent(server, { messages })).toBe(JSON.stringify({ messages }));
  });

  test.each([
    ["gpt-4.1", "developer"],
    ["openai/GPT-OSS-20b", "developer"],
    ["o3", "system"],
  ])("%s at OpenAI gets the instruction in the %s message", async (model, role) => {
    const { server, runtime } = await played("openai-chat", "openai-chat", [{ text: '{"celsius":1}' }], { model });
    await runtime.execute(OSLO);
    const messages = [
      { role, content: SYSTEM },
      { role: "user", content: USER_3 },
    ];
    expect(sent(server, { model, messages })).toBe(JSON.stringify({ model, messages }));
  });

  test("an OpenAI-compatible server gets the instruction in a system message for any model, because many reject the developer role", async () => {
    const { server, runtime } = await played("openai-compatible", "openai-chat", [{ text: '{"celsius":1}' }], { model: "gpt-oss-20b" });
    await runtime.execute(OSLO);
    expect(server.requests[0]?.body["messages"]).toMatchObject([{ role: "system" }, { role: "user" }]);
  });
});

describe("F0.42 the response format", () => {
  test("is the tool's output schema, or any object, as the provider writes it", async () => {
    const { server, runtime } = await played("openai-chat", "openai-chat", [{ text: '{"celsius":1}' }]);
    await runtime.session().execute([OSLO, KEEP]);
    expect(server.requests.map(({ body }) => body["response_format"])).toMatchObject([
      { type: "json_schema", json_schema: { name: "get", schema: { type: "object", properties: { celsius: { type: "number" } } } } },
      { type: "json_object" },
    ]);
  });

  test("is sent to a local model (Ollama)", async () => {
    const { server, runtime } = await played("ollama", "ollama", [{ text: '{"celsius":1}' }]);
    await runtime.session().execute([OSLO, KEEP]);
    expect(server.requests.map(({ body }) => body["format"])).toEqual([WEATHER.outputSchema, "json"]);
  });
});

describe.each(["openai-chat", "ollama"] as const)("H08 an invalid answer of %s is a typed error of the call", (format) => {
  const text = '{"celsius":4}';
  const cases: readonly (readonly [what: string, answer: ServedAnswer, code: string, said: string])[] = [
    [
      "a stream that ends in the middle",
      { text, delivery: { after: { pieces: 2, then: "end" } } },
      "invalid_output",
      "the reply did not end well: truncated",
    ],
    [
      "a connection that breaks in the middle",
      { text, delivery: { after: { pieces: 2, then: "reset" } } },
      "invalid_output",
      "the reply did not end well: truncated",
    ],
    ["half an object", { text: '{"celsius":' }, "invalid_output", "Not valid JSON at line 1"],
    ["another schema", { text: '{"celsius":"mild"}' }, "invalid_output", "$.celsius: expected type number"],
    ["a web page", { raw: "<html></html>", headers: { "content-type": "text/html" } }, "model_failed", "web page"],
    [
      "a key that is refused",
      { status: 401, message: `The key ${KEY} is not known.` },
      "permission_denied",
      "The key [API key] is not known.",
    ],
  ];

  test.each(cases)("%s", async (_what, answer, code, said) => {
    const { runtime } = await played(format, format, [answer]);
    const session = runtime.session();
    const result = await session.execute(OSLO);
    expect(result).toMatchObject({ status: "error", origin: "simulated", attempts: 1, error: { code, retryable: false } });
    expect([result.error?.message, ...(result.error?.details ?? [])].join("\n")).toContain(said);
    expect(JSON.stringify(session.history)).not.toContain(KEY);
    expect(session.history).toHaveLength(1);
  });
});

test("H08 a reply of 1 MB is cut off while it is streamed", async () => {
  const { runtime } = await played("openai-chat", "openai-chat", [{ raw: flood(), headers: { "content-type": "text/event-stream" } }]);
  expect(await runtime.execute({ name: "world::get", input: {} })).toMatchObject({
    error: { code: "invalid_output", details: ["the reply has more than 262144 characters"] },
  });
});

function flood(): string {
  const piece = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: "x".repeat(1_024) } }] })}\n\n`;
  return piece.repeat(1_024);
}

test("maxOutputTokens, temperature and instructions are sent to the provider, and no tools are", async () => {
  const { server, runtime } = await played("openai-chat", "openai-chat", [{ text: '{"celsius":1}' }], {
    maxOutputTokens: 64,
    temperature: 0.5,
    instructions: "It is winter.",
  });
  await runtime.execute({ name: "world::get", input: {} });
  expect(server.requests[0]?.body).toMatchObject({
    max_completion_tokens: 64,
    temperature: 0.5,
    messages: [{ role: "system", content: `${SYSTEM}\n\nIt is winter.` }, { role: "user" }],
  });
  expect(server.requests[0]?.body).not.toHaveProperty("tools");
});
