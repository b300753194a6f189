/** OAuth clients of a server: how they find its issuer, which scopes they ask for, and which of their tokens count. */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { createServer } from "../../../src/server/create-server.ts";
import { openServerAccess, type IssuerOptions, type ServerAccess } from "../../../src/server/auth/server-access.ts";
import { listenMcp } from "../../../src/server/mcp.ts";
import type { Clock } from "../../../src/core/ports.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { LoopbackIssuer } from "./loopback-issuer.ts";
import { requestWith } from "./requests.ts";

const RESOURCE = "https://tools.example/mcp";
const METADATA = "/.well-known/oauth-protected-resource/mcp";

async function accessTo(
  issuer: LoopbackIssuer,
  options: Partial<IssuerOptions> = {},
  { resource = RESOURCE, clock = systemPorts.clock }: { readonly resource?: string; readonly clock?: Clock } = {},
): Promise<ServerAccess> {
  const issuers = [{ issuer: issuer.url, allowPrivate: [issuer.host], ...options }];
  return await openServerAccess({ resource, issuers }, { clock, log: new MemoryLog() });
}

const started = (): Promise<LoopbackIssuer> => LoopbackIssuer.start(() => systemPorts.clock.wallTime() / 1_000);

async function challengeOf(access: ServerAccess, token?: string): Promise<string | undefined> {
  return (await access.admit(requestWith(token), { scope: "execute" })).denial?.challenge;
}

async function supportedScopes(access: ServerAccess): Promise<unknown> {
  const document: unknown = await access.metadataResponse(new Request(`https://tools.example${METADATA}`))?.json();
  return Reflect.get(Object(document), "scopes_supported");
}

test("a client without a token is asked for the scope of its request, and the metadata offers neither approve nor admin", async () => {
  const access = await accessTo(await started());
  expect(await challengeOf(access)).toContain('scope="execute"');
  expect(await supportedScopes(access)).toEqual(["read", "execute", "simulate"]);
});

test("a client is asked for a scope that its issuer knows, with the fewest rights needed", async () => {
  const issuer = await started();
  const scopes = { "tools.all": ["read", "execute", "approve"], "tools.use": ["execute"], "tools.admin": ["admin"] } as const;
  const access = await accessTo(issuer, { scopes });
  expect(await challengeOf(access)).toContain('scope="tools.use"');
  expect(await supportedScopes(access)).toEqual(["tools.use"]);

  const administered = await accessTo(issuer, { scopes: { "tools.admin": ["admin"] } });
  expect(await challengeOf(administered)).toContain('scope="tools.admin"');
  expect(await supportedScopes(administered)).toEqual(["tools.admin"]);

  const reading = await accessTo(issuer, { scopes: { "tools.read": ["read"] } });
  expect(await challengeOf(reading)).not.toContain("scope=");
});

test("a client that lacks a scope is asked for it and for the scopes that it has, which a new token would otherwise lose", async () => {
  const issuer = await started();
  const scopes = { "tools.read": ["read"], "tools.use": ["execute"] } as const;
  const access = await accessTo(issuer, { scopes });
  const token = await issuer.token({ claims: { aud: RESOURCE, scope: 'openid offline_access tools.read not"a"name' } });
  expect(await challengeOf(access, token)).toContain('error="insufficient_scope", scope="tools.read openid offline_access tools.use"');
  const roles = await accessTo(issuer, { scopes, scopeClaim: "roles" });
  const other = await issuer.token({ claims: { aud: RESOURCE, roles: ["tools.read", "auditor"] } });
  expect(await challengeOf(roles, other)).toContain('error="insufficient_scope", scope="tools.read tools.use"');
});

test("a scope with its resource's URI is granted by the bare name in a token, and requested with the URI", async () => {
  const issuer = await started();
  const scopes = { "api://c1f3/Tools.Read": ["read"], "api://c1f3/Tools.Use": ["execute"] } as const;
  const access = await accessTo(issuer, { scopes, scopeClaim: "scp" });
  const token = await issuer.token({ claims: { aud: RESOURCE, scp: "Tools.Read" } });
  expect((await access.admit(requestWith(token), { scope: "read" })).denial).toBeUndefined();
  expect(await challengeOf(access, token)).toContain('scope="api://c1f3/Tools.Read api://c1f3/Tools.Use"');
  const wide = await issuer.token({ claims: { aud: RESOURCE, scp: "Tools.Read Tools.Use" } });
  expect((await access.admit(requestWith(wide), { scope: "execute" })).denial).toBeUndefined();
  const strange = await issuer.token({ claims: { aud: RESOURCE, scp: "c1f3/Tools.Use Use" } });
  expect((await access.admit(requestWith(strange), { scope: "execute" })).denial?.status).toBe(403);
});

test("a request without a token names no scope when the issuers use different names for it", async () => {
  const [one, other] = [await started(), await started()];
  const issuers = [
    { issuer: one.url, scopes: { "tools.use": ["execute"] } },
    { issuer: other.url, scopes: { call: ["execute"] } },
  ] as const;
  const access = await openServerAccess({ resource: RESOURCE, issuers }, { clock: systemPorts.clock, log: new MemoryLog() });
  expect(await challengeOf(access)).not.toContain("scope=");
});

test.each(["https://tools.example", "https://tools.example/", "https://Tools.Example:443"])(
  "a token for the server %s is accepted with and without the trailing slash that clients add to a host",
  async (resource) => {
    const issuer = await started();
    const access = await accessTo(issuer, {}, { resource });
    for (const aud of ["https://tools.example/", "https://tools.example", ["api", "https://tools.example/"]])
      expect((await access.admit(requestWith(await issuer.token({ claims: { aud } })), { scope: "read" })).denial).toBeUndefined();
    for (const aud of ["https://tools.example/mcp", "https://tools.example.evil/", "http://tools.example/", [], ["api"]])
      expect((await access.admit(requestWith(await issuer.token({ claims: { aud } })), { scope: "read" })).denial?.status).toBe(401);
  },
);

test("a token with 200 groups, as large as issuers make them, is accepted over HTTP", async () => {
  const issuer = await started();
  const server = createServer(createRuntime(), { auth: await accessTo(issuer), ports: { log: new MemoryLog() } });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  const groups = Array.from({ length: 200 }, () => crypto.randomUUID());
  const token = await issuer.token({ claims: { aud: RESOURCE, groups } });
  expect(token.length).toBeGreaterThan(10_000);
  expect((await fetch(`${url}/v1/tools`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
});

test("a request with several Authorization headers is rejected, even if one of them is valid", async () => {
  const issuer = await started();
  const server = createServer(createRuntime(), { auth: await accessTo(issuer), ports: { log: new MemoryLog() } });
  onTestFinished(() => server.close());
  const { port } = await server.listen({ port: 0 });
  const token = await issuer.token({ claims: { aud: RESOURCE } });
  const statusOf = async (...tokens: readonly string[]): Promise<string> => {
    const head = ["GET /v1/tools HTTP/1.1", `Host: localhost:${port}`, "Connection: close"];
    const lines = tokens.map((each, index) => `${index === 0 ? "Authorization" : "aUTHORIZATION"}: Bearer ${each}`);
    const socket = connect(port, "127.0.0.1");
    socket.write(`${[...head, ...lines].join("\r\n")}\r\n\r\n`);
    let text = "";
    for await (const chunk of socket) text += String(chunk);
    return text.slice(9, 12);
  };
  expect([await statusOf(token), await statusOf(token, "x"), await statusOf("x", token), await statusOf(token, token)]).toEqual([
    "200",
    "400",
    "400",
    "400",
  ]);
});

test("an MCP server on its own port tells OAuth clients their issuer and the scope they need", async () => {
  const issuer = await started();
  const runtime = createRuntime();
  const access = await accessTo(issuer, { scopes: { "tools.use": ["execute"], "tools.read": ["read"] } });
  const mcp = await listenMcp(runtime, { port: 0, authenticator: access, ports: { log: new MemoryLog() } });
  onTestFinished(async () => void (await mcp.close(), await runtime.close()));
  const metadata = await fetch(new URL(METADATA, mcp.url), { headers: { origin: "https://page.example" } });
  expect([metadata.status, await metadata.json()]).toMatchObject([200, { resource: RESOURCE, authorization_servers: [issuer.url] }]);
  const ask = async (token?: string) => {
    const headers = { "content-type": "application/json", ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
    const { status, headers: answered } = await fetch(mcp.url, { method: "POST", headers, body: "{}" });
    return [status, answered.get("www-authenticate")];
  };
  const where = `resource_metadata="https://tools.example${METADATA}"`;
  expect(await ask()).toEqual([401, `Bearer realm="haft", scope="tools.use", ${where}`]);
  expect(await ask("x")).toEqual([401, `Bearer realm="haft", error="invalid_token", scope="tools.use", ${where}`]);
  const reader = await issuer.token({ claims: { aud: RESOURCE, scope: "tools.read" } });
  expect(await ask(reader)).toEqual([403, `Bearer realm="haft", error="insufficient_scope", scope="tools.read tools.use", ${where}`]);
});

test("a token with a new key is unavailable rather than invalid while the issuer does not answer, and known keys still work", async () => {
  const clock = new FakeClock();
  const issuer = await LoopbackIssuer.start(() => clock.wallTime() / 1_000);
  const access = await accessTo(issuer, {}, { clock });
  const token = (): Promise<string> => issuer.token({ claims: { aud: RESOURCE } });
  const known = await issuer.token({ claims: { aud: RESOURCE, exp: clock.wallTime() / 1_000 + 600 } });
  const isLetIn = async (bearer: string): Promise<boolean> =>
    (await access.admit(requestWith(bearer), { scope: "read" })).principal !== undefined;
  expect(await isLetIn(known)).toBe(true);
  await clock.advance(30_000);
  await issuer.rotate();
  issuer.failure = 503;
  for (let times = 0; times < 3; times++) {
    await expect(isLetIn(await token())).rejects.toMatchObject({ code: "unavailable", retryable: true });
    expect(await isLetIn(known)).toBe(true);
  }
  issuer.failure = undefined;
  await clock.advance(1_000);
  expect([await isLetIn(await token()), await isLetIn(known)]).toEqual([true, false]);
  expect(await isLetIn(await issuer.token({ claims: { aud: RESOURCE }, header: { kid: "other" } }))).toBe(false);
});

test("concurrent tokens with a new key are all accepted, with one request to the issuer", async () => {
  const clock = new FakeClock();
  const issuer = await LoopbackIssuer.start(() => clock.wallTime() / 1_000);
  const access = await accessTo(issuer, {}, { clock });
  const isLetIn = async (): Promise<boolean> => {
    const token = await issuer.token({ claims: { aud: RESOURCE } });
    return (await access.admit(requestWith(token), { scope: "read" })).principal !== undefined;
  };
  expect(await isLetIn()).toBe(true);
  await clock.advance(30_000);
  await issuer.rotate();
  const before = issuer.asked.length;
  expect(await Promise.all(Array.from({ length: 20 }, isLetIn))).toEqual(Array.from({ length: 20 }, () => true));
  expect(issuer.asked.slice(before).filter((path) => path === "/keys")).toHaveLength(1);
});
