/** Issue 19.5: keys that principals make for one session. */
import { createClient } from "haft/client";
import { Keys, openServerAccess, staticToken, type ServerAccessOptions } from "haft/server";
import { FakeClock } from "haft/testing";
import { expect, test } from "vitest";
import type { StoredKey } from "../../../src/core/store/access-store.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { ServerAccess } from "../../../src/server/auth/server-access.ts";
import { readAudit } from "../../../src/server/auth/audit.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { requestWith } from "../auth/requests.ts";
import { TOKEN, startApi } from "./api-server.ts";
import { testInCI } from "../../test-in-ci.ts";

async function keyedApi(options: ServerAccessOptions = {}) {
  const store = memoryStore();
  const auth = await openServerAccess({ access: store.access, others: [staticToken({ token: TOKEN })], ...options }, systemPorts);
  const api = await startApi({ auth });
  const make = (token: string, body: object, sessionId = "desk") =>
    api.ask("POST", `/v1/sessions/${sessionId}/keys`, { token, body: { name: "page", scopes: ["read"], ...body } });
  return { api, make, store, keys: new Keys(store.access, systemPorts) };
}

test("issue 19.5 a session key reads its session, is shown once and expires", async () => {
  const { api, store } = await keyedApi();
  const client = createClient({ url: api.url, token: TOKEN });
  const before = Date.now();
  const made = await client.call("createSessionKey", { params: { sessionId: "desk" }, body: { name: "page", scopes: ["read"] } });
  expect(made).toMatchObject({ sessionId: "desk", scopes: ["read"] });
  expect(made.expiresAt - before).toBeGreaterThanOrEqual(900_000);
  expect(made.expiresAt - before).toBeLessThan(1_800_000);
  const page = createClient({ url: api.url, token: made.key });
  expect((await page.call("getSession", { params: { sessionId: "desk" } })).id).toBe("desk");
  const calls = [{ name: "notes::list" }];
  await expect(page.call("executeInSession", { params: { sessionId: "desk" }, body: { calls } })).rejects.toMatchObject({ status: 403 });
  expect(JSON.stringify(await store.access.keys({ sessionKeys: true }))).not.toContain(made.key.slice(-43));
});

test("issue 19.5 E05 a session key has no scope that its creator lacks, never admin, and cannot create keys", async () => {
  const { make, keys } = await keyedApi();
  const { key } = await keys.add({ name: "ci", scopes: ["read", "execute"] });
  const widened = await make(key, { scopes: ["read", "approve"] });
  expect([widened.status, widened.json.detail]).toEqual([
    403,
    'A key cannot have the scope "approve", because its creator does not have it.',
  ]);
  expect((await make(TOKEN, { scopes: ["admin"] })).status).toBe(400);
  const { json: page } = await make(key, { scopes: ["read", "execute"] });
  expect((await make(page.key, {})).status).toBe(403);
  expect((await make(page.key, {}, "other")).status).toBe(403);
  expect(await keys.list({ sessionKeys: true })).toHaveLength(2);
});

test.each<[string, object, number]>([
  ["a session that is not there", { sessionId: "nowhere" }, 404],
  ["no scope", { scopes: [] }, 400],
  ["a life of more than a day", { ttlMs: 86_400_001 }, 400],
  ["a name of line breaks", { name: "a\nb" }, 400],
  ["a pattern that is none", { allow: [""] }, 400],
  ["an unknown field", { scope: "read" }, 400],
])("issue 19.5 a session key with %s is rejected, and none is created", async (_, wrong, status) => {
  const { make, keys } = await keyedApi();
  const { sessionId = "desk", ...body } = wrong as { readonly sessionId?: string };
  expect((await make(TOKEN, body, sessionId)).status).toBe(status);
  expect(await keys.list({ sessionKeys: true })).toEqual([]);
});

test("issue 19.5 a session key has no tool that patterns or rules deny to its creator, whatever its name", async () => {
  const rules = [
    { principals: ["ci"], allow: ["notes::*"] },
    { principals: ["boss"], allow: ["*"] },
    { principals: ["session:*"], deny: ["notes::erase"] },
  ];
  const { api, make, keys } = await keyedApi({ rules });
  const { key } = await keys.add({ name: "ci", scopes: ["read", "execute"], deny: ["notes::wait"] });
  const { json: page } = await make(key, { name: "boss", allow: ["notes::add", "notes::wait", "notes::erase"] });
  const { json } = await api.ask("GET", "/v1/tools", { token: page.key });
  expect(json.tools.map(({ name }: { readonly name: string }) => name)).toEqual(["notes::add"]);
});

test("issue 19.5 a session key made with a token follows the rules for the token's claims, and ends with the token", async () => {
  const { access } = memoryStore();
  const clock = new FakeClock();
  const keys = new Keys(access, { clock });
  const rules = [{ claims: { "/realm/roles": "ops" }, allow: ["notes::*"] }];
  const log = systemPorts.log;
  const door = new ServerAccess({ access, rules }, { ports: { clock, log }, authenticator: keys, keys });
  const claims = { realm: { roles: ["ops"] }, email: "ann@example.com" };
  const expiresAt = clock.wallTime() + 60_000;
  const maker = { id: "token:https://login#ann", name: "ann", scopes: new Set(["read", "execute"] as const), claims, expiresAt };
  const { key, stored } = await door.delegate({ name: "page", scopes: ["read"], sessionId: "desk" }, maker);
  expect(stored).toMatchObject({ expiresAt, maker: { name: "ann", claims: { realm: { roles: ["ops"] } } } });
  expect(JSON.stringify(stored)).not.toContain("example.com");
  const page = await door.authenticate(requestWith(key));
  expect(page === undefined ? undefined : ["notes::add", "files::read"].map((name) => door.visibilityOf(page)?.permits(name))).toEqual([
    true,
    false,
  ]);
  await clock.advance(60_000);
  expect(await door.authenticate(requestWith(key))).toBeUndefined();
});

testInCI("issue 19.5 E05 a session key ends when its creator revokes it, and when its creator's key is revoked", async () => {
  const { api, make, keys } = await keyedApi();
  const { key, stored } = await keys.add({ name: "ci", scopes: ["read", "execute"] });
  const { key: foreign } = await keys.add({ name: "foreign", scopes: ["read", "execute"] });
  const [{ json: one }, { json: other }] = [await make(key, {}), await make(key, {})];
  const read = async (token: string): Promise<number> => (await api.ask("GET", "/v1/sessions/desk", { token })).status;
  const revoke = async (token: string, path: string): Promise<number> => (await api.ask("DELETE", path, { token })).status;
  expect(await revoke(foreign, `/v1/sessions/desk/keys/${one.id}`)).toBe(404);
  expect(await revoke(key, `/v1/sessions/other/keys/${one.id}`)).toBe(404);
  expect(await revoke(TOKEN, `/v1/sessions/desk/keys/${stored.id}`)).toBe(404);
  expect([await read(one.key), await read(other.key)]).toEqual([200, 200]);
  expect(await revoke(key, `/v1/sessions/desk/keys/${one.id}`)).toBe(204);
  expect([await read(one.key), await read(other.key)]).toEqual([401, 200]);
  await keys.revoke(stored.id);
  await expect.poll(() => read(other.key), { timeout: 240_000 }).toBe(401);
});

test("issue 19.5 E05 a session key may add timers to its session, but no channel triggers", async () => {
  const { api, make } = await keyedApi();
  const { json: page } = await make(TOKEN, { scopes: ["execute"] });
  const add = async (body: object): Promise<number> =>
    (await api.ask("POST", "/v1/sessions/desk/triggers", { token: page.key, body })).status;
  expect(await add({ type: "channel", settings: { channel: "news" } })).toBe(403);
  expect(await add({ type: "timer", settings: { interval: 3_600, prompt: "Look at the notes." } })).toBe(201);
});

test("issue 19.5 E05 a session key cannot fork its session, since it could neither use nor end the branch", async () => {
  const { api, make } = await keyedApi();
  const { json: page } = await make(TOKEN, { scopes: ["read", "execute", "simulate"] });
  expect((await api.ask("POST", "/v1/sessions/desk/fork", { token: page.key })).status).toBe(403);
  expect(api.runtime.sessions.list().map(({ id }) => id)).toEqual(["desk"]);
  const body = { calls: [{ name: "notes::list" }] };
  expect((await api.ask("POST", "/v1/sessions/desk/simulate", { token: page.key, body })).status).toBe(200);
});

test("issue 19.5 E05 a key of a branch cannot change the parent: it may discard the branch, but not commit it", async () => {
  const { api, make } = await keyedApi();
  const owner = createClient({ url: api.url, token: TOKEN });
  const params = { sessionId: "branch" };
  await owner.call("forkSession", { params: { sessionId: "desk" }, body: { id: "branch" } });
  await owner.call("executeInSession", { params, body: { calls: [{ name: "notes::add", input: { text: "one" } }] } });
  const events = () => owner.call("listSessionEvents", { params: { sessionId: "desk" } });
  const before = await events();
  const { json: page } = await make(TOKEN, { scopes: ["read", "execute", "simulate", "approve"] }, "branch");
  expect((await api.ask("POST", "/v1/sessions/branch/commit", { token: page.key })).status).toBe(403);
  expect(await events()).toEqual(before);
  expect((await api.ask("POST", "/v1/sessions/branch/discard", { token: page.key })).status).toBe(204);
});

test("issue 19.5 E05 a session's keys and streams end with it, and see nothing of the next session with its id", async () => {
  const { api, make } = await keyedApi();
  const owner = createClient({ url: api.url, token: TOKEN });
  const params = { sessionId: "trip" };
  const read = async (token: string): Promise<number> => (await api.ask("GET", "/v1/sessions/trip", { token })).status;
  for (const end of [
    () => api.ask("DELETE", "/v1/sessions/trip"),
    () => api.ask("POST", "/v1/sessions/trip/discard"),
    () => api.ask("POST", "/v1/sessions/trip/commit"),
  ]) {
    await owner.call("forkSession", { params: { sessionId: "desk" }, body: { id: "trip" } });
    const { json: page } = await make(TOKEN, {}, "trip");
    expect(await read(page.key)).toBe(200);
    const headers = { accept: "text/event-stream", authorization: `Bearer ${TOKEN}` };
    const stream = await fetch(`${api.url}/v1/sessions/trip/events`, { headers });
    expect((await end()).status).toBeLessThan(300);
    await owner.call("createSession", { body: { id: "trip" } });
    await owner.call("executeInSession", { params, body: { calls: [{ name: "notes::add", input: { text: "secret" } }] } });
    expect(await read(page.key)).toBe(401);
    const text = await stream.text();
    expect(text).toContain('"code":"not_found"');
    expect(text).not.toContain("secret");
    await owner.call("deleteSession", { params });
  }
});

test("issue 19.5 E05 the session list for a session key reveals nothing about other sessions, not even their number", async () => {
  const { api, make } = await keyedApi();
  for (let n = 0; n < 12; n++) await api.ask("POST", "/v1/sessions", { body: { id: `other-${n}` } });
  const { json: page } = await make(TOKEN, {});
  const desk = { sessions: [expect.objectContaining({ id: "desk" })] };
  for (const [query, answer] of [
    ["", desk],
    ["?limit=1", desk],
    ["?q=desk", desk],
    ["?q=other", { sessions: [] }],
    ["?cursor=3", { sessions: [] }],
  ] as const)
    expect((await api.ask("GET", `/v1/sessions${query}`, { token: page.key })).json).toEqual(answer);
});

test("issue 19.5 E05 a session key does not learn which places processes have", async () => {
  const { api, make } = await keyedApi();
  const { json: page } = await make(TOKEN, { scopes: ["read", "execute", "simulate"] });
  const calls = [{ name: "notes::list" }];
  for (const path of ["/v1/execute", "/v1/simulate", "/v1/sessions"]) {
    const body = path === "/v1/sessions" ? {} : { calls };
    const { status, text } = await api.ask("POST", `${path}?place=kitchen`, { token: page.key, body });
    expect([status, text]).toEqual([403, expect.not.stringContaining("kitchen")]);
  }
  const own = await api.ask("POST", "/v1/sessions/desk/execute?place=kitchen", { token: page.key, body: { calls } });
  expect(own.json.results[0].status).toBe("ok"); // the session is open here
});

test("a refused request is stored with the address of its client, over the API and MCP alike", async () => {
  const { api, store } = await keyedApi();
  const { key } = await new Keys(store.access, systemPorts).add({ name: "reader", scopes: ["read"] });
  const wrong = { token: "wrong" };
  await api.ask("GET", "/v1/tools", wrong);
  await api.ask("GET", "/v1/tools", { ...wrong, headers: { origin: api.url } });
  await api.ask("POST", "/mcp", { ...wrong, body: {} });
  await api.ask("POST", "/v1/sessions", { token: key, body: {} });
  await api.ask("GET", "/v1/tools", { headers: { origin: "https://evil.example" } });
  await api.server.close();
  const kept = await store.access.refusals();
  expect(kept.map(({ from }) => from)).toEqual(Array.from({ length: 5 }, () => "127.0.0.1"));
});

test("issue 19.5 a server without a key store answers 503 to a request for a key", async () => {
  const api = await startApi();
  const { status, json } = await api.ask("POST", "/v1/sessions/desk/keys", { body: { name: "page", scopes: ["read"] } });
  expect([status, json.detail]).toEqual([503, "The server has no key store."]);
});

test("issue 19.5 the audit lists each key that was created or revoked, without its hash", async () => {
  const { api, make, keys, store } = await keyedApi();
  const { key, stored } = await keys.add({ name: "ci", scopes: ["read", "execute"], createdBy: "cli" });
  const { json: page } = await make(key, {});
  await api.ask("DELETE", `/v1/sessions/desk/keys/${page.id}`, { token: key });
  const entries = await readAudit(store, {}, () => {});
  const seen = entries.filter(({ type }) => type.startsWith("key-"));
  expect(new Set(seen.map((entry) => [entry.type, "name" in entry ? entry.name : "", entry.principal].join(" ")))).toEqual(
    new Set(["key-add ci cli", `key-add page key:${stored.id}`, "key-revoke page "]),
  );
  const text = JSON.stringify(entries);
  for (const secret of ["hash", key.slice(-43), page.key.slice(-43)]) expect(text).not.toContain(secret);
});

test("issue 19.5 repeating a removal that failed halfway revokes the keys of the session", async () => {
  const { store } = await keyedApi();
  let isAway = false;
  const access = new Proxy(store.access, {
    get(target, name) {
      if (name === "revokeKey" && isAway) return () => Promise.reject(new Error("The database is away."));
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const api = await startApi({ auth: await openServerAccess({ access, others: [staticToken({ token: TOKEN })] }, systemPorts) });
  const begin = (): Promise<unknown> => api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
  await begin();
  const { json } = await api.ask("POST", "/v1/sessions/trip/keys", { body: { name: "page", scopes: ["read"] } });
  isAway = true;
  expect((await api.ask("DELETE", "/v1/sessions/trip")).status).toBe(500);
  isAway = false;
  expect((await api.ask("DELETE", "/v1/sessions/trip")).status).toBe(404);
  await begin();
  expect((await api.ask("GET", "/v1/sessions/trip", { token: json.key })).status).toBe(401);
});

test.each([true, false])(
  "issue 19.5 E05 a session that is removed while a key is made for it leaves no key (began again: %s)",
  async (isAgain) => {
    const { access: stored } = memoryStore();
    let remove = async (): Promise<void> => {};
    const access = new Proxy(stored, {
      get(target, name) {
        if (name === "addKey")
          return async (key: StoredKey) => {
            await remove();
            await target.addKey(key);
          };
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const api = await startApi({ auth: await openServerAccess({ access, others: [staticToken({ token: TOKEN })] }, systemPorts) });
    const begin = (): Promise<unknown> => api.ask("POST", "/v1/sessions", { body: { id: "trip" } });
    const make = () => api.ask("POST", "/v1/sessions/trip/keys", { body: { name: "page", scopes: ["read"] } });
    await begin();
    expect((await make()).status).toBe(201);
    remove = async () => {
      await api.ask("DELETE", "/v1/sessions/trip");
      if (isAgain) await begin();
    };
    expect((await make()).status).toBe(404);
    expect((await stored.keys({ sessionId: "trip" })).filter(({ revokedAt }) => revokedAt === undefined)).toEqual([]);
  },
);

test("issue 19.5 a session key that asks for the jobs of another session gets an empty list, not its own jobs", async () => {
  const { api, make } = await keyedApi();
  const { json: page } = await make(TOKEN, { scopes: ["read", "execute"] });
  const body = { calls: [{ name: "notes::wait", input: {} }], background: true };
  await api.ask("POST", "/v1/sessions/desk/execute", { token: page.key, body });
  expect((await api.ask("GET", "/v1/jobs", { token: page.key })).json.jobs).toHaveLength(1);
  expect((await api.ask("GET", "/v1/jobs?sessionId=other", { token: page.key })).json).toEqual({ jobs: [] });
});
