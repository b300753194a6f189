import { expect, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { type ModelEvent, type ModelReply, collectReply } from "../../src/core/model.ts";
import { scriptedModel } from "../../src/model/scripted-model.ts";
import { FakeClock, settle } from "../../src/testing/fake-ports.ts";

const QUESTION = { messages: [{ role: "user", at: 0, content: "Go on." }] } as const;
const WEATHER = { id: "call_1", name: "weather::get", input: { city: "Oslo" } } as const;

async function all(events: AsyncIterable<ModelEvent>): Promise<readonly ModelEvent[]> {
  const heard: ModelEvent[] = [];
  for await (const event of events) heard.push(event);
  return heard;
}

test("a request beyond the script reports the length of the script", async () => {
  const model = scriptedModel([{ text: "Hello." }], { name: "parrot" });
  await all(model.stream(QUESTION));
  await expect(all(model.stream(QUESTION))).rejects.toThrow(
    new ToolError("model_failed", "The model parrot has no reply left: its script holds 1, and this is request 2."),
  );
});

test("an error in the script is thrown after its text", async () => {
  const error = new ToolError("rate_limited", "Slow down.");
  const heard: ModelEvent[] = [];
  const listen = async (): Promise<void> => {
    for await (const event of scriptedModel([{ text: "Well", error }]).stream(QUESTION)) heard.push(event);
  };
  await expect(listen()).rejects.toBe(error);
  expect(heard).toEqual([{ type: "text-delta", text: "Well" }]);
});

test("B10 an aborted signal cancels before the first event, and counts no request", async () => {
  const model = scriptedModel([{ text: "Hello." }]);
  await expect(all(model.stream(QUESTION, { signal: AbortSignal.abort() }))).rejects.toMatchObject({ code: "cancelled" });
  expect(model.requests).toEqual([]);
});

test("a reply emits the events of a real model in order: reasoning, text, provider calls, calls, the end", async () => {
  const usage = { inputTokens: 3, outputTokens: 4, reasoningTokens: 1 };
  const native = { format: "anthropic-messages", blocks: [{ type: "thinking" }] };
  const calls = [
    WEATHER,
    { name: "mail::send", input: "no JSON" },
    { id: "call_3", name: "shell", input: { input: "ls" }, kind: "custom" as const },
  ];
  const told = [WEATHER, { id: "scripted_1", name: "mail::send", input: "no JSON" }, calls[2]];
  const reply: ModelReply = {
    text: "I look.",
    reasoning: "Hm.",
    media: [],
    calls: told as ModelReply["calls"],
    providerCalls: [{ name: "web_search", kind: "server_tool_use" }],
    finish: "calls",
    finishDetail: "tool_use",
    usage,
    native,
  };
  const model = scriptedModel([
    { text: "I look.", reasoning: "Hm.", calls, providerCalls: reply.providerCalls, finishDetail: "tool_use", usage, native },
  ]);
  expect(await all(model.stream(QUESTION))).toEqual([
    { type: "reasoning-delta", text: "Hm." },
    { type: "text-delta", text: "I look." },
    { type: "provider-call", call: { name: "web_search", kind: "server_tool_use" } },
    { type: "call-open", index: 0, name: "weather::get" },
    { type: "call-delta", index: 0, text: '{"city":"Oslo"}' },
    { type: "call-seal", index: 0, call: WEATHER },
    { type: "call-open", index: 1, name: "mail::send" },
    { type: "call-delta", index: 1, text: "no JSON" },
    { type: "call-seal", index: 1, call: told[1] },
    { type: "call-open", index: 2, name: "shell" },
    { type: "call-delta", index: 2, text: "ls" },
    { type: "call-seal", index: 2, call: calls[2] },
    { type: "reply-end", reply },
  ]);
  expect(model.requests).toEqual([QUESTION]);
});

test("H07 a truncated reply seals its calls but contains none", async () => {
  const events = await all(scriptedModel([{ calls: [WEATHER], finish: "length" }]).stream(QUESTION));
  expect(events.map(({ type }) => type)).toEqual(["call-open", "call-delta", "call-seal", "reply-end"]);
  expect(events.at(-1)).toMatchObject({ reply: { finish: "length", calls: [] } });
});

test("H07 pieceChars splits text and calls without changing them", async () => {
  const events = await all(scriptedModel([{ text: "Hello.", calls: [WEATHER], pieceChars: 4 }]).stream(QUESTION));
  expect(events.filter(({ type }) => type === "text-delta" || type === "call-delta")).toEqual([
    { type: "text-delta", text: "Hell" },
    { type: "text-delta", text: "o." },
    { type: "call-delta", index: 0, text: '{"ci' },
    { type: "call-delta", index: 0, text: 'ty":' },
    { type: "call-delta", index: 0, text: '"Osl' },
    { type: "call-delta", index: 0, text: 'o"}' },
  ]);
});

test("each event waits for delayMs, and cancelling ends the wait", async () => {
  const clock = new FakeClock();
  const heard: string[] = [];
  const controller = new AbortController();
  const model = scriptedModel([{ text: "One", calls: [WEATHER], delayMs: 100 }], { clock });
  const listening = (async () => {
    for await (const { type } of model.stream(QUESTION, { signal: controller.signal })) heard.push(`${clock.now()} ${type}`);
  })();
  const outcome = expect(listening).rejects.toMatchObject({ code: "cancelled" });
  await clock.advance(350);
  controller.abort();
  await settle();
  await outcome;
  expect({ heard, pending: clock.pending }).toEqual({ heard: ["100 text-delta", "200 call-open", "300 call-delta"], pending: 0 });
});

test("a function creates the reply to each request", async () => {
  const model = scriptedModel((request, index) => ({ text: `${index}: ${request.messages.length}` }));
  expect([(await collectReply(model.stream(QUESTION)))?.text, (await collectReply(model.stream({ messages: [] })))?.text]).toEqual([
    "0: 1",
    "1: 0",
  ]);
});
