/** How fast streamed replies are read: from bytes to a whole reply, beside the providers' own libraries. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { Stream } from "openai/core/streaming";
import { type ModelReply, type ModelRequest, collectReply } from "../src/core/model.ts";
import { httpModel } from "../src/model/http-model.ts";
import { anthropicMessages } from "../src/wire/anthropic.ts";
import { frameReader } from "../src/wire/framing/frame-reader.ts";
import { openAiChat } from "../src/wire/openai-chat.ts";
import { openAiResponses } from "../src/wire/openai-responses.ts";
import { textFormat } from "../src/wire/text/formats.ts";
import type { WireFormat } from "../src/wire/wire-format.ts";
import { goal, measure, type Contestant } from "./measure.ts";
import { CONTENT, anthropicReply, cut, openAiChatReply, responsesReply, type Kind } from "./streamed-replies.ts";

const DELTAS = [5, 20, 200] as const;
const CHUNK_BYTES = 4_096;
const HOSTILE_CHARS = 1_000_000;
const HOSTILE_MS = 500;
const KINDS = ["text", "call"] as const;
const WORDS: Readonly<Record<Kind, string>> = { text: "text", call: "one large call" };

interface Provider {
  readonly format: WireFormat;
  readonly reply: (kind: Kind, chars: number) => Uint8Array;
  readonly library: string;
  /** What the provider's own library makes of the answers of `fetch`. */
  readonly official: (fetch: () => Promise<Response>) => () => Promise<{ readonly said: string }>;
}

export async function printDecode(): Promise<void> {
  for (const provider of PROVIDERS) for (const kind of KINDS) await printReplies(provider, kind);
  await printFrames();
  await printTexts();
  printHostile();
}

const OFFICIAL = { apiKey: "k", maxRetries: 0 };
const ASKED = [{ role: "user" as const, content: "go" }];

const PROVIDERS: readonly Provider[] = [
  {
    format: openAiChat(),
    reply: openAiChatReply,
    library: "openai, chat.completions.stream",
    official: (fetch) => {
      const { chat } = new OpenAI({ ...OFFICIAL, fetch });
      return async () => {
        const { content, tool_calls: calls } = await chat.completions.stream({ model: "m", messages: ASKED }).finalMessage();
        const [call] = calls ?? [];
        return { said: (call?.type === "function" ? call.function.arguments : content) ?? "" };
      };
    },
  },
  {
    format: openAiResponses(),
    reply: responsesReply,
    library: "openai, responses.stream",
    official: (fetch) => {
      const { responses } = new OpenAI({ ...OFFICIAL, fetch });
      return async () => {
        const { output, output_text: text } = await responses.stream({ model: "m", input: "go" }).finalResponse();
        const [item] = output;
        return { said: item?.type === "function_call" ? item.arguments : text };
      };
    },
  },
  {
    format: anthropicMessages(),
    reply: anthropicReply,
    library: "@anthropic-ai/sdk, messages.stream",
    official: (fetch) => {
      const { messages } = new Anthropic({ ...OFFICIAL, fetch });
      return async () => {
        const { content } = await messages.stream({ model: "m", max_tokens: 10_000, messages: ASKED }).finalMessage();
        const [block] = content;
        return { said: block?.type === "tool_use" ? JSON.stringify(block.input) : block?.type === "text" ? block.text : "" };
      };
    },
  },
];

async function printReplies(provider: Provider, kind: Kind): Promise<void> {
  const sizes = DELTAS.map((chars) => provider.reply(kind, chars));
  const rows = new Map<string, number[]>();
  for (const reply of sizes) {
    const timings = await measure(contestants(provider, kind, reply), { rounds: 7, roundMs: 60 });
    for (const { name, medianUs } of timings) rows.set(name, [...(rows.get(name) ?? []), reply.length / medianUs]);
  }
  printRates(`${provider.format.name}: ${WORDS[kind]} of ${CONTENT[kind].length} characters, streamed`, rows);
}

function contestants({ format, library, official }: Provider, kind: Kind, reply: Uint8Array): readonly Contestant[] {
  const fetch = async (): Promise<Response> => answer(reply);
  const model = httpModel({ format, model: "m", baseUrl: "http://127.0.0.1", fetch });
  const request: ModelRequest = { messages: [{ role: "user", content: "go", at: 0 }] };
  const ask = official(fetch);
  return [
    { name: "bare limit", run: () => bareRead(reply) },
    { name: "Haft, decoder", run: () => check(decode(format, reply), kind) },
    { name: "Haft, httpModel", run: async () => check(await collectReply(model.stream(request)), kind) },
    { name: library, run: async () => checkSaid((await ask()).said, kind) },
  ];
}

/** Split by lines and each parsed: what everybody has to do at least. */
function bareRead(reply: Uint8Array): number {
  const decoder = new TextDecoder();
  let rest = "";
  let events = 0;
  for (const chunk of chunks(reply)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.startsWith("data: {")) events += JSON.parse(line.slice(6)) === null ? 0 : 1;
  }
  return events;
}

function decode(format: WireFormat, reply: Uint8Array): ModelReply | undefined {
  const frames = frameReader(format.framing);
  const decoder = format.decodeStream();
  for (const chunk of chunks(reply)) for (const piece of frames.push(chunk)) decoder.push(piece);
  for (const piece of frames.end()) decoder.push(piece);
  const last = decoder.end().at(-1);
  return last?.type === "reply-end" ? last.reply : undefined;
}

function check(reply: ModelReply | undefined, kind: Kind): void {
  checkSaid(kind === "text" ? (reply?.text ?? "") : JSON.stringify(reply?.calls[0]?.input), kind);
}

function checkSaid(said: string, kind: Kind): void {
  if (said !== CONTENT[kind]) throw new Error("The reply was read as something else.");
}

function* chunks(reply: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < reply.length; at += CHUNK_BYTES) yield reply.subarray(at, at + CHUNK_BYTES);
}

function answer(reply: Uint8Array): Response {
  const left = chunks(reply);
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { value, done } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

async function printFrames(): Promise<void> {
  const rows = new Map<string, number[]>();
  for (const chars of DELTAS) {
    const reply = openAiChatReply("text", chars);
    const contestants: readonly Contestant[] = [
      { name: "bare limit", run: () => bareRead(reply) },
      {
        name: "Haft",
        run: () => {
          const frames = frameReader("sse");
          for (const chunk of chunks(reply)) frames.push(chunk);
        },
      },
      {
        name: "openai, Stream.fromSSEResponse",
        run: async () => {
          for await (const _ of Stream.fromSSEResponse(answer(reply), new AbortController()));
        },
      },
    ];
    const timings = await measure(contestants, { rounds: 7, roundMs: 60 });
    for (const { name, medianUs } of timings) rows.set(name, [...(rows.get(name) ?? []), reply.length / medianUs]);
  }
  printRates("Server-sent events alone: from bytes to JSON", rows);
}

const TEXT_FORMATS = [
  "auto",
  "hermes",
  "qwen3-coder",
  "llama-3",
  "pythonic",
  "mistral",
  "deepseek",
  "kimi-k2",
  "harmony",
  "react",
] as const;

/** Prose with three calls, as each format writes them. */
async function printTexts(): Promise<void> {
  const rows = new Map<string, number[]>();
  for (const name of TEXT_FORMATS) {
    const format = textFormat(name);
    const calls = [0, 1, 2].map((n) => ({
      id: `call_${n}`,
      name: "write_file",
      input: { path: `notes/${n}.md`, text: CONTENT.text.slice(0, 3_000) },
    }));
    const text = CONTENT.text + format.writeCalls(calls);
    for (const chars of DELTAS) {
      const pieces = cut(text, chars);
      const run = (): void => {
        const decoding = format.decodeText();
        for (const piece of pieces) decoding.push(piece);
        decoding.end();
      };
      const [timing] = await measure([{ name, run }], { rounds: 5, roundMs: 40 });
      rows.set(name, [...(rows.get(name) ?? []), text.length / (timing?.medianUs ?? Number.NaN)]);
    }
  }
  printRates(`Calls in text: ${CONTENT.text.length} characters of prose and three calls`, rows);
}

function printRates(title: string, rows: ReadonlyMap<string, readonly number[]>): void {
  console.log(`\n${title}: MB/s in deltas of ${DELTAS.join(", ")} characters`);
  const width = Math.max(...[...rows.keys()].map((name) => name.length));
  for (const [name, rates] of rows) console.log(`  ${name.padEnd(width)} ${rates.map((rate) => rate.toFixed(1).padStart(9)).join("")}`);
}

/** Texts that a reader who looks twice would need long for. */
const HOSTILE: readonly string[] = [
  "<",
  "<tool_call>",
  "<tool_call>{",
  '<tool_call>{"name":"f","arguments":{"a":"',
  "<tool_call><function=f><parameter=a>",
  "[TOOL_CALLS][{",
  "[TOOL_CALLS]f[ARGS]{",
  "<|channel|>commentary to=functions.f ",
  "<think>",
  "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>",
  "```",
  '"\\',
  "[[[[{{{{",
];

function printHostile(): void {
  const format = textFormat("auto");
  const timings = HOSTILE.flatMap((pattern) =>
    [20, HOSTILE_CHARS].map((chars) => {
      const pieces = cut(pattern.repeat(Math.ceil(HOSTILE_CHARS / pattern.length)).slice(0, HOSTILE_CHARS), chars);
      const startedAt = performance.now();
      const decoding = format.decodeText();
      for (const piece of pieces) decoding.push(piece);
      decoding.end();
      return { pattern, chars, ms: performance.now() - startedAt };
    }),
  );
  console.log(`\nA million characters of hostile text in the format "auto", the slowest of ${timings.length}`);
  const slowest = timings.sort((one, other) => other.ms - one.ms).slice(0, 4);
  for (const { pattern, chars, ms } of slowest)
    console.log(
      `  ${ms.toFixed(0).padStart(6)} ms  ${JSON.stringify(pattern)}, ${chars === HOSTILE_CHARS ? "at once" : `in pieces of ${chars}`}`,
    );
  console.log(`  ${goal(`at most ${HOSTILE_MS} ms`, (slowest[0]?.ms ?? Number.NaN) <= HOSTILE_MS)}`);
}
