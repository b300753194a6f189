import { describe, expect, test } from "vitest";
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../src/core/base/json.ts";
import type { ModelTool } from "../../src/core/model.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import { anthropicMessages } from "../../src/wire/anthropic.ts";
import { bedrockConverse } from "../../src/wire/bedrock.ts";
import { cohere } from "../../src/wire/cohere.ts";
import { geminiInteractions } from "../../src/wire/gemini-interactions.ts";
import { gemini } from "../../src/wire/gemini.ts";
import { mistral } from "../../src/wire/mistral.ts";
import { ollama } from "../../src/wire/ollama.ts";
import { openAiChat } from "../../src/wire/openai-chat.ts";
import { openAiResponses } from "../../src/wire/openai-responses.ts";
import { providerName, toQualifiedName } from "../../src/wire/provider-name.ts";
import { called, said } from "./conversations.ts";

const FORMATS = [
  openAiChat(),
  openAiResponses(),
  anthropicMessages(),
  bedrockConverse(),
  gemini(),
  gemini({ schemaField: "parameters" }),
  geminiInteractions(),
  mistral(),
  cohere(),
  ollama(),
].map((format) => ({ title: format.name, format }));

const PLAIN = { type: "object", properties: { city: { type: "string" } } } as const;

function tool(name: string, inputSchema: JsonSchema = PLAIN, rest: Partial<ModelTool> = {}): ModelTool {
  return { name, description: "Does it.", inputSchema, ...rest };
}

/** The names that a request's tools bear, in order, however they are wrapped. */
function namesIn(value: JsonValue): readonly string[] {
  if (isJsonArray(value)) return value.flatMap(namesIn);
  if (!isJsonObject(value)) return [];
  const { name, function: plain, toolSpec, functionDeclarations } = value;
  return typeof name === "string"
    ? [name]
    : [plain, toolSpec, functionDeclarations].flatMap((one) => (one === undefined ? [] : namesIn(one)));
}

function nested(depth: number): JsonObject {
  let schema: JsonObject = { type: "string" };
  for (let level = 0; level < depth; level++) schema = { type: "object", properties: { deeper: schema } };
  return schema;
}

/** Schemas that no provider takes; the type is that of what a stranger's server may send. */
const BAD: Readonly<Record<string, JsonSchema>> = {
  "bad::list": { type: "array" },
  "bad::never": false,
  "bad::deep": nested(5_000),
  "bad::half key": { type: "object", properties: { "\ud800": {} } },
  "bad::half text": { type: "object", properties: { a: { enum: ["\udc00"] } } },
};

describe.each(FORMATS)("$title", ({ format }) => {
  test("F1.37 a tool that cannot be sent is omitted with a note, and the other tools are kept", () => {
    const tools = [tool("one"), ...Object.entries(BAD).map(([name, schema]) => tool(name, schema)), tool("two")];
    const { tools: written, notes } = format.encodeTools(tools);
    const left = notes.flatMap(({ kind, tool: name }) => (kind === "quarantined" ? [name] : []));
    expect([namesIn(written).filter((name) => ["one", "two"].includes(name)), left.filter((name) => !name?.startsWith("bad::"))]).toEqual([
      ["one", "two"],
      [],
    ]);
    expect(JSON.stringify(written)).not.toMatch(/\\ud[89a-f]/u);
    expect(left).toEqual(expect.arrayContaining(["bad::list", "bad::never", "bad::deep"]));
    expect(namesIn(written)).toHaveLength(tools.length - left.length);
  });

  test("F1.37 a tool with a parameter name that Claude rejects is omitted for Claude, with a note; nested names may be any", () => {
    const isClaude = ["anthropic-messages", "bedrock-converse"].includes(format.name);
    const inside = { where: { type: "object", properties: { $gt: { type: "number" } } }, "a.b-c": { type: "string" } };
    const tools = [tool("inside", { type: "object", properties: inside })];
    for (const name of ["$top", "filter[status]", "First Name", "größe", "n".repeat(65)])
      tools.push(tool(`odd ${name}`, { type: "object", properties: { city: {}, [name]: { type: "string" } } }));
    const { tools: written, notes } = format.encodeTools(tools, { model: "eu.anthropic.claude-opus-4-6" });
    expect([namesIn(written)[0], namesIn(written).length]).toEqual(["inside", isClaude ? 1 : tools.length]);
    expect(notes.find(({ kind, tool: name }) => kind === "quarantined" && name === "odd $top")).toEqual(
      isClaude
        ? {
            kind: "quarantined",
            tool: "odd $top",
            note: 'Claude takes no argument named "$top": names are of 1 to 64 letters (A to Z), digits, _, . and -.',
          }
        : undefined,
    );
  });

  test("F1.37 of two tools with one name only the first is sent, and overloads get different names", () => {
    const tools = [
      tool("a"),
      tool("default::a"),
      tool("b", PLAIN, { fingerprint: "1" }),
      tool("b", PLAIN, { fingerprint: "2" }),
      tool("a.b"),
      tool("a_b"),
    ];
    const { tools: written, notes, toolNames } = format.encodeTools(tools);
    const names = namesIn(written);
    expect(names).toEqual(["a", providerName("b", "1"), providerName("b", "2"), providerName("a.b"), "a_b"]);
    expect(notes).toEqual([{ kind: "quarantined", tool: "default::a", note: "Another tool in the request is also named a." }]);
    expect(names.map((name) => toQualifiedName(name, toolNames))).toEqual(["a", "b", "b", "a.b", "a_b"]);
  });

  test("F4.16 unusual names are decoded to their tools", () => {
    const odd = [
      "n".repeat(65),
      "città::größe",
      "__proto__",
      "functions.x",
      "parallel",
      "constructor",
      "a::b::c",
      "a__b",
      "1st",
      "toString",
      "ns::__proto__",
    ];
    const { tools: written, toolNames } = format.encodeTools(odd.map((name) => tool(name)));
    const names = namesIn(written);
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/u);
    expect(names.map((name) => toQualifiedName(name, toolNames))).toEqual(odd);
    expect(new Set(names).size).toBe(odd.length);
  });

  test("F4.19 choosing a tool that is not offered throws before anything is sent", () => {
    const messages = [said("user", "Go.")];
    const refused = expect.objectContaining({ code: "invalid_argument" });
    const target = { model: "m" };
    expect(() => format.encodeRequest({ messages, tools: [tool("a")], toolChoice: { tool: "b" } }, target)).toThrow(refused);
    expect(() => format.encodeRequest({ messages, tools: [tool("a", false)], toolChoice: { tool: "a" } }, target)).toThrow(refused);
    expect(() => format.encodeRequest({ messages, toolChoice: "required" }, target)).toThrow(refused);
    expect(JSON.stringify(format.encodeRequest({ messages, toolChoice: "none", parallelCalls: true }, target).body)).not.toMatch(
      /tool_?choice|parallel/iu,
    );
  });

  test("F4.18 if every tool is omitted, past calls are encoded as text", () => {
    const messages = [said("user", "Go."), called("call_1", "a", { id: "abcdefghi", input: { city: "Oslo" } })];
    const { body } = format.encodeRequest({ messages, tools: [tool("a", false)] }, { model: "m" });
    expect(JSON.stringify(body)).toContain(JSON.stringify(JSON.stringify({ city: "Oslo" })).slice(1, -1));
    expect(JSON.stringify(body)).toContain("Called a with");
  });
});
