/** Issue 19.7: an MCP server of its own whose callers are those of `openServerAccess`. */
import { Keys, openServerAccess, type AccessRule } from "haft/server";
import { expect, test } from "vitest";
import { pure } from "../../src/core/resources/effects.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import type { Tool } from "../../src/core/tool.ts";
import { memoryStore } from "../../src/store/memory-store.ts";
import { ERAS, listening, openRuntime, overHttp } from "./mcp-clients.ts";
import { rawResponse } from "./mcp-raw.ts";

const tool = (name: string): Tool => ({ name, description: name, effects: pure, inputSchema: { type: "object" }, execute: () => name });

async function serving(rules: readonly AccessRule[]) {
  const { access: stored } = memoryStore();
  const access = await openServerAccess({ access: stored, rules }, systemPorts);
  const { runtime } = await openRuntime({ tools: ["look", "wipe", "send"].map(tool) });
  return { runtime, stored, access, keys: new Keys(stored, systemPorts) };
}

test.each(ERAS)("issue 19.7 the rules of openServerAccess apply at an MCP server of its own, with those of toolsFor (%s)", async (era) => {
  const { runtime, access, keys } = await serving([{ principals: ["ci"], allow: ["look", "wipe"] }]);
  const { url } = await listening(runtime, { authenticator: access, toolsFor: () => ({ deny: ["wipe"] }) });
  const names = async (name: string): Promise<readonly string[]> => {
    const { key } = await keys.add({ name, scopes: ["execute"] });
    const client = await overHttp(url, { era, headers: { authorization: `Bearer ${key}` } });
    await expect(client.callTool({ name: "send", arguments: {} })).rejects.toThrow("Unknown tool");
    return (await client.listTools()).tools.map((listed) => listed.name).filter((listed) => !listed.startsWith("haft__"));
  };
  expect(await names("ci")).toEqual(["look"]);
  expect(await names("other")).toEqual([]);
});

test.each(["the access", "its keys"])("issue 19.5 an MCP server that authenticates with %s refuses session keys", async (by) => {
  const { runtime, stored, access, keys } = await serving([]);
  const { url } = await listening(runtime, { authenticator: by === "the access" ? access : keys });
  const maker = await keys.add({ name: "ci", scopes: ["execute"], deny: ["wipe"] });
  const principal = await access.authenticate(new Request(url, { headers: { authorization: `Bearer ${maker.key}` } }));
  if (principal === undefined) throw new Error("The key is unknown.");
  const { key } = await access.delegate({ name: "page", sessionId: "desk", scopes: ["execute"] }, principal);
  const params = { name: "wipe", arguments: {} };
  const response = await rawResponse(url, "tools/call", params, { headers: { authorization: `Bearer ${key}` } });
  expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("belongs to a session")]);
  await access.settled();
  if (by === "the access") expect(await stored.refusals()).toMatchObject([{ status: 403, from: "127.0.0.1" }]);
});
