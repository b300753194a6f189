/** MCP and the API on one port. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, test } from "vitest";
import { TOKEN, startApi } from "./api-server.ts";

test("issue 19.7 the official MCP client calls a tool at /mcp with the token of the API", async () => {
  const api = await startApi();
  const client = new Client({ name: "test", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${TOKEN}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${api.url}/mcp`), { requestInit }));
  await client.callTool({ name: "notes__add", arguments: { text: "Buy milk" } });
  await client.close();
  expect(api.added).toEqual(["Buy milk"]);
});

test("issue 19.7 E04 MCP is not served without a token, nor to pages of other origins", async () => {
  const api = await startApi();
  const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  expect((await api.ask("POST", "/mcp", { body, token: null })).status).toBe(401);
  expect((await api.ask("POST", "/mcp", { body, headers: { origin: "http://evil.example" } })).status).toBe(403);
});
