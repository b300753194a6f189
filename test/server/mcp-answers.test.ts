import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ToolOutput, type ContentPart } from "../../src/core/content.ts";
import { ToolError } from "../../src/core/error.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { copyJson, isJsonObject, type JsonValue } from "../../src/core/base/json.ts";
import { omitUndefined } from "../../src/core/base/omit-undefined.ts";
import { mcpToolset } from "../../src/engine/mcp.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import { toCallAnswer, type CallAnswer } from "../../src/server/mcp/call-result.ts";
import { loopbackMcp, modern, toolList } from "../engine/mcp/loopback-mcp.ts";
import { ERAS, listening, openRuntime, overStdio } from "./mcp-clients.ts";
import { rawSession } from "./mcp-raw-session.ts";

const WORD = fc.stringMatching(/^[a-z]{8}$/u);
const OUTPUT: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.record({ path: WORD, lines: fc.nat() }),
  fc.array(WORD),
  WORD,
  fc.nat(),
  fc.constant(null),
  fc.constant({}),
);
const CONTENT: fc.Arbitrary<readonly ContentPart[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: WORD }),
    fc.record({ type: fc.constant("text" as const), text: fc.constant('{"path":"elsewhere"}') }),
    fc.record({ type: fc.constant("image" as const), mediaType: fc.constant("image/png"), data: fc.constant("iVBORw0KGgo=") }),
    fc.record({ type: fc.constant("file" as const), uri: fc.constant("file:///a"), text: WORD }),
  ),
  { minLength: 1, maxLength: 4 },
);

function shownOf(part: ContentPart): string {
  if (part.type === "text") return part.text;
  return part.type === "file" ? (part.text ?? part.uri) : part.data;
}

/** What a model reads in a client that shows it `content` only. */
function readsContent({ content }: CallAnswer): string {
  return JSON.stringify(content);
}

/** What a model reads in a client that shows it `structuredContent` wherever there is one. */
function readsStructured(answer: CallAnswer): string {
  return answer.structuredContent === undefined ? readsContent(answer) : JSON.stringify(answer.structuredContent);
}

interface Shape {
  readonly output: JsonValue | undefined;
  readonly content: readonly ContentPart[] | undefined;
  readonly promised: boolean;
}

describe("a tool result over MCP", () => {
  const shapes: fc.Arbitrary<Shape> = fc.record({
    output: fc.option(OUTPUT, { nil: undefined }),
    content: fc.option(CONTENT, { nil: undefined }),
    promised: fc.boolean(),
  });

  test("is complete both for a client that shows only content and for one that shows only structuredContent", async () => {
    const answerOf = async ({ output, content, promised }: Shape) => {
      const tool = defineTool({
        name: "answers",
        description: "",
        effects: pure,
        ...(promised ? { outputSchema: true } : {}),
        execute: () => new ToolOutput({ ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) }),
      });
      const { runtime } = await openRuntime({ tools: [tool] });
      const result = await runtime.execute({ name: "answers", input: {} });
      return toCallAnswer(result, tool);
    };
    await fc.assert(
      fc.asyncProperty(shapes, async (shape) => {
        const answer = await answerOf(shape);
        const { output = shape.content === undefined ? null : undefined, content, promised } = shape;
        const shown = content?.map(shownOf);
        for (const text of shown ?? []) {
          expect(readsContent(answer)).toContain(JSON.stringify(text));
          if (!promised) expect(readsStructured(answer)).toContain(JSON.stringify(text));
        }
        if (output === undefined || (content !== undefined && !promised)) {
          expect(answer).not.toHaveProperty("structuredContent");
        } else {
          const text = typeof output === "string" ? output : JSON.stringify(output);
          expect(answer.content).toContainEqual({ type: "text", text });
          if (promised || isJsonObject(output)) expect(answer.structuredContent).toEqual(copyJson(output).value);
          expect(readsStructured(answer)).toContain(answer.structuredContent === undefined ? JSON.stringify(text) : JSON.stringify(output));
        }
      }),
      { numRuns: 150 },
    );
  });

  test.each(ERAS)("has the promised JSON once, even if the tool also wrote it as text (%s)", async (era) => {
    const tool = defineTool({
      name: "weather",
      description: "",
      effects: pure,
      outputSchema: { type: "object", properties: { celsius: { type: "number" }, sky: { type: "string" } } },
      execute: () =>
        new ToolOutput({ output: { celsius: 4, sky: "grey" }, content: [{ type: "text", text: '{ "sky": "grey", "celsius": 4 }' }] }),
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { client } = await overStdio(runtime, { era });
    expect(await client.callTool({ name: "weather" })).toMatchObject({
      content: [{ type: "text", text: '{ "sky": "grey", "celsius": 4 }' }],
      structuredContent: { celsius: 4, sky: "grey" },
    });
  });

  test.each(ERAS)(
    "is text marked as an error where a credential was removed from it, which its schema does not allow (%s)",
    async (era) => {
      const token = "0123456789abcdef";
      const outputSchema = { type: "object", properties: { echo: { pattern: "^[0-9a-f]{16}$" } } };
      for (const content of [[], [{ type: "text", text: "Echoed." }]]) {
        const { url } = await loopbackMcp({
          ...modern(),
          "tools/list": () => toolList([], { tools: [{ name: "echo", inputSchema: { type: "object" }, outputSchema }] }),
          "tools/call": () => ({ resultType: "complete", content, structuredContent: { echo: token } }),
        });
        const far = mcpToolset("far", { url, auth: { type: "bearer", token } });
        const { runtime } = await openRuntime({ toolsets: [far], approval: { never: ["*"] } });
        const { client } = await overStdio(runtime, { era });
        const [tool] = (await client.listTools()).tools;
        const answer = await client.callTool({ name: tool?.name ?? "" });
        expect(answer).toMatchObject({ content: [...content, { type: "text", text: '{"echo":"[token]"}' }], isError: true });
        expect(answer).not.toHaveProperty("structuredContent");
      }
    },
  );

  test("that is marked as an error although its tool ran says that the call may have taken effect", async () => {
    const token = "0123456789abcdef";
    const outputSchema = { type: "object", properties: { id: { pattern: "^[0-9a-f]*$" } } };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/list": () => toolList([], { tools: [{ name: "charge", inputSchema: { type: "object" }, outputSchema }] }),
      "tools/call": () => ({ resultType: "complete", content: [], structuredContent: { id: token } }),
    });
    const long = defineTool({
      name: "long",
      description: "",
      effects: { writes: ["account"] },
      outputSchema,
      maxResultBytes: 1_000,
      execute: () => ({ id: "1".repeat(10_000) }),
    });
    const far = mcpToolset("far", { url, auth: { type: "bearer", token } });
    const { runtime } = await openRuntime({ toolsets: [far], tools: [long], approval: { never: ["*"] } });
    const near = mcpToolset("near", { url: (await listening(runtime)).url });
    const { runtime: client } = await openRuntime({ toolsets: [near], approval: { never: ["*"] } });
    const names = client.registry.list().flatMap(({ qualifiedName: name }) => (name.startsWith("near::") ? name : []));
    expect(names).toHaveLength(2);
    for (const name of names)
      expect((await client.execute({ name, input: {} })).error).toMatchObject({ code: "execution_failed", outcome: "unknown" });
  });

  // Servers on fastmcp 4 and on the official Python library answer so with a string, a number or an array.
  test.each<readonly [string, JsonValue, readonly string[], readonly string[]]>([
    ["a string", "Sow the beans.", ["Sow the beans."], []],
    ["a number", 42, ["42"], []],
    ["an array", [{ a: 1 }], ['[{"a": 1}]'], []],
    ["the items of an array", ["one", { a: 1 }], ["one", '{ "a": 1 }'], []],
    ["an empty array", [], [], ['{"result":[]}']],
    ["another text", "Sow the beans.", ["Sowed."], ['{"result":"Sow the beans."}']],
    ["fewer items", ["one", "two"], ["one"], ['{"result":["one","two"]}']],
  ])("does not repeat a value wrapped as result if its text already has it: %s", async (_, wrapped, texts, added) => {
    const content = texts.map((text) => ({ type: "text", text }) as const);
    const tool = defineTool({
      name: "read",
      description: "",
      effects: pure,
      outputSchema: { type: "object", properties: { result: true }, required: ["result"] },
      execute: () => new ToolOutput({ output: { result: wrapped }, content }),
    });
    const { runtime } = await openRuntime({ tools: [tool] });
    const { client } = await overStdio(runtime, { era: "legacy" });
    expect(await client.callTool({ name: "read" })).toMatchObject({
      content: [...texts, ...added].map((text) => ({ type: "text", text })),
      structuredContent: { result: wrapped },
    });
  });

  test.each(ERAS)(
    "keeps the output of a tool with content of its own out of the answer, for the program that runs the tool (%s)",
    async (era) => {
      const tool = defineTool({
        name: "read",
        description: "",
        effects: pure,
        execute: () => new ToolOutput({ output: { path: "plan.md", lines: 1 }, content: [{ type: "text", text: "Sow the beans." }] }),
      });
      const { runtime } = await openRuntime({ tools: [tool] });
      const { client } = await overStdio(runtime, { era });
      const answer = await client.callTool({ name: "read" });
      expect(answer.content).toEqual([{ type: "text", text: "Sow the beans." }]);
      expect(answer).not.toHaveProperty("structuredContent");
    },
  );
});

test.each([
  ["2024-11-05", "text,text,text"],
  ["2025-03-26", "text,audio,text"],
  ["2025-06-18", "text,audio,resource_link"],
  ["2025-11-25", "text,audio,resource_link"],
])(
  "sends only content types that the client's revision has, since others would make it reject the whole result (%s)",
  async (version, types) => {
    const content: readonly ContentPart[] = [
      { type: "text", text: "both" },
      { type: "audio", mediaType: "audio/wav", data: "UklGRg==" },
      { type: "file", uri: "https://example.org/a.txt" },
    ];
    const media = defineTool({ name: "media", description: "", effects: pure, execute: () => new ToolOutput({ content }) });
    const { runtime } = await openRuntime({ tools: [media] });
    const { url } = await listening(runtime);
    const { post, messages } = await rawSession(url, version);
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "media", arguments: {} } };
    const [answer] = (await messages(post(call))) as [{ readonly result: CallAnswer }];
    expect(answer.result.content.map(({ type }) => type).join()).toBe(types);
    expect(JSON.stringify(answer)).toContain("https://example.org/a.txt");
  },
);

// The type of URIs of the Python library 1.x, on which many clients are, reads a URL as the WHATWG does.
test.each(ERAS)("gives each file a valid URI, whatever its name is, and a Haft client the name (%s)", async (era) => {
  const names = ["report.pdf", "plans/2026 draft.pdf", "/tmp/a.pdf", "50%.pdf", "\ud800.pdf", "", "file:///a.pdf", undefined];
  const files = names.map((name) => ({
    type: "file" as const,
    uri: "data:application/pdf;base64,AAAA",
    mediaType: "application/pdf",
    ...omitUndefined({ name }),
  }));
  const others = ["notes.txt", "https://example.org/a.txt"].flatMap((uri) => [
    { type: "file" as const, uri },
    { type: "file" as const, uri, text: "hello" },
  ]);
  const read = defineTool({
    name: "read",
    description: "",
    effects: pure,
    execute: () => new ToolOutput({ content: [...files, ...others] }),
  });
  const { runtime } = await openRuntime({ tools: [read] });
  const { client } = await overStdio(runtime, { era });
  const { content } = await client.callTool({ name: "read" });
  const uris = content.map((block) => (block.type === "resource" ? block.resource.uri : block.type === "resource_link" ? block.uri : ""));
  expect(uris.filter((uri) => !URL.canParse(uri))).toEqual([]);

  const { url } = await listening(runtime);
  const { runtime: near } = await openRuntime({ toolsets: [mcpToolset("far", { url })], approval: { approve: () => "allow-once" } });
  const result = await near.execute({ name: "far::read" });
  const returned = (result.content ?? []).slice(0, names.length).map((part) => (part.type === "file" ? part.name : part.type));
  expect(returned).toEqual(["report.pdf", "plans/2026 draft.pdf", "/tmp/a.pdf", "50%.pdf", "\ufffd.pdf", "", "file:///a.pdf", "data:"]);
});

test.each(["legacy", "auto"] as const)(
  "I09 the outcome unknown reaches a Haft client, even through a second server (%s)",
  async (protocol) => {
    const post = defineTool({
      name: "post",
      description: "",
      inputSchema: { type: "object", properties: { lost: { type: "boolean" } } },
      effects: { writes: "mail" },
      execute({ lost }) {
        throw new ToolError("execution_failed", "The mail server is gone.", { outcome: lost === true ? "unknown" : "failed" });
      },
    });
    const approval = { approve: () => "allow-once" as const };
    const first = await listening((await openRuntime({ tools: [post] })).runtime);
    const gateway = await listening((await openRuntime({ toolsets: [mcpToolset("far", { url: first.url, protocol })], approval })).runtime);
    const { runtime } = await openRuntime({ toolsets: [mcpToolset("near", { url: gateway.url, protocol })], approval });
    const name = runtime.registry.list().find(({ tool }) => tool.name.endsWith("post"))?.qualifiedName ?? "";
    const results = await runtime.execute([
      { name, input: { lost: true } },
      { name, input: { lost: false } },
    ]);
    expect(results.map(({ error }) => [error?.code, error?.outcome])).toEqual([
      ["execution_failed", "unknown"],
      ["execution_failed", "failed"],
    ]);
  },
);

test.each(ERAS)("no result in the %s era has a lone surrogate, which Python clients cannot read", async (era) => {
  const half = "a\ud800";
  const content = [
    { type: "text", text: half },
    { type: "file", uri: half, text: half },
    { type: "file", uri: "data:application/zip;base64,CCCC", mediaType: "application/zip", name: `b:${half}` },
  ] as const;
  const answers: Readonly<Record<string, () => unknown>> = {
    text: () => half,
    object: () => ({ [half]: [half] }),
    parts: () => new ToolOutput({ content, metadata: { [half]: half } }),
    error: () => Promise.reject(new ToolError("execution_failed", half, { details: [half] })),
  };
  const tools = Object.entries(answers).map(([name, execute]) => defineTool({ name, description: "", effects: pure, execute }));
  const { runtime } = await openRuntime({ tools });
  const { client } = await overStdio(runtime, { era });
  for (const name of Object.keys(answers)) {
    const answer = JSON.stringify(await client.callTool({ name }));
    expect(answer).toContain("a\ufffd");
    expect(answer.replaceAll(String.raw`\\ud800`, "")).not.toContain("ud800"); // JSON as text names it in six characters
  }
});
