import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/core/base/json.ts";
import { mcpToolset, type McpAuth } from "../../../src/engine/mcp.ts";
import { withSharedRenewals } from "../../../src/engine/mcp/shared-renewals.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";

const renewal = (token: string, more: Readonly<Record<string, string>> = {}): RequestInit => ({
  method: "POST",
  body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: token, ...more }),
});

/** A token endpoint, which gives a new refresh token for each or leaves them valid. */
function endpoint({ rotates }: { readonly rotates: boolean }) {
  const asked: string[] = [];
  let answer: (() => Response) | undefined;
  const fetch = withSharedRenewals(async (_url, init) => {
    const token = new URLSearchParams(String(init?.body)).get("refresh_token") ?? "none";
    asked.push(token);
    const count = asked.length;
    await new Promise((resolve) => setImmediate(resolve));
    return answer?.() ?? Response.json({ access_token: `access ${count}`, ...(rotates ? { refresh_token: `refresh ${count}` } : {}) });
  });
  const renew = async (token: string, more = {}): Promise<unknown> =>
    Reflect.get(Object(await (await fetch("https://as.example/token", renewal(token, more))).json()), "access_token");
  return { asked, renew, fetch, answerWith: (next: typeof answer) => void (answer = next) };
}

describe("a refresh token", () => {
  test("is sent once by concurrent requests, whatever else they contain, and each reads the whole answer", async () => {
    for (const rotates of [true, false]) {
      const { renew, asked } = endpoint({ rotates });
      const all = [renew("r0"), renew("r0", { client_assertion: "1" }), renew("r0", { client_assertion: "2" })];
      expect([await Promise.all(all), asked]).toEqual([["access 1", "access 1", "access 1"], ["r0"]]);
    }
  });

  test("that was replaced is not sent again by a late request", async () => {
    const { renew, asked } = endpoint({ rotates: true });
    expect([await renew("r0"), await renew("refresh 1"), await renew("r0")]).toEqual(["access 1", "access 2", "access 1"]);
    expect(asked).toEqual(["r0", "refresh 1"]);
  });

  test("that stays valid is sent for each renewal, and each returns a new access token", async () => {
    const { renew, asked } = endpoint({ rotates: false });
    expect([await renew("r0"), await renew("r0")]).toEqual(["access 1", "access 2"]);
    expect(asked).toEqual(["r0", "r0"]);
  });

  test("is sent again after an invalid answer and after a failure", async () => {
    const { renew, asked, answerWith } = endpoint({ rotates: true });
    answerWith(() => Response.json({ error: "temporarily_unavailable" }, { status: 503 }));
    await renew("r0");
    answerWith(() => new Response("<html>"));
    await expect(renew("r0")).rejects.toThrow(SyntaxError);
    answerWith(() => {
      throw new TypeError("fetch failed");
    });
    await expect(Promise.all([renew("r0"), renew("r0")])).rejects.toThrow("fetch failed");
    answerWith(undefined);
    expect([await renew("r0"), asked.length]).toEqual(["access 4", 4]);
  });

  test("does not affect other requests", async () => {
    const { fetch, asked } = endpoint({ rotates: true });
    const request = { method: "POST", body: new URLSearchParams({ grant_type: "authorization_code", code: "c" }) };
    await Promise.all([
      fetch("https://as.example/token", request),
      fetch("https://as.example/token", request),
      fetch("https://rs.example"),
    ]);
    expect(asked.length).toBe(3);
  });
});

test.each(["2025-11-25", "2026-07-28"])("parallel calls with an expired token renew it once and keep their login (%s)", async (version) => {
  const listen = async (answer: (request: IncomingMessage, response: ServerResponse, body: string) => void): Promise<string> => {
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => answer(request, response, body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => (server.closeAllConnections(), void server.close()));
    const address = server.address();
    return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  };
  const json = (response: ServerResponse, value: unknown, status = 200, headers = {}): void =>
    void response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));
  let count = 0;
  let valid = "access 0";
  const asked: (string | null)[] = [];
  const issuer = await listen(({ url, headers }, response, body) => {
    const self = `http://${headers.host}`;
    if (url !== "/token")
      return json(response, {
        issuer: self,
        authorization_endpoint: `${self}/authorize`,
        token_endpoint: `${self}/token`,
        response_types_supported: ["code"],
        grant_types_supported: ["authorization_code", "refresh_token"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["none"],
      });
    const token = new URLSearchParams(body).get("refresh_token");
    asked.push(token);
    if (token !== `refresh ${count}`) return json(response, { error: "invalid_grant" }, 400);
    valid = `access ${++count}`;
    json(response, { access_token: valid, refresh_token: `refresh ${count}`, token_type: "Bearer", expires_in: 3600 });
  });
  const waiting: (() => void)[] = [];
  const CALLS = 8;
  const origin = await listen(({ url, headers, method }, response, body) => {
    const self = `http://${headers.host}`;
    if (url?.includes("oauth-protected-resource") === true)
      return json(response, { resource: `${self}/mcp`, authorization_servers: [issuer] });
    const refused = (): void =>
      json(response, {}, 401, { "www-authenticate": `Bearer resource_metadata="${self}/.well-known/oauth-protected-resource/mcp"` });
    if (headers.authorization === "Bearer access 0" && valid === "gone") {
      waiting.push(refused); // all of them are refused together
      return waiting.length < CALLS ? undefined : waiting.splice(0).forEach((refuse) => refuse());
    }
    if (headers.authorization !== `Bearer ${valid}`) return refused();
    if (method !== "POST") return json(response, {}, 405);
    const { id, method: asks } = JSON.parse(body) as { readonly id?: number; readonly method: string };
    if (id === undefined) return void response.writeHead(202).end();
    const result: Readonly<Record<string, JsonObject>> = {
      "server/discover": {
        resultType: "complete",
        supportedVersions: [version],
        capabilities: { tools: {} },
        ttlMs: 0,
        cacheScope: "private",
      },
      initialize: { protocolVersion: version, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
      "tools/list": { resultType: "complete", tools: [{ name: "t", inputSchema: { type: "object" } }], ttlMs: 0, cacheScope: "private" },
      "tools/call": { resultType: "complete", content: [{ type: "text", text: "ok" }] },
    };
    if (asks === "server/discover" && version !== "2026-07-28")
      return json(response, { jsonrpc: "2.0", id, error: { code: -32_601, message: "no" } });
    json(response, { jsonrpc: "2.0", id, result: result[asks] });
  });
  let tokens: JsonObject | undefined = { access_token: "access 0", refresh_token: "refresh 0", token_type: "Bearer", issuer };
  const logins: string[] = [];
  const provider = {
    redirectUrl: "http://127.0.0.1:1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1:1/callback"] },
    clientInformation: () => ({ client_id: "c", issuer }),
    tokens: () => tokens,
    saveTokens: (next: JsonObject) => void (tokens = next),
    redirectToAuthorization: () => void logins.push("asked"),
    saveCodeVerifier: () => undefined,
    codeVerifier: () => "v",
    invalidateCredentials: () => void (tokens = undefined),
  };
  const auth = { type: "oauth", provider } as unknown as McpAuth; // its tokens are plain JSON here
  const effects = { "*": { reads: [] } };
  const runtime = createRuntime({
    ports: { log: new MemoryLog() },
    toolsets: [mcpToolset("s", { url: `${origin}/mcp`, allowPrivate: [new URL(issuer).host], effects, auth })],
  });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  valid = "gone";
  const results = await runtime.execute(Array.from({ length: CALLS }, () => ({ name: "s::t", input: {} })));
  expect(results.map(({ status, error }) => [status, error?.message])).toEqual(Array.from({ length: CALLS }, () => ["ok", undefined]));
  expect([asked.filter((token, index) => asked.indexOf(token) !== index), logins]).toEqual([[], []]);
  expect(await runtime.execute({ name: "s::t", input: {} })).toMatchObject({ status: "ok" });
});
