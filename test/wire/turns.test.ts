/** Conversations of any order: whatever models, people and loops said, no provider refuses the request for the next message. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonArray, isJsonObject, type JsonObject } from "../../src/core/base/json.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import type { ModelTool } from "../../src/core/model.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { repeated } from "../ci.ts";
import { ANTHROPIC_MESSAGES } from "../model/dialects/anthropic.ts";
import { BEDROCK_CONVERSE } from "../model/dialects/bedrock.ts";
import { COHERE_CHAT } from "../model/dialects/cohere.ts";
import type { Dialect } from "../model/dialects/dialect.ts";
import { GEMINI } from "../model/dialects/gemini.ts";
import { OLLAMA_CHAT } from "../model/dialects/ollama.ts";
import { DEEPSEEK_CHAT, MISTRAL_CHAT, OPENAI_CHAT, openAiChatDialect } from "../model/dialects/openai-chat.ts";
import { OPENAI_RESPONSES } from "../model/dialects/openai-responses.ts";
import { answered, called, said } from "./conversations.ts";

const PROVIDERS: readonly (readonly [WireFormat, Dialect])[] = [
  [anthropicMessages(), ANTHROPIC_MESSAGES],
  [bedrockConverse(), BEDROCK_CONVERSE],
  [gemini(), GEMINI],
  [openAiResponses(), OPENAI_RESPONSES],
  [openAiChat(), openAiChatDialect(OPENAI_CHAT)],
  [openAiChat("deepseek"), openAiChatDialect(DEEPSEEK_CHAT)],
  [mistral(), openAiChatDialect(MISTRAL_CHAT)],
  [cohere(), COHERE_CHAT],
  [ollama(), OLLAMA_CHAT],
];
const TOOL: ModelTool = { name: "read", description: "Reads.", inputSchema: { type: "object" } };

type Piece =
  | { readonly kind: "user" | "system" | "document" }
  | { readonly kind: "reply"; readonly by: number; readonly text: string; readonly reasoning: string; readonly calls: readonly boolean[] };

const PIECE: fc.Arbitrary<Piece> = fc.oneof(
  fc.record({ kind: fc.constantFrom("user", "system", "document") }),
  fc.record({
    kind: fc.constant("reply"),
    by: fc.nat(PROVIDERS.length - 1),
    text: fc.constantFrom("", "Hi."),
    reasoning: fc.constantFrom("", "Hm."),
    calls: fc.array(fc.boolean(), { maxLength: 2 }), // whether the history still has the call
  }),
);

/** What a piece adds; a reply in the form in which its provider's reader gives it. */
function messagesOf(piece: Piece, place: number): readonly ModelMessage[] {
  if (piece.kind !== "reply") return [said(piece.kind, `Said ${place}.`)];
  const [format, dialect] = PROVIDERS[piece.by] ?? [openAiChat(), openAiChatDialect(OPENAI_CHAT)];
  const calls = piece.calls.map((_, index) => ({ id: dialect.callId(place * 10 + index), name: "read", input: {} }));
  const { text, reasoning } = piece;
  const finish = calls.length > 0 ? "calls" : "stop";
  const made = { model: "m", id: `r${place}`, signature: `s${place}`, inputTokens: 1, outputTokens: 1, candidates: [] };
  const reply = format.decodeReply(dialect.whole({ ...made, text, reasoning, calls, finish }));
  const kept = reply.calls.filter((_, index) => piece.calls[index]);
  return [
    { role: "assistant", at: 0, content: reply.text, ...(reply.native === undefined ? {} : { native: reply.native }) },
    ...kept.map((call, index) => ({ ...called(`own_${place}_${index}`, "read", { turnId: `turn_${place}` }), call })),
    ...kept.map((_, index) => answered(`own_${place}_${index}`, "read", { output: index })),
  ];
}

/** The messages as the provider reads them, each block with its role. */
function spoken(body: JsonObject): readonly string[] {
  const all = body["messages"] ?? body["contents"] ?? body["input"] ?? [];
  return (isJsonArray(all) ? all.filter(isJsonObject) : []).flatMap(({ role = null, content, parts, ...rest }) => {
    const blocks = content ?? parts ?? null;
    return (isJsonArray(blocks) ? blocks : [blocks]).map((block) => JSON.stringify([role, block, rest]));
  });
}

describe.each(PROVIDERS.map(([format, dialect]) => [format.name, format, dialect] as const))("%s", (_name, format, dialect) => {
  const ask = (messages: readonly ModelMessage[]): JsonObject => format.encodeRequest({ messages, tools: [TOOL] }, { model: "m" }).body;

  test("F4.18 accepts messages in any order, and later requests repeat earlier ones unchanged", () => {
    fc.assert(
      fc.property(fc.constantFrom("user", "system"), fc.array(PIECE, { maxLength: 8 }), (role, pieces) => {
        const groups = [[said(role, "Begin.")], ...pieces.map(messagesOf)];
        const bodies = groups.map((_, index) => ask(groups.slice(0, index + 1).flat()));
        for (const [index, body] of bodies.entries()) {
          const path = format.path({ model: "m" }).split("?")[0] ?? "";
          const headers = { "anthropic-version": "2023-06-01" };
          dialect.check({ body, path, query: new URLSearchParams(), headers, signatures: new Map() });
          const next = bodies[index + 1];
          if (next === undefined || pieces[index]?.kind !== "reply") continue; // another message of the user takes the place of the reply
          const before = spoken(body);
          expect(spoken(next).slice(0, before.length)).toEqual(before);
        }
      }),
      { numRuns: repeated(1_000) },
    );
  });
});
