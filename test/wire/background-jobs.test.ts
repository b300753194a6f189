/** A conversation with a background job, in every wire format: the call answered at once, its end a message of its own. */
import { afterAll, describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/core/base/json.ts";
import { createJobMessage, createPendingResult } from "../../src/core/jobs/job-message.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { ModelReply } from "../../src/core/model.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";
import { ANTHROPIC_MESSAGES } from "../model/dialects/anthropic.ts";
import { BEDROCK_CONVERSE } from "../model/dialects/bedrock.ts";
import { COHERE_CHAT } from "../model/dialects/cohere.ts";
import { Refused, type Dialect } from "../model/dialects/dialect.ts";
import { GEMINI } from "../model/dialects/gemini.ts";
import { OLLAMA_CHAT } from "../model/dialects/ollama.ts";
import { MISTRAL_CHAT, OPENAI_CHAT, openAiChatDialect } from "../model/dialects/openai-chat.ts";
import { OPENAI_RESPONSES } from "../model/dialects/openai-responses.ts";
import { answered, called, said } from "./conversations.ts";
import { allEvents, recordedReplies, recordedRows, replyOf } from "./recorded-cases.ts";

const FORMATS = [
  anthropicMessages(),
  bedrockConverse(),
  cohere(),
  gemini(),
  geminiInteractions(),
  mistral(),
  ollama(),
  openAiChat(),
  openAiResponses(),
];
const JOB = { callId: "call_b", id: "toolu_b", name: "build::run", mode: "background" } as const;
const BEFORE: readonly ModelMessage[] = [
  said("user", "Build it, and tell me the time."),
  said("assistant", "At once."),
  called("call_b", "build::run", { id: "toolu_b", input: { target: "all" } }),
  called("call_t", "clock::now", { id: "toolu_t" }),
  { role: "result", at: 0, callId: "call_b", result: createPendingResult(JOB) },
  answered("call_t", "clock::now", { id: "toolu_t", output: "noon" }),
  said("assistant", "It is noon; the build runs."),
];
const END = answered("call_b", "build::run", { id: "toolu_b", output: { files: 12 } }).result;
const AFTER: readonly ModelMessage[] = [...BEFORE, { ...createJobMessage(JOB, END), at: 0 }, said("user", "And now?")];

describe("F1.11 a pending call and its later result, in every wire format", () => {
  test.each(FORMATS)("$name keeps the messages already sent unchanged, and pairs every call with one result", (format) => {
    const before = written(format.encodeMessages(BEFORE).messages);
    const after = written(format.encodeMessages(AFTER).messages);
    expect(after.startsWith(before.slice(0, -1))).toBe(true); // a provider's prompt cache holds
    expect(count(before, "call_b")).toBeGreaterThan(0); // its placeholder names the job
    const rest = after.slice(before.length - 1);
    expect(rest).toContain("files");
    expect(rest).toContain("build__run");
    expect(rest).not.toContain("build::run");
    expect(count(rest, '"toolu_b"')).toBe(0); // no second result of the call
  });
});

/** What the providers refuse, by the name of the format; there is no such check of Gemini's Interactions. */
const DIALECTS: ReadonlyMap<string, Dialect> = new Map([
  ["anthropic-messages", ANTHROPIC_MESSAGES],
  ["bedrock-converse", BEDROCK_CONVERSE],
  ["cohere-chat", COHERE_CHAT],
  ["gemini-generateContent", GEMINI],
  ["openai-chat:mistral", openAiChatDialect(MISTRAL_CHAT)],
  ["ollama-chat", OLLAMA_CHAT],
  ["openai-chat", openAiChatDialect(OPENAI_CHAT)],
  ["openai-responses", OPENAI_RESPONSES],
]);

/** By the name of a recording's API, the format that reads it. */
const READERS: Readonly<Record<string, WireFormat>> = {
  "anthropic-messages": anthropicMessages(),
  "bedrock-converse": bedrockConverse(),
  "ollama-chat": ollama(),
  "gemini-generateContent": gemini(),
  "gemini-interactions": geminiInteractions(),
  "openai-chat": openAiChat(),
  "openai-responses": openAiResponses(),
};

const ROWS = recordedRows();

describe.skipIf(ROWS.length === 0)("F1.11 recorded replies whose first call continues in the background", () => {
  const accepted = new Map<string, number>();

  test.each(Object.entries(READERS))("are valid for every wire format: %s", (api, reader) => {
    for (const row of ROWS.filter((one) => one.api === api)) {
      for (const recorded of recordedReplies(row, reader.framing)) {
        const reply = recorded.streaming ? replyOf(allEvents(reader, recorded.pieces)) : reader.decodeReply(recorded.body);
        if (reply.calls.length > 0) for (const format of FORMATS) checkPending(reply, format);
      }
    }
  });

  afterAll(() => {
    for (const name of DIALECTS.keys()) expect(accepted.get(name) ?? 0, name).toBeGreaterThan(20);
  });

  /** It stands where a result would, its end comes behind it, and a provider that takes the one takes the other. */
  function checkPending(reply: ModelReply, format: WireFormat): void {
    const [first] = reply.calls;
    if (first === undefined) return;
    const job = { callId: "call_0", id: first.id, name: first.name, mode: "background" } as const;
    const placeholder = createPendingResult(job);
    const pending = conversationOf(reply, { role: "result", at: 0, callId: "call_0", result: placeholder });
    const direct = conversationOf(reply, { role: "result", at: 0, callId: "call_0", result: { ...placeholder, status: "ok" } });
    expect(format.encodeMessages(pending)).toEqual(format.encodeMessages(direct));
    const { result } = answered("call_0", first.name, { output: { files: 12 } });
    const ended: readonly ModelMessage[] = [...pending, said("assistant", "It goes on."), { ...createJobMessage(job, result), at: 0 }];
    const [before, after] = [pending, ended].map((messages) => written(format.encodeMessages(messages).messages));
    expect(after?.startsWith(before?.slice(0, -1) ?? "?")).toBe(true);
    if (first.id !== undefined) expect(count(after ?? "", JSON.stringify(first.id))).toBe(count(before ?? "", JSON.stringify(first.id)));
    const native = reply.native?.format === format.name ? reply.native.blocks : [];
    for (const block of native) expect(after).toContain(JSON.stringify(block));
    const dialect = DIALECTS.get(format.name);
    if (dialect === undefined || refusal(dialect, format, direct) !== undefined) return;
    expect([refusal(dialect, format, pending), refusal(dialect, format, ended)]).toEqual([undefined, undefined]);
    accepted.set(format.name, (accepted.get(format.name) ?? 0) + 1);
  }
});

function conversationOf({ text, native, calls }: ModelReply, firstResult: ModelMessage): readonly ModelMessage[] {
  const made = calls.map(({ id, name, input }, at) => ({
    ...called(`call_${at}`, name),
    call: { ...(id === undefined ? {} : { id }), name, input },
  }));
  const results = calls
    .slice(1)
    .map(({ id, name }, at) => answered(`call_${at + 1}`, name, { output: { at }, ...(id === undefined ? {} : { id }) }));
  const reply = { role: "assistant", at: 0, content: text, ...(native === undefined ? {} : { native }) } as const;
  return [said("user", "Go on."), reply, ...made, firstResult, ...results];
}

/** Why the provider would refuse the conversation; undefined where it would not. */
function refusal(dialect: Dialect, format: WireFormat, messages: readonly ModelMessage[]): string | undefined {
  const names = new Set(messages.flatMap((message) => (message.role === "call" ? [message.call.name] : [])));
  const tools = Array.from(names, (name) => ({ name, description: "d", inputSchema: { type: "object" } }));
  const { body } = format.encodeRequest({ messages, tools }, { model: "m" });
  const path = format.path({ model: "m" }).split("?")[0] ?? "";
  const headers = { "anthropic-version": "2023-06-01" };
  try {
    dialect.check({ body, path, query: new URLSearchParams(), headers, signatures: new Map() });
    return undefined;
  } catch (thrown: unknown) {
    if (thrown instanceof Refused) return thrown.message;
    throw thrown;
  }
}

function written(messages: JsonValue): string {
  return JSON.stringify(messages);
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}
