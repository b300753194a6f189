import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { deepFreeze } from "../../src/core/base/frozen.ts";
import type { JsonValue } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelRequest, ModelTool } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { ResultChange } from "../core/result-change.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { stringifyRequest, markStable, withStepCache } from "../../src/wire/step-cache.ts";
import { PICTURE, answered, called, failed, said } from "./conversations.ts";
import { inputs, names } from "./generated.ts";
import { repeated } from "../ci.ts";

const FORMATS: Readonly<Record<string, { readonly format: WireFormat; readonly model: string }>> = {
  "openai-chat": { format: openAiChat(), model: "gpt-5" },
  mistral: { format: openAiChat("mistral"), model: "m" },
  deepseek: { format: openAiChat("deepseek"), model: "m" },
  "openai-responses": { format: openAiResponses(), model: "gpt-5" },
  anthropic: { format: anthropicMessages(), model: "claude-sonnet-4-5" },
  bedrock: { format: bedrockConverse(), model: "anthropic.claude-sonnet-4-5" },
  "bedrock, results as JSON": { format: bedrockConverse(), model: "mistral.large" },
  cohere: { format: cohere(), model: "m" },
  gemini: { format: gemini(), model: "gemini-2.5-pro" },
  "gemini 3": { format: gemini(), model: "gemini-3-pro" },
  "gemini-interactions": { format: geminiInteractions(), model: "gemini-3-pro" },
  ollama: { format: ollama(), model: "m" },
};

const TOOL: ModelTool = {
  name: "web::search",
  description: "Searches.",
  inputSchema: { type: "object", properties: { q: { type: "string" } } },
};
const PDF = { type: "file", mediaType: "application/pdf", name: "a b.pdf", uri: "data:application/pdf;base64,JVBERi0=" } as const;
const contents = fc.constantFrom("", "  ", "half \ud800", "JSON, please", "two\nlines");
const ids = fc.constantFrom(undefined, "toolu_1", "call 2", "x".repeat(90));

/** What an assistant said in some provider's own words; the calls of it are not those of the conversation. */
const natives: readonly { readonly format: string; readonly blocks: readonly JsonValue[] }[] = [
  {
    format: "anthropic-messages",
    blocks: [
      { type: "thinking", thinking: "Hm.", signature: "s" },
      { type: "tool_use", id: "toolu_1", name: "a", input: {} },
    ],
  },
  { format: "bedrock-converse", blocks: [{ text: " " }, { toolUse: { toolUseId: "call 2", name: "a", input: {} } }] },
  {
    format: "gemini-generateContent",
    blocks: [
      { text: "Hm.", thought: true },
      { functionCall: { name: "a", args: {} }, thoughtSignature: "s" },
    ],
  },
];

interface Made {
  readonly name: string;
  readonly input: JsonValue;
  readonly id: string | undefined;
  readonly answer: number;
}

const ANSWERS: readonly ResultChange[] = [
  { output: { n: 1, text: "half \ud800" } },
  { output: "words" },
  { content: [{ type: "text", text: "Here:" }, PICTURE, PDF] },
];

type Piece =
  | { readonly kind: "user" | "system" | "document" | "assistant"; readonly content: string }
  | { readonly kind: "native"; readonly native: (typeof natives)[number] }
  | { readonly kind: "shown"; readonly content: string }
  | { readonly kind: "calls"; readonly calls: readonly Made[]; readonly late: boolean; readonly twice: boolean };

const made: fc.Arbitrary<Made> = fc.record({
  name: names,
  input: fc.oneof(inputs, fc.constant("not an object")),
  id: ids,
  answer: fc.nat(ANSWERS.length),
});
const piece: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constantFrom("user", "system", "document", "assistant"), content: contents }),
  fc.record({ kind: fc.constant("native"), native: fc.constantFrom(...natives) }),
  fc.record({ kind: fc.constant("shown"), content: contents }),
  fc.record({
    kind: fc.constant("calls"),
    calls: fc.array(made, { minLength: 1, maxLength: 3 }),
    late: fc.boolean(),
    twice: fc.boolean(),
  }),
);

/** One piece after the other; results that come late stand behind the next piece. */
function conversation(pieces: readonly Piece[]): readonly ModelMessage[] {
  const messages: ModelMessage[] = [];
  let late: readonly ModelMessage[] = [];
  let count = 0;
  for (const one of pieces) {
    const waiting = late;
    late = [];
    if (one.kind === "native") messages.push({ role: "assistant", at: 0, content: "", native: one.native });
    else if (one.kind === "shown") messages.push(said("user", [{ type: "text", text: one.content }, PICTURE, PDF]));
    else if (one.kind !== "calls") messages.push(said(one.kind, one.content, one.kind === "document" ? "Title" : undefined));
    else {
      const turnId = `turn_${count}`;
      const calls = one.calls.map((call) => ({ ...call, callId: `call_${count++}` }));
      for (const { callId, name, input, id } of calls)
        messages.push(called(callId, name, { turnId, input, ...(id === undefined ? {} : { id }) }));
      const results = calls.map(({ callId, name, answer }) => {
        const fields = ANSWERS[answer];
        return fields === undefined ? failed(callId, name) : answered(callId, name, fields);
      });
      if (one.twice) messages.push(...messages.slice(-1));
      if (one.late) late = results;
      else messages.push(...results);
    }
    messages.push(...waiting);
  }
  return messages;
}

describe("encoded messages are cached, and the bytes of the request are the same", () => {
  test.each(Object.keys(FORMATS))("%s", (name) => {
    const { format, model } = FORMATS[name] ?? { format: openAiChat(), model: "m" };
    const cuts = fc.array(fc.nat(5), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 10 }), cuts, fc.boolean(), (pieces, steps, hasTools) => {
        const whole = conversation(pieces);
        const frozen = deepFreeze(structuredClone(whole));
        const tools = hasTools ? [TOOL] : [];
        for (let end = 1, cut = 0; end <= whole.length; end += 1 + (steps[cut++ % steps.length] ?? 0)) {
          const again = encode(format, model, { messages: frozen.slice(0, end), tools });
          const anew = encode(format, model, { messages: structuredClone(whole.slice(0, end)), tools });
          expect(again).toEqual(anew);
          expect(again.text).toBe(anew.json);
        }
      }),
      { numRuns: repeated(60) },
    );
  });

  test("a mutable message is encoded again", () => {
    const format = openAiChat();
    const message = said("user", "one");
    const messages = [message];
    const before = encode(format, "m", { messages, tools: [] });
    Object.assign(message, { content: "two" });
    expect([before.text.includes('"one"'), encode(format, "m", { messages, tools: [] }).text.includes('"two"')]).toEqual([true, true]);
  });

  test("encodings for old rules are evicted from the cache", () => {
    let times = 0;
    const write = withStepCache((_step: object, _rules: object) => [{ times: ++times }]);
    const step = {};
    markStable(step);
    const first = {};
    for (const rules of [first, first, ...Array.from({ length: 100 }, () => ({})), first]) write(step, rules);
    expect(times).toBe(102);
  });

  test("frozen messages are encoded to the same objects in the next request", () => {
    const format = anthropicMessages();
    const messages = deepFreeze([said("user", "go"), called("c1", "web::search"), answered("c1", "web::search", { output: 1 })]);
    const first = format.encodeMessages(messages).messages;
    const second = format.encodeMessages(deepFreeze([...messages, said("user", "more")])).messages;
    const block = (list: typeof first): unknown => Object.values(list[1]?.["content"] ?? [])[0];
    expect(block(second)).toBe(block(first));
  });
});

interface Encoding {
  readonly text: string;
  readonly json: string;
  readonly toolNames: readonly unknown[];
  readonly notes: readonly unknown[];
}

function encode(format: WireFormat, model: string, request: ModelRequest): Encoding {
  const { body, toolNames, notes } = format.encodeRequest(request, { model });
  return { text: stringifyRequest(body), json: JSON.stringify(body), toolNames: [...toolNames], notes };
}

test("a request contains no lone surrogate, wherever it comes from", () => {
  const half = "half \ud800";
  const body = { model: half, [half]: [{ [half]: [half] }], tools: [{ description: half, text: JSON.stringify(half) }] };
  expect(stringifyRequest(body)).toBe(JSON.stringify(body).replaceAll(/(?<!\\)\\ud800/gu, String.raw`\ufffd`));
});
