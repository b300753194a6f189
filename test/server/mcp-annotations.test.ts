/** Annotations of content parts, as servers of MCP send them: for programs that show an answer, never for a provider. */
import { fileURLToPath } from "node:url";
import { ToolOutput, defineTool, readOnly, type ContentPart } from "haft";
import { mcpToolset } from "haft/mcp";
import { describe, expect, test } from "vitest";
import { toAiSdkTools } from "../../src/adapters/ai-sdk.ts";
import type { ModelMessage } from "../../src/core/message.ts";
import { toToolOutput } from "../../src/engine/mcp/call-tool.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { toCallAnswer } from "../../src/server/mcp/call-result.ts";
import { WIRE_FORMATS } from "../house/wire-formats.ts";
import { ERAS, openRuntime, overStdio } from "./mcp-clients.ts";

const EVERYTHING = fileURLToPath(new URL("../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url));
const FOR_USER = { audience: ["user"], priority: 0.5, lastModified: "2026-01-31T12:00:00Z" } as const;
const PARTS: readonly ContentPart[] = [
  { type: "text", text: "Done.", annotations: FOR_USER },
  { type: "image", mediaType: "image/png", data: "iVBORw0KGgoAAAANSUhEUg==", annotations: FOR_USER },
  { type: "audio", mediaType: "audio/wav", data: "UklGRg==", annotations: FOR_USER },
  {
    type: "file",
    uri: "file:///a.txt",
    mediaType: "text/plain",
    name: "a.txt",
    title: "A",
    description: "The file",
    annotations: FOR_USER,
  },
  { type: "file", uri: "file:///b.txt", text: "b", annotations: FOR_USER },
];

describe.each(ERAS)("a client of the %s era", (era) => {
  test("F4.15 0423 gets the annotations of the reference server through a gateway", async () => {
    const reference = mcpToolset("everything", { command: process.execPath, args: [EVERYTHING] });
    const { runtime } = await openRuntime({ toolsets: [reference] });
    const { client } = await overStdio(runtime, { era });
    const call = { name: "everything__get-annotated-message", arguments: { messageType: "success", includeImage: true } };
    const { content } = (await client.callTool(call)) as { readonly content: readonly { readonly annotations?: unknown }[] };
    expect(content.map(({ annotations }) => annotations)).toEqual([
      { priority: 0.7, audience: ["user"] },
      { priority: 0.5, audience: ["user"] },
    ]);
  });
});

test("F4.15 0423 every kind of part keeps its annotations from one MCP server to the client of the next, through a store", async () => {
  const store = memoryStore();
  const tool = defineTool({ name: "t", description: "t", effects: readOnly("a"), execute: () => new ToolOutput({ content: PARTS }) });
  const runtime = createRuntime({ tools: [tool], store, artifacts: store.artifacts });
  const result = await runtime.session("s").execute({ name: "t" });
  expect(result.content?.map(({ annotations }) => annotations)).toEqual(PARTS.map(() => FOR_USER));
  const { content } = toCallAnswer(result, tool);
  expect(content.map(({ annotations }) => annotations)).toEqual(PARTS.map(() => FOR_USER));
  const read = toToolOutput({ content }, "far").content;
  expect(read?.map(({ annotations }) => annotations)).toEqual(PARTS.map(() => FOR_USER));
  expect(read?.[3]).toMatchObject({ title: "A", description: "The file" });
  await runtime.close();
});

/** The parts as a message of each role and as a result. */
const CONVERSATION: readonly ModelMessage[] = [
  { role: "system", at: 0, content: PARTS },
  { role: "user", at: 0, content: PARTS },
  { role: "call", at: 1, callId: "c1", turnId: "t1", call: { id: "c1", name: "get", input: {} } },
  {
    role: "result",
    at: 2,
    callId: "c1",
    result: {
      callId: "c1",
      id: "c1",
      name: "get",
      origin: "live",
      attempts: 1,
      durationMs: 1,
      repairs: [],
      warnings: [],
      status: "ok",
      content: PARTS,
    },
  },
  { role: "assistant", at: 3, content: PARTS },
];

test.each(Object.entries(WIRE_FORMATS))(
  "0423 %s sends no annotations to a provider, which may refuse fields that it does not know",
  (_name, make) => {
    const format = make();
    const sent = [format.encodeMessages(CONVERSATION), format.encodeMessages(CONVERSATION, { tools: false })];
    expect(JSON.stringify(sent)).toContain("Done.");
    expect(JSON.stringify(sent)).not.toMatch(/annotations|lastModified|"audience"/u);
  },
);

test("0423 annotations of a server that are not as they should be are left out, and those of a handler are refused", async () => {
  const odd = { audience: ["user", "robot"], priority: 7, lastModified: 5, more: 1 };
  expect(toToolOutput({ content: [{ type: "text", text: "a", annotations: odd }] }, "far").content).toEqual([{ type: "text", text: "a" }]);
  const half = { audience: "user", priority: 1 };
  expect(toToolOutput({ content: [{ type: "text", text: "a", annotations: half }] }, "far").content).toEqual([
    { type: "text", text: "a", annotations: { priority: 1 } },
  ]);
  for (const annotations of [odd, half, [], "user", { priority: -0.1 }]) {
    const content = [{ type: "text", text: "a", annotations }] as unknown as readonly ContentPart[];
    const tool = defineTool({ name: "t", description: "t", effects: readOnly("a"), execute: () => new ToolOutput({ content }) });
    const { error } = await createRuntime({ tools: [tool] }).execute({ name: "t" });
    expect(error).toMatchObject({ code: "not_json", message: expect.stringContaining("annotations") });
  }
});

test("0423 the AI SDK gets a text part without annotations", async () => {
  const tool = defineTool({
    name: "t",
    description: "t",
    effects: readOnly("a"),
    execute: () => new ToolOutput({ content: PARTS.slice(0, 1) }),
  });
  const runtime = createRuntime({ tools: [tool] });
  const { t } = toAiSdkTools(runtime);
  expect(t?.toModelOutput({ output: await t.execute({}, {}) })).toEqual({ type: "content", value: [{ type: "text", text: "Done." }] });
});
