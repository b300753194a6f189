/** Files that come with their bytes: a provider is given them as files or told of them in words, never their base64 as text. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import { toLangChainTools } from "../../src/adapters/langchain.ts";
import { toMastraTools } from "../../src/adapters/mastra.ts";
import { toOpenAiAgentsTools } from "../../src/adapters/openai-agents.ts";
import { ToolOutput, type ContentPart } from "../../src/core/content.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { resultText, type ToolResult } from "../../src/core/result.ts";
import { LargeResultStore } from "../../src/policy/results/large-result-store.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { toCallAnswer } from "../../src/server/mcp/call-result.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { CHAT_VARIANTS } from "../../src/wire/chat-variants.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import type { WireFormat } from "../../src/wire/wire-format.ts";

const FORMATS: readonly (readonly [string, WireFormat])[] = [
  ...[anthropicMessages, bedrockConverse, cohere, gemini, geminiInteractions, ollama, openAiResponses].map(
    (make) => [make.name, make()] as const,
  ),
  ...["a server of one's own", ...CHAT_VARIANTS].map((variant) => [`openAiChat, ${variant}`, openAiChat(variant)] as const),
];
/** Where providers, and MCP, take bytes. */
const BYTE_FIELDS: ReadonlySet<string> = new Set(["data", "bytes", "file_data", "url", "image_url", "blob", "images"]);
const GIVEN_AS_FILES: ReadonlySet<string> = new Set([
  "anthropicMessages",
  "bedrockConverse",
  "gemini",
  "geminiInteractions",
  "openAiResponses",
  "openAiChat, openai",
  "openAiChat, openrouter",
]);
/** Which no provider reads. */
const SEALED = ["application/zip", "application/octet-stream", "application/x-sqlite3", "font/woff2", "video/mp4"] as const;

const bytes = fc.uint8Array({ minLength: 96, maxLength: 3_000 }).map((some) => Buffer.from(some).toString("base64"));
const head = (mediaType: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    `data:${mediaType};base64,`,
    `DATA:${mediaType.toUpperCase()};BASE64,`,
    `data:${mediaType};name=a.b;base64,`,
    ` data:${mediaType} ; base64,`,
  );

interface Sent {
  readonly data: string;
  readonly part: ContentPart;
}

function sentFile(mediaType: string): fc.Arbitrary<Sent> {
  return fc
    .record({ data: bytes, head: head(mediaType), name: fc.constantFrom("a.bin", undefined), told: fc.boolean() })
    .map(({ data, head: before, name, told }) => ({
      data,
      part: { type: "file", uri: `${before}${data}`, ...(name === undefined ? {} : { name }), ...(told ? { mediaType } : {}) },
    }));
}

function resultOf(content: readonly ContentPart[], error?: ToolResult["error"]): ToolResult {
  const base = {
    callId: "c1",
    id: "c1",
    name: "get",
    origin: "live",
    attempts: 1,
    durationMs: 1,
    repairs: [],
    warnings: [],
    content,
  } as const;
  return error === undefined ? { ...base, status: "ok" } : { ...base, status: "partial", error };
}

const BROKEN = { code: "invalid_output", message: "It broke its schema.", retryable: false, outcome: "unknown" } as const;

function conversation(result: ToolResult): readonly ModelMessage[] {
  const content = result.content ?? [];
  return [
    { role: "system", at: 0, content },
    { role: "document", at: 0, content, title: "Papers" },
    { role: "user", at: 0, content },
    { role: "call", at: 1, callId: "c1", turnId: "t1", call: { id: "c1", name: "get", input: {} } },
    { role: "result", at: 2, callId: "c1", result },
    { role: "assistant", at: 3, content },
    { role: "user", at: 4, content: "And now?" },
  ];
}

/** The texts of a value that hold the bytes, by the name of the field that each stands in. */
function fieldsWith(data: string, value: unknown, field = ""): readonly string[] {
  if (typeof value === "string") return value.includes(data.slice(8, 72)) ? [field] : [];
  if (Array.isArray(value)) return value.flatMap((item: unknown) => fieldsWith(data, item, field));
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => fieldsWith(data, item, name));
}

/** Everything that a format makes of a result and of what is said, with tools and without. */
function encoded(format: WireFormat, result: ToolResult): unknown {
  return [
    format.encodeMessages(conversation(result)),
    format.encodeMessages(conversation(result), { tools: false }),
    format.encodeResults([{ id: "c1", name: "get", result }]),
  ];
}

describe.each(FORMATS)("%s", (name, format) => {
  test("a file that the provider cannot read is described by type and size, and its bytes are not sent", () => {
    fc.assert(
      fc.property(fc.constantFrom(...SEALED).chain(sentFile), fc.boolean(), ({ data, part }, isPartial) => {
        const sent = encoded(format, resultOf([{ type: "text", text: "Here:" }, part], isPartial ? BROKEN : undefined));
        expect(fieldsWith(data, sent)).toEqual([]);
        expect(JSON.stringify(sent)).toContain(` ${Buffer.from(data, "base64").length} bytes]`);
      }),
      { numRuns: 25 },
    );
  });

  test("F4.20 an image has the type of its bytes, and bytes that are no image are only mentioned", () => {
    const damaged = { type: "image", mediaType: "image/png", data: "bm90IGFuIGltYWdl" } as const;
    const jpeg = { type: "image", mediaType: "image/jpeg", data: "/9j/4AAQ" } as const;
    expect(fieldsWith(damaged.data, encoded(format, resultOf([damaged])))).toEqual([]);
    expect(JSON.stringify(encoded(format, resultOf([damaged])))).toContain("[image image/png]");
    for (const mediaType of ["image/png", "image/jpg", "application/octet-stream"])
      expect(encoded(format, resultOf([{ ...jpeg, mediaType }]))).toEqual(encoded(format, resultOf([jpeg])));
  });

  test(`a PDF file is ${GIVEN_AS_FILES.has(name) ? "given as a file" : "named"}, and its bytes are in no text`, () => {
    fc.assert(
      fc.property(sentFile("application/pdf"), ({ data, part }) => {
        const sent = encoded(format, resultOf([{ type: "text", text: "Here:" }, part]));
        const fields = fieldsWith(data, sent);
        expect(fields.filter((field) => !BYTE_FIELDS.has(field))).toEqual([]);
        expect(fields.length > 0).toBe(GIVEN_AS_FILES.has(name));
      }),
      { numRuns: 25 },
    );
  });
});

describe("a file with its bytes", () => {
  const anyFile = fc.constantFrom(...SEALED, "application/pdf").chain(sentFile);

  test("is described by name, type and size in a result's text, in a page of a stored result and over MCP", () => {
    fc.assert(
      fc.property(anyFile, ({ data, part }) => {
        const store = new LargeResultStore();
        store.store("s1", "c1", undefined, [part]);
        expect(fieldsWith(data, [resultText(resultOf([part])), store.read("s1", "c1", {}).text])).toEqual([]);
        expect(fieldsWith(data, toCallAnswer(resultOf([part]), undefined))).toEqual(["blob"]);
        expect(fieldsWith(data, toCallAnswer(resultOf([part], BROKEN), undefined))).toEqual([]);
      }),
      { numRuns: 50 },
    );
    const pdf = { type: "file", uri: "data:application/pdf;base64,JVBERi0xLjc=", name: "plan.pdf" } as const;
    const linked = { type: "file", uri: "demo://resource/1", name: "Blob Resource 1", description: "A blob." } as const;
    const bare = { type: "file", uri: "https://example.org/a" } as const;
    expect(resultText(resultOf([pdf, linked, bare]))).toBe(
      "[file plan.pdf: application/pdf, 8 bytes]\n[file Blob Resource 1: demo://resource/1; A blob.]\n[file https://example.org/a]",
    );
  });

  test("returned by a tool as a data URL in JSON or text is kept in the result, but not in any text for the model", async () => {
    const anywhere = fc.constantFrom<((url: string) => unknown)[]>(
      (url) => url,
      (url) => ({ file: { url } }),
      (url) => [1, [`See ![it](${url}) there.`]],
      (url) => new ToolOutput({ content: [{ type: "text", text: `It: "${url}"` }] }),
    );
    const anyType = fc.constantFrom(...SEALED, "application/pdf", "text/csv", "audio/wav", "image/svg+xml", "image/png", "font/ttf");
    const drawn = fc.record({ data: bytes, wrap: anywhere, before: anyType.chain(head) });
    await fc.assert(
      fc.asyncProperty(drawn, async ({ data, wrap, before }) => {
        const runtime = createRuntime({
          tools: [{ name: "get", description: "", inputSchema: { type: "object" }, execute: () => wrap(`${before}${data}`) }],
        });
        const result = await runtime.execute({ id: "c1", name: "get", input: {} });
        const read = [resultText(result), FORMATS.map(([, format]) => encoded(format, result))];
        expect(fieldsWith(data, read).filter((field) => !BYTE_FIELDS.has(field))).toEqual([]);
        if (!before.toLowerCase().includes("image/")) expect(fieldsWith(data, [result.output, result.content])).not.toEqual([]);
        await runtime.close();
      }),
      { numRuns: 60 },
    );
  });

  test("is passed to a model of another framework as a file or as text", async () => {
    await fc.assert(
      fc.asyncProperty(anyFile, async ({ data, part }) => {
        const execute = (): ToolOutput => new ToolOutput({ content: [{ type: "text", text: "Here:" }, part] });
        const runtime = createRuntime({ tools: [{ name: "get", description: "", inputSchema: { type: "object" }, execute }] });
        const ai = toAiSdkTools(runtime)["get"];
        const forAi = ai?.toModelOutput({ output: await ai.execute({}, {}) });
        expect(fieldsWith(data, forAi).every((field) => field === "data" && part.type === "file" && /pdf/iu.test(part.uri))).toBe(true);
        const [forLangChain] = toLangChainTools(runtime, (handler) => handler);
        const [forAgents] = toOpenAiAgentsTools(runtime, (fields) => fields);
        const forMastra = toMastraTools(runtime, (fields) => fields)["get"];
        const read = [
          await forLangChain?.({}),
          await forLangChain?.({}, { toolCall: { id: "c1" } }),
          await forAgents?.execute({}),
          await forMastra?.execute({}),
        ];
        expect(fieldsWith(data, read)).toEqual([]);
        await runtime.close();
      }),
      { numRuns: 25 },
    );
  });
});
