/** An MCP client reads no file by an address that it has made up. */
import { expect, test } from "vitest";
import { artifactOf, artifactUri } from "../../src/core/artifact.ts";
import { ToolOutput } from "../../src/core/content.ts";
import { pure } from "../../src/core/effects.ts";
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
  "a client that may not read the files of the server gets none by its address ($era, $promises)",
  async ({ era, promises }) => {
    expect(await echoed(era, ["execute"], promises)).not.toContain(SECRET.data);
    expect(await echoed(era, ["execute", "read"], promises)).toContain(SECRET.data);
  },
);
