/** Issue 19.5: a server lets in who it knows, tells the others how to get in, and keeps what it refused. */
import { expect, onTestFinished, test } from "vitest";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { visibleTools } from "../../../src/policy/visibility.ts";
import { Keys } from "../../../src/server/auth/keys.ts";
import { RefusalLog } from "../../../src/server/auth/refusal-log.ts";
import { createServer } from "../../../src/server/create-server.ts";
import { openServerAccess, type ServerAccess, type ServerAccessOptions } from "../../../src/server/auth/server-access.ts";
import { readOnly } from "../../../src/core/resources/effects.ts";
import { listenMcp } from "../../../src/server/mcp.ts";
import { staticToken } from "../../../src/server/auth/static-token.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { tool } from "../../runtime/bench-runtime.ts";
import { LoopbackIssuer } from "./loopback-issuer.ts";
import { requestWith } from "./requests.ts";

const RESOURCE = "https://tools.example/mcp";

async function accessWith(options: ServerAccessOptions = {}, clock = new FakeClock()) {
  const { access: store } = memoryStore();
  const access = await openServerAccess({ access: store, ...options }, { clock, log: new MemoryLog() });
  return { access, clock, store, keys: new Keys(store, { clock }) };
}

async function denialOf(access: ServerAccess, request: Request, scope: "read" | "execute" = "execute") {
  return (await access.admit(request, { scope, from: "127.0.0.1" })).denial;
}

test("E04 a request without credentials gets a challenge without an error; one with wrong credentials gets invalid_token", async () => {
  const { access } = await accessWith();
  expect(await denialOf(access, requestWith(undefined))).toEqual({
    status: 401,
    reason: "The request has no credentials.",
    hint: "Send Authorization: Bearer with a key or token of this server.",
    challenge: 'Bearer realm="haft"',
  });
  expect(await denialOf(access, requestWith("x"))).toMatchObject({ status: 401, challenge: 'Bearer realm="haft", error="invalid_token"' });
});

test("issue 19.5 a missing scope is named in the challenge, so that a client can request it; admin includes all", async () => {
  const { access, keys } = await accessWith();
  const { key, stored } = await keys.add({ name: "CI", scopes: ["read", "approve"] });
  expect(await denialOf(access, requestWith(key))).toMatchObject({
    status: 403,
    reason: "This needs the scope execute.",
    hint: "CI has read, approve.",
    challenge: 'Bearer realm="haft", error="insufficient_scope", scope="execute"',
    principal: { id: `key:${stored.id}` },
  });
  expect(await denialOf(access, requestWith(key), "read")).toBeUndefined();
  const all = await keys.add({ name: "all", scopes: ["admin"] });
  expect(await denialOf(access, requestWith(all.key))).toBeUndefined();
});

test("issue 19.5 RFC 9728: the resource metadata names its issuer, at the URL that a challenge names", async () => {
  const issuer = await LoopbackIssuer.start(() => systemPorts.clock.wallTime() / 1_000);
  const scopes = { "tools.read": ["read"], "tools.use": ["execute"] } as const;
  const issuers = [{ issuer: issuer.url, allowPrivate: [issuer.host], scopes }];
  const access = await openServerAccess({ resource: RESOURCE, issuers }, systemPorts);
  const url = "https://tools.example/.well-known/oauth-protected-resource/mcp";
  expect((await denialOf(access, requestWith(undefined)))?.challenge).toBe(
    `Bearer realm="haft", scope="tools.use", resource_metadata="${url}"`,
  );
  const answer = access.metadataResponse(new Request(url));
  expect(await answer?.json()).toEqual({
    resource: RESOURCE,
    authorization_servers: [issuer.url],
    scopes_supported: ["tools.read", "tools.use"],
    bearer_methods_supported: ["header"],
    resource_name: "Haft",
  });
  expect(access.metadataResponse(new Request("https://tools.example/.well-known/oauth-protected-resource"))).toBeUndefined();

  const token = await issuer.token({ claims: { aud: RESOURCE, scope: "tools.read" } });
  expect(await denialOf(access, requestWith(token), "read")).toBeUndefined();
  expect((await denialOf(access, requestWith(token)))?.challenge).toContain(
    `error="insufficient_scope", scope="tools.read tools.use", resource_metadata="${url}"`,
  );
  await expect(openServerAccess({ issuers }, systemPorts)).rejects.toMatchObject({ code: "invalid_argument" });
});

test("pages of any origin may read the resource metadata, and nothing else", async () => {
  const { access } = await accessWith({ resource: RESOURCE, issuers: [{ issuer: "https://issuer.example", audience: RESOURCE }] });
  const server = createServer(createRuntime(), { auth: access, allowedHosts: ["tools.example"] });
  onTestFinished(() => server.close());
  const ask = async (path: string, headers: object = {}): Promise<number> => {
    const request = new Request(`https://tools.example${path}`, { headers: { origin: "https://other.example", ...headers } });
    return (await server.fetch(request)).status;
  };
  const path = "/.well-known/oauth-protected-resource/mcp";
  expect([await ask(path), await ask(path, { host: "evil.example" }), await ask("/v1/info")]).toEqual([200, 403, 403]);
});

test("while an issuer's keys cannot be fetched, only its tokens get 503, over the API and MCP", async () => {
  const now = () => Date.now() / 1_000;
  const [issuer, other] = [await LoopbackIssuer.start(now), await LoopbackIssuer.start(now)];
  const clock = new FakeClock({ wallTime: Date.now() });
  const issuers = [{ issuer: issuer.url, allowPrivate: [issuer.host] }];
  const { access, keys } = await accessWith({ resource: RESOURCE, issuers }, clock);
  const runtime = createRuntime();
  const server = createServer(runtime, { auth: access, ports: { log: new MemoryLog() } });
  const { url } = await server.listen({ port: 0 });
  const mcp = await listenMcp(runtime, { port: 0, authenticator: access, ports: { log: new MemoryLog() } });
  onTestFinished(async () => void (await Promise.all([server.close(), mcp.close()]), await runtime.close()));
  const claims = { aud: RESOURCE };
  const token = await issuer.token({ claims });
  const statuses = (bearer: string) =>
    Promise.all(
      [`${url}/v1/tools`, `${url}/mcp`, mcp.url].map(async (address) => {
        const isMcp = address.endsWith("mcp");
        const headers = {
          authorization: `Bearer ${bearer}`,
          accept: "application/json, text/event-stream",
          "content-type": "application/json",
        };
        const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } };
        const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
        const { status, headers: answered } = await fetch(address, { method: isMcp ? "POST" : "GET", headers, ...(isMcp ? { body } : {}) });
        return [status, answered.get("retry-after"), answered.get("www-authenticate") === null];
      }),
    );
  issuer.failure = 500;
  expect(await statuses(token)).toEqual(Array.from({ length: 3 }, () => [503, "1", true]));
  expect(await statuses(await other.token({ claims }))).toEqual(Array.from({ length: 3 }, () => [401, null, false]));
  const { key } = await keys.add({ name: "CI", scopes: ["read", "execute"] });
  expect(await statuses(key)).toEqual(Array.from({ length: 3 }, () => [200, null, true]));
  issuer.failure = undefined;
  await clock.advance(1_000);
  expect(await statuses(token)).toEqual(Array.from({ length: 3 }, () => [200, null, true]));
});

test("issue 19.5 a principal sees and may call the tools that its rules and its key allow, and handlers receive it", async () => {
  const rules = [{ principals: ["key:*"], allow: ["default::*"], deny: ["default::hidden"] }];
  const { access, keys } = await accessWith({ rules, others: [staticToken({ token: "a-secret-of-the-house" })] });
  const { key, stored } = await keys.add({ name: "CI", scopes: ["execute"], deny: ["default::other"] });
  const { principal } = await access.admit(requestWith(key), { scope: "execute" });
  if (principal === undefined) throw new Error("it was not let in");
  const seen: unknown[] = [];
  const tools = ["look", "other", "hidden"].map((name) => tool(name, (_, { data }) => void seen.push(data["principal"])));
  const runtime = createRuntime({ tools });
  const options = access.callOptions(principal);
  expect(visibleTools(runtime.registry, options.allow).map(({ qualifiedName }) => qualifiedName)).toEqual(["default::look"]);
  const results = await runtime.execute(
    tools.map(({ name }) => ({ name, input: {} })),
    options,
  );
  expect(results.map(({ status, error }) => error?.code ?? status)).toEqual(["ok", "permission_denied", "permission_denied"]);
  expect([options.principal, seen]).toEqual([`key:${stored.id}`, [principal]]);
  const local = await access.admit(requestWith("a-secret-of-the-house"), { scope: "execute" });
  expect(local.principal === undefined ? undefined : visibleTools(runtime.registry, access.visibilityOf(local.principal))).toEqual([]);
  await runtime.close();
});

test.each([[["principal"]], [["user"]]])("the cache separates the principals of a server with the identity %j", async (identity) => {
  const { access, keys } = await accessWith();
  const greet = tool("greet", (_, { data }) => JSON.parse(JSON.stringify(data["principal"])).name, {
    effects: readOnly("names"),
    cache: { scope: "runtime", identity },
  });
  const runtime = createRuntime({ tools: [greet] });
  onTestFinished(async () => void (await runtime.close()));
  const issued = [await keys.add({ name: "ada", scopes: ["execute"] }), await keys.add({ name: "grace", scopes: ["execute"] })];
  const found: unknown[] = [];
  for (const { key } of [...issued, ...issued]) {
    const { principal } = await access.admit(requestWith(key), { scope: "execute" });
    if (principal === undefined) throw new Error("it was not let in");
    const { origin, output } = await runtime.execute({ name: "greet" }, access.callOptions(principal));
    found.push([origin, output]);
  }
  expect(found).toEqual([
    ["live", "ada"],
    ["live", "grace"],
    ["cache", "ada"],
    ["cache", "grace"],
  ]);
});

test("E12 E13 a refused request is stored with time, path and address, without query, headers or body", async () => {
  const { access, store, clock } = await accessWith();
  const secret = "haft_0011223344556677_".padEnd(65, "s");
  await access.admit(new Request(`http://localhost/v1/tools?key=${secret}`, { headers: { authorization: `Bearer ${secret}` } }), {
    scope: "read",
    from: "10.0.0.9",
  });
  await access.admit(new Request("http://localhost/a%0ab", { method: "POST", body: secret }), { scope: "read" });
  await access.settled();
  const kept = await store.refusals();
  const reason = "The credentials are not valid: unknown, expired or revoked.";
  expect(kept).toEqual([
    { at: clock.wallTime(), status: 401, reason: "The request has no credentials.", method: "POST", path: "/a%0ab" },
    { at: clock.wallTime(), status: 401, reason, method: "GET", path: "/v1/tools", from: "10.0.0.9" },
  ]);
  expect(JSON.stringify(kept)).not.toContain("sss");
});

test("E20 of a flood of refused requests, fifty a second are stored and the others counted", async () => {
  const { access, store, clock } = await accessWith();
  for (let times = 0; times < 2_000; times++) void access.admit(requestWith("x"), { scope: "read" });
  await access.admit(requestWith("x"), { scope: "read" });
  await access.settled();
  expect(await store.refusals({ limit: 5_000 })).toHaveLength(50);
  await clock.advance(1_000);
  await access.admit(requestWith("x"), { scope: "read" });
  await access.settled();
  expect((await store.refusals({ limit: 1 }))[0]?.missed).toBe(1_951);
});

test("issue 19.5 a store that cannot be written does not delay a response", async () => {
  const log = new MemoryLog();
  const { access: store } = memoryStore();
  const broken = { ...store, addRefusals: () => Promise.reject(new Error("the disk is full")) };
  const access = await openServerAccess({ access: broken }, { clock: new FakeClock(), log });
  expect((await denialOf(access, requestWith("x")))?.status).toBe(401);
  await access.settled();
  expect(log.lines[0]?.message).toContain("Refused requests could not be written; this is tried again later: ");
});

test("E13 refusals that the store did not accept are stored once it accepts writes again, and a bounded number waits until then", async () => {
  const clock = new FakeClock();
  const { access: store } = memoryStore();
  let isBroken = true;
  const addRefusals: typeof store.addRefusals = (refusals) =>
    isBroken ? Promise.reject(new Error("the server is down")) : store.addRefusals(refusals);
  const access = await openServerAccess({ access: { ...store, addRefusals } }, { clock, log: new MemoryLog() });
  for (let second = 0; second < 30; second++) {
    for (let times = 0; times < 50; times++) await access.admit(requestWith("x"), { scope: "read" });
    await clock.advance(1_000);
  }
  isBroken = false;
  await clock.advance(1_000);
  expect(await store.refusals({ limit: 5_000 })).toHaveLength(1_000);
  await access.admit(requestWith("x"), { scope: "read" });
  await access.settled();
  expect((await store.refusals({ limit: 1 }))[0]?.missed).toBe(500);
});

test("E13 a refusal that is recorded as the last write ends is written too", async () => {
  const kept: unknown[][] = [];
  for (let steps = 0; steps < 20; steps++) {
    const { access: store } = memoryStore();
    const written: unknown[] = [];
    const refusals = new RefusalLog(
      { ...store, addRefusals: async (added) => void written.push(...added) },
      { clock: new FakeClock(), log: new MemoryLog() },
    );
    const refused = { request: requestWith("x"), status: 401, reason: "unknown key" } as const;
    refusals.record(refused);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    refusals.record(refused);
    for (let step = 0; step < 50; step++) await Promise.resolve();
    kept.push(written);
  }
  expect(kept.map(({ length }) => length)).toEqual(kept.map(() => 2));
});
