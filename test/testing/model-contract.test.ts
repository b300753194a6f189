import { describe, expect, onTestFinished, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest } from "../../src/core/model.ts";
import { httpModel } from "../../src/model/http-model.ts";
import { scriptedModel, type ScriptedReply } from "../../src/model/scripted-model.ts";
import { textToolsModel } from "../../src/model/text-model.ts";
import type { ModelSubject } from "../../src/testing/model-case.ts";
import { modelContract } from "../../src/testing/model-contract.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { startProviderServer, type ServedAnswer, type ServedFormat } from "../model/provider-server.ts";

const TOOLS = [{ name: "weather::get", description: "The weather of a city.", inputSchema: { type: "object" } }] as const;
const ask = (content: string): ModelRequest => ({ messages: [{ role: "user", at: 0, content }], tools: TOOLS });
const REQUESTS = [ask("weather"), ask("hello")] as const;

/** Reasons and calls about the weather, and says hello to everything else. */
function sayTo({ messages }: ModelRequest): ScriptedReply {
  if (!JSON.stringify(messages).includes("weather")) return { text: "Hello to you.", pieceChars: 3 };
  const calls = ["Oslo", "Bergen"].map((city) => ({ name: "weather::get", input: { city } }));
  return { text: "I look.", reasoning: "Hm, which?", calls, pieceChars: 3 };
}

const FOREVER = 2_000_000_000;
const failed = (): never => {
  throw new ToolError("unavailable", "The model is away.");
};
const written = (city: string): string => `<tool_call>\n{"name": "weather__get", "arguments": {"city": "${city}"}}\n</tool_call>`;

const SUBJECTS: Readonly<Record<string, ModelSubject>> = {
  scripted: {
    model: () => scriptedModel(sayTo),
    failing: () => scriptedModel(failed),
    stalling: () => begun(scriptedModel(() => ({ text: "Hello", delayMs: FOREVER }))),
    requests: REQUESTS,
  },
  "with calls in text": {
    model: () =>
      textTools((request) =>
        sayTo(request).calls === undefined ? sayTo(request) : { text: `I look.${written("Oslo")}${written("Bergen")}` },
      ),
    failing: () => textTools(failed),
    stalling: () => begun(textTools(() => ({ text: "Hello", delayMs: FOREVER }))),
    requests: REQUESTS,
  },
  ...served("openai-chat", openAiChat()),
  ...served("openai-responses", openAiResponses()),
  ...served("anthropic-messages", anthropicMessages()),
  ...served("gemini", gemini()),
  ...served("bedrock-converse", bedrockConverse()),
  ...served("ollama", ollama()),
  ...served("cohere", cohere()),
  ...served("mistral", mistral()),
};

function textTools(script: (request: ModelRequest) => ScriptedReply): Model {
  return textToolsModel(scriptedModel(script), { format: "hermes" });
}

/** Says a word before all else, so that there is something to be called off. */
function begun(model: Model): Model {
  return {
    name: model.name,
    async *stream(request, options) {
      yield { type: "text-delta", text: "Well" };
      yield* model.stream(request, options);
    },
  };
}

/** Behind a fake provider, streamed and whole. */
function served(format: ServedFormat, wire: WireFormat): Readonly<Record<string, ModelSubject>> {
  const calls = ["Oslo", "Bergen"].map((city) => ({ name: "weather__get", input: { city } }));
  const subject = (stream: boolean): ModelSubject => {
    const modelOf = async (answer: ServedAnswer): Promise<Model> => {
      const server = await startProviderServer({ format, script: [answer] });
      onTestFinished(() => server.close());
      const headers = { "anthropic-version": "2023-06-01" };
      return httpModel({ format: wire, model: "m", baseUrl: server.url, headers, stream, retry: { maxAttempts: 1 } });
    };
    const stalled = { text: "Hello, how are you?", delivery: { after: { pieces: 4, then: "stall" } } } as const;
    return {
      model: () => modelOf({ text: "I look.", reasoning: "Hm.", calls }),
      failing: () => modelOf({ status: 500, message: "It broke.", kind: "api_error" }),
      ...(stream ? { stalling: () => modelOf(stalled) } : {}),
      requests: [ask("weather")],
    };
  };
  return { [`of ${format}, streamed`]: subject(true), [`of ${format}, whole`]: subject(false) };
}

const OWN = Object.entries(SUBJECTS).flatMap(([name, subject]) =>
  modelContract.filter((one) => one.appliesTo(subject)).map((one) => ({ name, subject, ...one })),
);

test.each(OWN)("the model $name fulfils the contract: $title", async ({ run, subject }) => {
  await run(subject);
});

test("cases for failing and stalling are skipped for a model that cannot do so on demand", () => {
  const { model, requests } = SUBJECTS["scripted"] ?? { model: failed, requests: [] };
  expect(modelContract.filter((one) => one.appliesTo({ model, requests }))).toHaveLength(modelContract.length - 2);
});

type Stream = (request: ModelRequest, options: ModelOptions) => AsyncIterable<ModelEvent>;

/** A model that does as it should, except for what is changed. */
function modelWith(change: (stream: Stream) => Stream): Model {
  const good = scriptedModel(sayTo);
  const stream = change((request, options) => good.stream(request, options));
  return { name: "broken", stream: (request, options = {}) => stream(request, options) };
}

/** The same events, with some of them left out, changed or doubled. */
function changed(change: (event: ModelEvent) => readonly ModelEvent[]): () => Model {
  return () =>
    modelWith(
      (stream) =>
        async function* (request, options) {
          for await (const event of stream(request, options)) yield* change(event);
        },
    );
}

function withReply(change: (reply: ModelReply) => Partial<ModelReply>): () => Model {
  return changed((event) => (event.type === "reply-end" ? [{ ...event, reply: { ...event.reply, ...change(event.reply) } }] : [event]));
}

/** Answers by what it was asked last, by whomever. */
function forgetful(): Model {
  let last: ModelRequest = REQUESTS[0];
  return modelWith(
    (stream) =>
      async function* (request, options) {
        last = request;
        await Promise.resolve();
        yield* stream(last, options);
      },
  );
}

/** Is busy until somebody has listened to the end. */
function jealous(): Model {
  let isBusy = false;
  return modelWith(
    (stream) =>
      async function* (request, options) {
        if (isBusy) throw new ToolError("resource_busy", "Busy.");
        isBusy = true;
        yield* stream(request, options);
        isBusy = false;
      },
  );
}

const deaf = (): Model => modelWith((stream) => (request) => stream(request, {}));
const stuck = (): Model => ({
  name: "stuck",
  async *stream() {
    yield { type: "text-delta", text: "Well" };
    await new Promise(() => undefined);
  },
});
const plain = (): Model => scriptedModel([{ text: "He", error: new TypeError("x is not a function") }]);

const BROKEN: readonly (readonly [string, Partial<ModelSubject>])[] = [
  ["the last event is the end of the reply, and there is no other", { model: changed((event) => [event, event]) }],
  [
    "pieces of text and of reasoning, where there are any, are those of the reply",
    { model: withReply(({ text }) => ({ text: `${text}!` })) },
  ],
  [
    "calls are sealed in order, each once and before the end, and are those of the reply",
    { model: changed((event) => (event.type === "call-seal" ? [{ ...event, index: 1 - event.index }] : [event])) },
  ],
  [
    "a reply says why it ended, and what it cost in tokens",
    { model: withReply(() => ({ usage: { inputTokens: Number.NaN, outputTokens: 0 } })) },
  ],
  [
    "a request is left as it was",
    {
      model: () =>
        modelWith((stream) => (request, options) => {
          Object.assign(request, { temperature: 0 });
          return stream(request, options);
        }),
      requests: [{ ...ask("hello") }],
    },
  ],
  ["two replies at once do not mix", { model: forgetful }],
  ["an abandoned reply does not affect other replies", { model: jealous }],
  ["a request whose signal aborts before it begins is cancelled, and sends no events", { model: deaf }],
  ["a reply that is aborted on the way is cancelled in time", { stalling: stuck }],
  ["a failure is thrown as a ToolError, in place of the end", { failing: plain }],
];

describe("the contract detects a model that violates the case", () => {
  test("every case has a model that violates it", () => {
    expect(BROKEN.map(([title]) => title)).toEqual(modelContract.map(({ title }) => title));
  });
  test.each(BROKEN)("%s", async (title, broken) => {
    const one = modelContract.find((known) => known.title === title);
    const subject: ModelSubject = { model: () => scriptedModel(sayTo), requests: REQUESTS, timeoutMs: 300, ...broken };
    expect(one?.appliesTo(subject)).toBe(true);
    await expect(one?.run(subject)).rejects.toThrow();
  });
  test("events after a call's seal, and unsealed calls, are detected too", async () => {
    const { run } = modelContract[2] ?? { run: failed };
    const late = changed((event) =>
      event.type === "call-seal" ? [event, { type: "call-delta", index: event.index, text: "}" }] : [event],
    );
    const unsealed = changed((event) => (event.type === "call-seal" ? [] : [event]));
    for (const model of [late, unsealed]) await expect(run({ model, requests: REQUESTS })).rejects.toThrow();
  });
});
