/** Every recorded reply through its wire format: whole, streamed, cut anywhere, and back again. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelEvent, ModelReply } from "../../src/core/model.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { providerName } from "../../src/wire/provider-name.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { allEvents, allPieces, expectedCalls, recordedReplies, recordedRows, replyOf, type RecordedReply } from "./recorded-cases.ts";
import { answered, called, said } from "./conversations.ts";

/** By the name of a recording's API, the format that reads it: one line each. */
const FORMATS: Readonly<Record<string, WireFormat>> = {
  "anthropic-messages": anthropicMessages(),
  "bedrock-converse": bedrockConverse(),
  "ollama-chat": ollama(),
  "gemini-generateContent": gemini(),
  "gemini-interactions": geminiInteractions(),
  "openai-chat": openAiChat(),
  "openai-responses": openAiResponses(),
};

/** Those that nothing was recorded of, but that a conversation may move to. */
const OTHERS: readonly WireFormat[] = [cohere(), mistral(), openAiChat("deepseek")];

const ROWS = recordedRows();
if (ROWS.length === 0) console.warn("cases/recorded is not at hand: recorded replies are not tested");

for (const [api, format] of Object.entries(FORMATS)) {
  describe.skipIf(ROWS.length === 0)(`F4.17 recorded replies of ${api}`, () => {
    for (const row of ROWS.filter((one) => one.api === api)) {
      const replies = recordedReplies(row, format.framing);
      test(`${row.file} decodes to its calls`, () => {
        const read = replies.map((reply) => readReply(reply, format));
        const { calls, providerCalls } = expectedCalls(row);
        expect(read.flatMap((reply) => reply.calls.map(essence))).toEqual(calls);
        expect(read.flatMap((reply) => reply.providerCalls)).toEqual(providerCalls);
        for (const reply of read) if (reply.calls.length > 0) expect(reply.finish).toBe("calls");
      });
      test(`F4.18 ${row.file} round-trips, and is accepted by every other provider`, () => {
        for (const reply of replies) checkRoundTrip(readReply(reply, format), format);
      });
      if (row.streaming)
        test(`H07 ${row.file} gives the same events however it is split`, () => {
          for (const reply of replies) checkCuts(reply, format);
        });
    }
  });
}

describe.skipIf(ROWS.length === 0)("F4.17 recorded replies of Chat Completions in their provider's variant", () => {
  for (const row of ROWS.filter(({ api }) => api === "openai-chat")) {
    const format = openAiChat(row.provider);
    test(`${row.file} decodes to its calls, and round-trips`, () => {
      const read = recordedReplies(row, format.framing).map((reply) => readReply(reply, format));
      expect(read.flatMap(({ calls }) => calls.map(essence))).toEqual(expectedCalls(row).calls);
      // a call without an id is given one, so that such a message does not go back as it came
      for (const reply of read) if (reply.calls.every(({ id }) => id !== undefined)) checkRoundTrip(reply, format);
    });
  }
});

function readReply(reply: RecordedReply, format: WireFormat): ModelReply {
  if (!reply.streaming) return format.decodeReply(reply.body);
  const events = allEvents(format, reply.pieces);
  checkEvents(events);
  return replyOf(events);
}

/** The promises of `ModelEvent`: what came in pieces is what the reply says, seals in order. */
function checkEvents(all: readonly ModelEvent[]): void {
  const events = all.slice(all.findLastIndex(({ type }) => type === "reply-void") + 1);
  const { text, reasoning, calls, providerCalls, finish } = replyOf(events);
  const sealed = events.flatMap((event) => (event.type === "call-seal" ? [event] : []));
  expect(events.flatMap((event) => (event.type === "text-delta" ? [event.text] : [])).join("")).toBe(text);
  expect(events.flatMap((event) => (event.type === "reasoning-delta" ? [event.text] : [])).join("")).toBe(reasoning);
  if (finish === "stop" || finish === "calls") expect(sealed.map(({ call }) => call)).toEqual(calls);
  expect(sealed.map(({ index }) => index)).toEqual(sealed.map((_, index) => index));
  expect(events.flatMap((event) => (event.type === "provider-call" ? [event.call] : []))).toEqual(providerCalls);
  expect(all.filter(({ type }) => type === "reply-end")).toHaveLength(1);
}

function checkCuts(reply: RecordedReply, format: WireFormat): void {
  if (!reply.streaming) return;
  const { bytes, pieces } = reply;
  const events = allEvents(format, pieces);
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
  expect(allEvents(format, allPieces(format.framing, single))).toEqual(events);
  fc.assert(
    fc.property(fc.array(fc.nat(bytes.length), { maxLength: 40 }), (cuts) => {
      const places = [0, ...cuts.toSorted((one, other) => one - other), bytes.length];
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end));
      expect(allEvents(format, allPieces(format.framing, chunks))).toEqual(events);
    }),
    { numRuns: 4 },
  );
}

function checkRoundTrip(reply: ModelReply, format: WireFormat): void {
  const messages = sessionOf(reply);
  const { messages: written } = format.encodeMessages(messages);
  const found = writtenCalls(written);
  for (const { id, name, input } of reply.calls) {
    const isWritten = found.some(
      (call) =>
        (id === undefined || call.id === id) && call.name === providerName(name) && JSON.stringify(call.input) === JSON.stringify(input),
    );
    expect(isWritten || (reply.native !== undefined && id !== undefined), `${name} ${id} in ${JSON.stringify(written)}`).toBe(true);
    if (id !== undefined) expect(JSON.stringify(written).split(JSON.stringify(id)).length - 1).toBeGreaterThan(1); // the call and its result
  }
  const native = reply.native?.format === format.name ? reply.native.blocks : [];
  for (const block of native)
    expect(holds(written, JSON.stringify(block)), `${JSON.stringify(block)} in ${JSON.stringify(written)}`).toBe(true);
  for (const other of [...Object.values(FORMATS), ...OTHERS])
    expect(other.encodeRequest({ messages }, { model: "model" }).body).toBeTypeOf("object");
}

/** As a session holds the reply, each call answered. */
function sessionOf(reply: ModelReply): readonly ModelMessage[] {
  const { text, native, calls } = reply;
  return [
    said("user", "Go on."),
    { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) },
    ...calls.map(({ id, name, input }, index) => ({
      ...called(`call_${index}`, name),
      call: { ...(id === undefined ? {} : { id }), name, input },
    })),
    ...calls.map(({ id, name }, index) => answered(`call_${index}`, name, { output: { index }, ...(id === undefined ? {} : { id }) })),
  ];
}

interface WrittenCall {
  readonly id: JsonValue | undefined;
  readonly name: string;
  readonly input: JsonValue;
}

/** Whatever looks like a call, in any provider's shape. */
function writtenCalls(value: JsonValue, outerId?: JsonValue): readonly WrittenCall[] {
  if (isJsonArray(value)) return value.flatMap((item) => writtenCalls(item));
  if (!isJsonObject(value)) return [];
  const { call_id, toolUseId, id = outerId, name } = value;
  const input = value["arguments"] ?? value["input"] ?? value["args"];
  const inner = Object.values(value).flatMap((item) => writtenCalls(item, id));
  if (typeof name !== "string" || input === undefined) return inner;
  return [{ id: call_id ?? toolUseId ?? id, name, input: readInput(value, input) }, ...inner];
}

function readInput(call: JsonObject, input: JsonValue): JsonValue {
  if (typeof input !== "string") return input;
  return "input" in call ? { input } : (JSON.parse(input) as JsonValue);
}

function holds(value: JsonValue, text: string): boolean {
  if (JSON.stringify(value) === text) return true;
  if (isJsonArray(value)) return value.some((item) => holds(item, text));
  return isJsonObject(value) && Object.values(value).some((item) => holds(item, text));
}

function essence({ id, name, input }: ModelReply["calls"][number]): Pick<ModelReply["calls"][number], "id" | "name" | "input"> {
  return { ...(id === undefined ? {} : { id }), name, input };
}
