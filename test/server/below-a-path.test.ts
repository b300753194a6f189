/** A server below a path of its host: the addresses that it gives out have the path, whether requests come with it or a proxy removed it. */
import { discoverOAuthProtectedResourceMetadata } from "@modelcontextprotocol/client";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createNodeServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool, readOnly } from "haft";
import { createClient } from "haft/client";
import { UserLogins, mcpToolset } from "haft/mcp";
import { createServer, openServerAccess, staticToken, type ServerOptions } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { findBasePathProblem } from "../../src/core/base/base-path.ts";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { MCP_PATH } from "../../src/server/base-path.ts";
import { API } from "../../src/server/api.ts";
import { SCREENS } from "../../src/server/dashboard/dashboard-files.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import { authorizationServer, ticketServer } from "../engine/mcp/login/authorization-server.ts";
import { Browser } from "../engine/mcp/login/browser.ts";
import { freePort } from "../engine/mcp/login/gateway.ts";
import { LoopbackIssuer } from "./auth/loopback-issuer.ts";
import { overHttp } from "./mcp-clients.ts";

const TOKEN = "a-token-for-the-tests";
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };

const lateTool = () =>
  defineTool({
    name: "late",
    description: "Answers after the request that called it.",
    inputSchema: { type: "object" },
    effects: readOnly("time"),
    execute: () => new Promise((resolve) => setTimeout(resolve, 300, "done")),
  });

function served(options: Partial<ServerOptions> = {}): ReturnType<typeof createServer> {
  const runtime = createRuntime({ tools: [lateTool()] });
  const server = createServer(runtime, {
    auth: staticToken({ token: TOKEN }),
    basePath: "/haft",
    ports: { log: new MemoryLog() },
    ...options,
  });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  return server;
}

type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

/** Ways in which requests reach a server below `/haft`; the path is that on the host. */
const WAYS: Readonly<Record<string, (server: ReturnType<typeof createServer>) => Promise<Fetch>>> = {
  "a proxy that passes the path on": async (server) => {
    const { port } = await server.listen({ port: 0 });
    return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
  },
  "a proxy that removes the path": async (server) => {
    const { port } = await server.listen({ port: 0 });
    return (path, init) => fetch(`http://127.0.0.1:${port}${path.replace(/^\/haft/u, "")}`, init);
  },
  "a framework that passes the path on": async (server) => {
    const app = new Hono().all("/haft/*", (context) => server.fetch(context.req.raw));
    return async (path, init) => app.request(`http://localhost${path}`, init);
  },
  "a framework that removes the path": async (server) => {
    const app = new Hono().mount("/haft", server.fetch);
    return async (path, init) => app.request(`http://localhost${path}`, init);
  },
  "a server of Node's": async (server) => {
    const listener = getRequestListener(server.fetch, { overrideGlobalObjects: false }); // other tests of the process need Node's own
    const node = createNodeServer((incoming, outgoing) => void listener(incoming, outgoing)).listen(0, "127.0.0.1");
    await once(node, "listening");
    onTestFinished(() => void node.close());
    const address = node.address();
    return (path, init) => fetch(`http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}${path}`, init);
  },
};

test.each(Object.entries(WAYS))("addresses in responses include the base path: %s", async (_way, reach) => {
  const request = await reach(served());
  const accepted = await request("/haft/v1/execute", {
    method: "POST",
    headers: { ...AUTHORIZATION, "content-type": "application/json" },
    body: JSON.stringify({ calls: [{ name: "late", input: {} }], waitMs: 0 }),
  });
  const location = accepted.headers.get("location") ?? "";
  expect([accepted.status, location]).toEqual([202, expect.stringMatching(/^\/haft\/v1\/submissions\/[\w-]+$/u)]);
  expect(await accepted.json()).toMatchObject({ location });
  const results = await request(`${location}?waitMs=5000`, { headers: AUTHORIZATION });
  expect(await results.json()).toMatchObject({ results: [{ status: "ok", output: "done" }] });
  expect(await (await request("/haft/openapi.json")).json()).toMatchObject({ servers: [{ url: "/haft" }] });
});

test("the URL of a listener includes the base path, and clients work with it", async () => {
  const { url, port } = await served().listen({ port: 0 });
  expect(url).toBe(`http://127.0.0.1:${port}/haft`);
  const client = createClient({ url, token: TOKEN });
  const { results } = await client.call("execute", { body: { calls: [{ name: "late", input: {} }], waitMs: 0 } });
  expect(results).toMatchObject([{ status: "ok" }]);
  const mcp = await overHttp(`${url}/mcp`, { era: "modern", headers: AUTHORIZATION });
  expect((await mcp.listTools()).tools).toMatchObject([{ name: expect.stringContaining("late") }]);
});

test.each(["a proxy that passes the path on", "a framework that passes the path on"])(
  "a path that only resembles the base path returns 404: %s",
  async (way) => {
    const request = await (WAYS[way] ?? expect.fail())(served({ dashboard: true }));
    for (const path of ["/haftx/v1/info", "/haft/haft/v1/info", "/haft%2Fv1/info", "/HAFT/v1/info", "/other/haft/v1/info"])
      expect([path, (await request(path, { headers: AUTHORIZATION })).status]).toEqual([path, 404]);
    for (const path of ["/haft/v1/info", "/haft/healthz"])
      expect([path, (await request(path, { headers: AUTHORIZATION })).status]).toEqual([path, 200]);
  },
);

test("the base path is removed once, so a doubled path passes a proxy that removes it too, as the guide says", async () => {
  const statusBy = async (way: string): Promise<number> => {
    const request = await (WAYS[way] ?? expect.fail())(served());
    return (await request("/haft/haft/metrics", { headers: AUTHORIZATION })).status;
  };
  expect(await statusBy("a proxy that passes the path on")).toBe(404);
  expect(await statusBy("a proxy that removes the path")).toBe(200);
});

test("an MCP client finds the OAuth metadata at the root of the host, through the challenge and through the server's URL", async () => {
  const issuer = await LoopbackIssuer.start(() => systemPorts.clock.wallTime() / 1_000);
  const port = await freePort();
  const resource = `http://127.0.0.1:${port}/haft/mcp`;
  const issuers = [{ issuer: issuer.url, allowPrivate: [issuer.host] }];
  const auth = await openServerAccess({ resource, issuers }, { ...systemPorts, log: new MemoryLog() });
  await served({ auth }).listen({ port });
  for (const address of [resource, `http://127.0.0.1:${port}/mcp`]) {
    const refused = await fetch(address, { method: "POST", headers: { "content-type": "application/json" }, body: "{}" });
    const metadataUrl = /resource_metadata="([^"]+)"/u.exec(refused.headers.get("www-authenticate") ?? "")?.[1];
    expect(metadataUrl).toBe(`http://127.0.0.1:${port}/.well-known/oauth-protected-resource/haft/mcp`);
  }
  expect(await discoverOAuthProtectedResourceMetadata(resource)).toMatchObject({ resource, authorization_servers: [issuer.url] });
  const token = await issuer.token({ claims: { aud: resource } });
  const client = await overHttp(resource, { era: "legacy", headers: { authorization: `Bearer ${token}` } });
  expect((await client.listTools()).tools[0]?.name).toBe("late");
});

test("a user logs in on pages below the base path, and the login cookie is limited to them", async () => {
  const log = new MemoryLog();
  const authority = await authorizationServer();
  const tickets = await ticketServer(authority);
  const port = await freePort();
  const logins = new UserLogins({ origin: `http://127.0.0.1:${port}`, ports: { log } });
  const allowPrivate = [new URL(authority.issuer).host];
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: tickets.url, auth: { type: "user-login", logins }, allowPrivate })],
    ports: { log },
  });
  await runtime.open();
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN, id: "one" }), basePath: "/haft", logins, ports: { log } });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const { url } = await server.listen({ port });
  const client = createClient({ url, token: TOKEN });
  const { address = "" } = await client.call("logInToUpstream", { params: { upstreamName: "tickets" } });
  expect(address).toMatch(new RegExp(`^${url}/upstreams/login\\?id=`, "u"));
  const goesOn = await fetch(address, { method: "POST", headers: { origin: new URL(url).origin }, redirect: "manual" });
  expect(goesOn.headers.getSetCookie()).toEqual([expect.stringContaining("; Path=/haft/upstreams/; HttpOnly; SameSite=Lax")]);
  expect(new URL(goesOn.headers.get("location") ?? "").searchParams.get("redirect_uri")).toBe(`${url}/upstreams/callback`);
  const browser = new Browser("ada");
  expect((await browser.logIn(address)).status).toBe(200);
  expect(browser.visited.at(-1)?.href).toContain(`${url}/upstreams/callback?`);
  expect((await client.call("listUpstreams")).upstreams).toMatchObject([{ name: "tickets", state: "logged-in" }]);
});

test.each([
  ["/haft", "/other", 'below "/haft"', 'below "/other"'],
  ["/haft", undefined, 'below "/haft"', "at the root of their host"],
  [undefined, "/haft", "at the root of their host", 'below "/haft"'],
])("login pages stay below %j: a server below %j cannot move them", async (first, second, place, other) => {
  const logins = new UserLogins({ origin: "https://tools.example" });
  const runtime = createRuntime();
  const below = (basePath: string | undefined): unknown =>
    createServer(runtime, { auth: staticToken({ token: TOKEN }), logins, ...(basePath === undefined ? {} : { basePath }) });
  below(first);
  expect(() => below(second)).toThrow(`These logins have their pages ${place}, so they cannot also have them ${other}.`);
  below(first);
  const document = await logins.response(new Request("https://tools.example/upstreams/client.json"));
  expect(await document?.json()).toMatchObject({ redirect_uris: [`https://tools.example${first ?? ""}/upstreams/callback`] });
});

/** Starts two servers of one store, below a path or at the root. Resolves to their addresses. */
async function twoServers(paths: readonly [string, string]): Promise<readonly [string, string]> {
  const folder = await mkdtemp(join(tmpdir(), "haft-below-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const start = async (basePath: string): Promise<string> => {
    const store = sqliteStore({ path: join(folder, "haft.db"), synchronous: "normal" });
    const runtime = createRuntime({ store, tools: [lateTool()] });
    await runtime.open();
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), ...(basePath === "" ? {} : { basePath }) });
    onTestFinished(async () => {
      await server.close();
      await runtime.close();
    });
    return (await server.listen({ port: 0, address: true })).url;
  };
  return [await start(paths[0]), await start(paths[1])];
}

test.each([
  ["/haft", "/haft"],
  ["", "/haft"],
  ["/haft", ""],
  ["/of-the-owner/v1/submissions/x", "/haft"],
  ["/haft", "/of-the-asked/v1"],
])("for a session of a server below %j, a server below %j answers with addresses of its own", async (owner, asked) => {
  const [one, two] = await twoServers([owner, asked]);
  await createClient({ url: one, token: TOKEN }).call("createSession", { body: { id: "shop" } });
  const headers = { ...AUTHORIZATION, "content-type": "application/json" };
  const body = JSON.stringify({ calls: [{ name: "late", input: {} }], waitMs: 0 });
  const place = expect.stringMatching(new RegExp(`^${asked}/v1/submissions/[\\w-]+\\?sessionId=shop$`, "u"));
  const accepted = await fetch(`${two}/v1/sessions/shop/execute`, { method: "POST", headers, body });
  const location = accepted.headers.get("location") ?? "";
  expect([accepted.status, location, await accepted.json()]).toEqual([202, place, { submissionId: expect.any(String), location }]);
  const waits = await fetch(new URL(`${location}&waitMs=0`, two), { headers: AUTHORIZATION });
  expect([waits.status, waits.headers.get("location"), await waits.json()]).toMatchObject([202, location, { location }]);
  const results = await fetch(new URL(`${location}&waitMs=5000`, two), { headers: AUTHORIZATION });
  expect(await results.json()).toMatchObject({ results: [{ status: "ok", output: "done" }] });
});

test.each([
  ["haft", "must be a path"],
  ["", "must be a path"],
  ["/", "must be a path"],
  ["/haft/", "must be a path"],
  ["/a//b", "must be a path"],
  ["/a/../b", "must be a path"],
  ["/.well-known", "must be a path"],
  ["/haft?x", "must be a path"],
  ["/haft#x", "must be a path"],
  ["/a%2Fb", "must be a path"],
  ["/a b", "must be a path"],
  ['/a"b', "must be a path"],
  ["/\u00e4", "must be a path"],
  ["https://app.example/haft", "must be a path"],
  ["/v1", "must not begin like a path of the server"],
  ["/mcp/haft", "must not begin like a path of the server"],
  ["/sessions", "must not begin like a path of the server"],
  ["/assets", "must not begin like a path of the server"],
  ["/upstreams/x", "must not begin like a path of the server"],
  ["/metrics", "must not begin like a path of the server"],
])("the basePath %j is rejected", (basePath, reason) => {
  const runtime = createRuntime();
  expect(() => createServer(runtime, { auth: staticToken({ token: TOKEN }), basePath })).toThrow(reason);
});

test("no path of the server has a first segment that is a valid base path", () => {
  const paths = [MCP_PATH, "/assets/", "/upstreams/", ...Object.values(API).map(({ path }) => path)];
  const firstParts = new Set([...paths.map((path) => path.split("/")[1] ?? ""), ...SCREENS]);
  for (const part of firstParts) expect([part, findBasePathProblem(`/${part}`)]).toEqual([part, expect.any(String)]);
});

test.each<RequestInit>([
  { keepalive: true },
  { mode: "same-origin", cache: "only-if-cached" },
  { redirect: "error", credentials: "omit", integrity: "sha256-x" },
  { referrer: "", referrerPolicy: "no-referrer" },
])("a request is answered below the base path whatever its fetch options: %j", async (init) => {
  const body = JSON.stringify({ calls: [{ name: "late", input: {} }] });
  const headers = { ...AUTHORIZATION, "content-type": "application/json" };
  const server = served();
  for (const path of ["/v1/execute", "/haft/v1/execute"]) {
    const answer = await server.fetch(new Request(`http://localhost${path}`, { ...init, method: "POST", headers, body }));
    expect([path, answer.status]).toEqual([path, 200]);
  }
});

test.each(["/haft", "/tools.v2/haft_1", "/~ada/-x"])("the basePath %s is accepted", async (basePath) => {
  const { url } = await served({ basePath }).listen({ port: 0 });
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});
