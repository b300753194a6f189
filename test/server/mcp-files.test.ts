/** An MCP client reads no file by an address that it has made up. */
import { expect, test } from "vitest";
import { artifactOf, artifactUri } from "../../src/core/artifact.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { pure } from "../../src/core/resources/effects.ts";
import { defineTool } from "../../src/registry/define-tool.ts";
import type { Scope } from "../../src/server/auth/principal.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { ERAS, listening, openRuntime, overHttp } from "./mcp-clients.ts";

const SECRET = artifactOf("text/plain", Buffer.from("of another principal ".repeat(10)));
const TEXT = { type: "object", properties: { text: { type: "string" } }, required: ["text"] } as const;

async function echoed(era: (typeof ERAS)[number], scopes: readonly Scope[], promises: boolean): Promise<string> {
  const { artifacts } = memoryStore();
  await artifacts.put({ artifact: SECRET, at: 0 });
  const echo = defineTool({
    name: "echo",
    description: "Echoes.",
    inputSchema: TEXT,
    ...(promises ? { outputSchema: TEXT } : {}),
    effects: pure,
    execute: ({ text }) => (promises ? { text } : new ToolOutput({ content: [{ type: "file", uri: text }] })),
  });
  const { runtime } = await openRuntime({ tools: [echo], artifacts });
  const authenticator = { authenticate: async () => ({ id: "key:one", name: "one", scopes: new Set(scopes) }) };
  const { url } = await listening(runtime, { authenticator });
  const client = await overHttp(url, { era });
  return JSON.stringify(await client.callTool({ name: "echo", arguments: { text: artifactUri(SECRET.id) } }));
}

test.each(ERAS.flatMap((era) => [true, false].map((promises) => ({ era, promises }))))(
  "a client without the scope read cannot get a stored file by its address ($era, $promises)",
  async ({ era, promises }) => {
    expect(await echoed(era, ["execute"], promises)).not.toContain(SECRET.data);
    expect(await echoed(era, ["execute", "read"], promises)).toContain(SECRET.data);
  },
);

const IMAGE = artifactOf(
  "image/png",
  Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64"),
);
const PDF = artifactOf("application/pdf", Buffer.from("%PDF-1.4\nof another principal\n%%EOF\n"));

test.each(ERAS.flatMap((era) => [IMAGE, PDF].map((file) => ({ era, file }))))(
  "a client without the scope read sees an image or PDF that the tool made, but none by its address ($era, $file.mediaType)",
  async ({ era, file }) => {
    const { artifacts } = memoryStore();
    await artifacts.put({ artifact: file, at: 0 });
    const { mediaType, data } = file;
    const part = (uri: string) => new ToolOutput({ content: [{ type: "file", uri, mediaType }] });
    const draw = defineTool({
      name: "draw",
      description: "Draws.",
      inputSchema: { type: "object", properties: {} },
      effects: pure,
      execute: () => part(`data:${mediaType};base64,${data}`),
    });
    const echo = defineTool({ name: "echo", description: "Echoes.", inputSchema: TEXT, effects: pure, execute: ({ text }) => part(text) });
    const { runtime } = await openRuntime({ tools: [draw, echo], artifacts });
    const answered = async (scopes: readonly Scope[], name: string): Promise<string> => {
      const authenticator = { authenticate: async () => ({ id: "key:one", name: "one", scopes: new Set(scopes) }) };
      const client = await overHttp((await listening(runtime, { authenticator })).url, { era });
      return JSON.stringify(await client.callTool({ name, arguments: name === "echo" ? { text: artifactUri(file.id) } : {} }));
    };
    expect(await answered(["execute"], "echo")).not.toContain(data);
    expect(await answered(["execute", "read"], "echo")).toContain(data);
    expect(await answered(["execute"], "draw")).toContain(data);
  },
);
