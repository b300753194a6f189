import { describe, expect, test } from "vitest";
import type { ContentPart } from "../../src/core/content.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { Model, ModelReply, ModelRequest } from "../../src/core/model.ts";
import { modelFrom } from "../../src/model/model-from.ts";
import { PROVIDER_NAMES, type ProviderName } from "../../src/model/provider-names.ts";
import { PROVIDERS, type Provider } from "../../src/model/providers.ts";
import { inCI } from "../ci.ts";
import { answered, failed, said } from "../wire/conversations.ts";
import { KEY, hasty, listen, serve, type Heard } from "./listen.ts";
import type { ProviderServer, ServedAnswer, ServedFormat } from "./provider-server.ts";

const PICTURE = { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" } as const satisfies ContentPart;
const TOOLS = [
  {
    name: "weather::get",
    description: "The weather of a place.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  { name: "clock", description: "The time.", inputSchema: { type: "object", properties: {} } },
  {
    name: "odata::list",
    description: "Its arguments have names that Claude refuses.",
    inputSchema: { type: "object", properties: { $filter: { type: "string" }, "First Name": { type: "string" } } },
  },
] as const satisfies ModelRequest["tools"];

const OSLO = { name: "weather__get", input: { city: "Oslo – 挪威 \u{1F327}" } } as const;
const CLOCK = { name: "clock", input: {} } as const;

function formatOf(name: ProviderName): ServedFormat {
  const provider: Provider = PROVIDERS[name];
  if (name === "deepseek" || name === "mistral") return name;
  const { name: format } = provider.format();
  if (format.startsWith("openai-chat")) return "openai-chat";
  const formats: Readonly<Record<string, ServedFormat>> = {
    "openai-responses": "openai-responses",
    "anthropic-messages": "anthropic-messages",
    "gemini-generateContent": "gemini",
    "bedrock-converse": "bedrock-converse",
    cohere: "cohere",
    "cohere-chat": "cohere",
    ollama: "ollama",
    "ollama-chat": "ollama",
  };
  return formats[format] ?? expect.fail(`There is no fake provider of ${format}.`);
}

interface Round {
  readonly server: ProviderServer;
  readonly model: Model;
}

async function play(name: ProviderName, script: readonly ServedAnswer[], stream: boolean): Promise<Round> {
  const server = await serve({ format: formatOf(name), script, key: KEY });
  const { ports } = hasty();
  return {
    server,
    model: modelFrom(
      {
        provider: name,
        model: name === "bedrock" ? "anthropic.claude-opus-4-6" : "some-model",
        baseUrl: server.url,
        apiKey: KEY,
        stream,
        ports,
      },
      { environment: {} },
    ),
  };
}

/** What a session would hold of a reply and of what its calls were answered. */
function recorded(reply: ModelReply | undefined, results: (callId: string, name: string) => ModelMessage): readonly ModelMessage[] {
  const { text = "", native, calls = [] } = reply ?? {};
  return [
    { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
    ...calls.map((call, index): ModelMessage => ({ role: "call", at: 0, callId: `own_${index}`, turnId: "turn_1", call })),
    ...calls.map(({ name }, index) => results(`own_${index}`, name)),
  ];
}

/** What every request was refused for: nothing, where all is well. */
function refusals({ requests }: ProviderServer): readonly string[] {
  return requests.flatMap(({ refused }) => refused ?? []);
}

function callsOf({ reply }: Heard): readonly object[] {
  return (reply?.calls ?? []).map(({ name, input }) => ({ name, input }));
}

/** All in CI; elsewhere the first provider of each format. */
const TRIED = PROVIDER_NAMES.filter(
  (name, index) => inCI || PROVIDER_NAMES.findIndex((other) => formatOf(other) === formatOf(name)) === index,
);

const CASES = TRIED.flatMap((name) => [
  { name, stream: true, how: "streamed" },
  { name, stream: false, how: "whole" },
]);

describe.each(CASES)("$name, $how", ({ name, stream }) => {
  test("F4.17 returns text, finish reason and usage", async () => {
    const { server, model } = await play(name, [{ text: "Hello, wörld.", inputTokens: 12, outputTokens: 3 }], stream);
    const heard = await listen(model, { system: "Be brief.", messages: [said("user", "Hello?")], maxOutputTokens: 100, temperature: 0.5 });
    expect(refusals(server)).toEqual([]);
    expect(heard).toMatchObject({
      error: undefined,
      reply: { text: "Hello, wörld.", finish: "stop", calls: [], usage: { inputTokens: 12, outputTokens: 3 } },
    });
    const deltas = heard.events.flatMap((event) => (event.type === "text-delta" ? [event.text] : []));
    expect({ text: deltas.join(""), isStreamed: deltas.length > 1 }).toEqual({ text: "Hello, wörld.", isStreamed: stream });
  });

  test("F4.18 makes parallel calls and accepts their results, including failures and images", async () => {
    const script = [{ text: "I look.", calls: [OSLO, CLOCK] }, { calls: [OSLO] }, { text: "It rains." }];
    const { server, model } = await play(name, script, stream);
    const conversation: ModelMessage[] = [said("user", [{ type: "text", text: "What is this?" }, PICTURE])];
    const first = await listen(model, { messages: conversation, tools: TOOLS });
    conversation.push(
      ...recorded(first.reply, (callId, tool) =>
        tool === "clock" ? failed(callId, tool) : answered(callId, tool, { content: [{ type: "text", text: "Rain:" }, PICTURE] }),
      ),
    );
    const second = await listen(model, { messages: conversation, tools: TOOLS });
    conversation.push(...recorded(second.reply, (callId, tool) => answered(`two_${callId}`, tool, { output: { rain: true } })));
    const renamed = conversation.map((message, index) =>
      index > 5 && message.role === "call" ? { ...message, callId: `two_${message.callId}`, turnId: "turn_2" } : message,
    );
    const third = await listen(model, { messages: [...renamed, said("user", "So?")], tools: TOOLS, toolChoice: "auto" });

    expect(refusals(server)).toEqual([]);
    expect([first, second, third].map(({ error }) => error)).toEqual([undefined, undefined, undefined]);
    expect(callsOf(first)).toEqual([
      { name: "weather::get", input: OSLO.input },
      { name: "clock", input: {} },
    ]);
    expect([first.reply?.finish, callsOf(second).length, third.reply?.text]).toEqual(["calls", 1, "It rains."]);
    const sealed = first.events.flatMap((event) => (event.type === "call-seal" ? [event.call] : []));
    expect(sealed).toEqual(first.reply?.calls);
  });

  test("sends reasoning back in the form that the provider requires", async () => {
    const script = [{ reasoning: "They want the weather.", calls: [OSLO, CLOCK] }, { text: "Rain." }];
    const { server, model } = await play(name, script, stream);
    const question = said("user", "Weather?");
    const first = await listen(model, { messages: [question], tools: TOOLS });
    const messages = [question, ...recorded(first.reply, (callId, tool) => answered(callId, tool, { output: "ok" }))];
    const second = await listen(model, { messages, tools: TOOLS });
    expect(refusals(server)).toEqual([]);
    expect([first.reply?.reasoning, second.reply?.text]).toEqual(["They want the weather.", "Rain."]);
  });

  test("continues a conversation with calls when no tools are offered", async () => {
    const { server, model } = await play(name, [{ calls: [OSLO] }, { text: "Bye." }], stream);
    const question = said("user", "Weather?");
    const first = await listen(model, { messages: [question], tools: TOOLS });
    const messages = [question, ...recorded(first.reply, (callId, tool) => answered(callId, tool, { output: "Rain." }))];
    const second = await listen(model, { messages: [...messages, said("user", "Bye.")] });
    expect(refusals(server)).toEqual([]);
    expect([second.error, second.reply?.text]).toEqual([undefined, "Bye."]);
  });

  test("returns no calls from a reply that was cut at its maximum length", async () => {
    const { model } = await play(name, [{ calls: [OSLO], finish: "length" }], stream);
    expect((await listen(model, { messages: [said("user", "Go.")], tools: TOOLS })).reply).toMatchObject({ finish: "length", calls: [] });
  });

  test("B08 retries an overload and reports a rejected request", async () => {
    const script = [{ status: 503, message: "Overloaded" }, { text: "Now." }, { status: 400, message: "No such thing.", kind: "bad" }];
    const { server, model } = await play(name, script, stream);
    const heard = await listen(model);
    const refused = await listen(model);
    expect([heard.reply?.text, server.requests.length, refused.error?.code]).toEqual(["Now.", 3, "model_failed"]);
    expect(refused.error?.message).toContain("No such thing.");
  });
});

describe.each(PROVIDER_NAMES)("%s", (name) => {
  test("H07 gives the same events byte by byte, and no calls when the stream is cut", async () => {
    const reply = { text: "I look.", reasoning: "Hm.", calls: [OSLO, CLOCK] };
    const script = [
      { ...reply, delivery: { trickle: true } },
      { ...reply, delivery: { after: { pieces: 4, then: "reset" } } },
    ] as const;
    const { model } = await play(name, script, true);
    const request = { messages: [said("user", "Go.")], tools: TOOLS };
    const whole = await listen((await play(name, [reply], true)).model, request);
    const trickled = await listen(model, request);
    const cut = await listen(model, request);
    expect(trickled.events).toEqual(whole.events);
    expect(cut.reply).toMatchObject({ finish: "truncated", calls: [] });
  });

  test("B10 can be cancelled in the middle of a stream", async () => {
    const controller = new AbortController();
    const open = Promise.withResolvers<void>();
    const gate = (piece: number): Promise<void> => (piece < 6 ? Promise.resolve() : open.promise);
    const { model } = await play(name, [{ text: "A long story about nothing at all.", delivery: { gate } }], true);
    const listening = (async () => {
      for await (const event of model.stream({ messages: [said("user", "Go.")] }, { signal: controller.signal }))
        if (event.type === "text-delta") controller.abort();
    })();
    await expect(listening).rejects.toMatchObject({ code: "cancelled" });
    open.resolve();
  });
});
