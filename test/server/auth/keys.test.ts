/** Issue 19.5: keys are made once, kept as hashes, and let in as long as they are valid. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import type { AccessStore } from "../../../src/core/store/access-store.ts";
import { FakeClock } from "../../../src/testing/fake-ports.ts";
import { memoryStore } from "../../../src/store/memory-store.ts";
import { Keys, type NewKey } from "../../../src/server/auth/keys.ts";
import {
  markHeadOnly,
  combineAuthenticators,
  authenticateSender,
  type Authenticator,
  type Principal,
} from "../../../src/server/auth/principal.ts";
import { staticToken } from "../../../src/server/auth/static-token.ts";
import { localStore } from "../../store/local-store.ts";
import { temporaryFile } from "../../store/temporary-file.ts";
import type { HeadRequest } from "../../../src/server/http/request-head.ts";
import { testInCI } from "../../test-in-ci.ts";
import { requestWith } from "./requests.ts";

const READ: NewKey = { name: "CI", scopes: ["read"] };

function keysOf(access: AccessStore = memoryStore().access): {
  readonly keys: Keys;
  readonly clock: FakeClock;
  readonly access: AccessStore;
} {
  const clock = new FakeClock();
  return { keys: new Keys(access, { clock }), clock, access };
}

test("issue 19.5 a key authenticates as its id and name, with its scopes and patterns", async () => {
  const { keys } = keysOf();
  const { key, stored } = await keys.add({ ...READ, scopes: ["read", "execute"], allow: ["files::*"], deny: ["files::delete"] });
  expect(key).toMatch(/^haft_[0-9a-f]{16}_[\w-]{43}$/u);
  expect(await keys.authenticate(requestWith(key))).toEqual({
    id: `key:${stored.id}`,
    name: "CI",
    scopes: new Set(["read", "execute"]),
    tools: { allow: ["files::*"], deny: ["files::delete"] },
  });
});

test.each(["raed", "admn", "aprove"])("the unknown scope %s is rejected with the nearest scope", async (scope) => {
  await expect(keysOf().keys.add({ ...READ, scopes: [scope as "read"] })).rejects.toMatchObject({
    hint: expect.stringMatching(/^Did you mean /u),
  });
});

test.each<[string, Readonly<Record<string, unknown>>, string]>([
  ["no scope", { scopes: [] }, "A key needs at least one scope of read, execute, simulate, approve, admin."],
  ["an unknown scope", { scopes: ["exec"] }, 'A key cannot have the unknown scope "exec".'],
  ["an empty name", { name: "" }, "The name of a key"],
  ["a name that hides something", { name: "a\u202eb" }, "The name of a key"],
  ["a pattern that is none", { allow: [7] }, "pattern that is not a string"],
  ["no time to live", { ttlMs: 0 }, "ttlMs of a key is 0"],
  ["an unknown option", { scope: "read" }, '"scope"'],
])("issue 19.5 a key with %s is rejected", async (_, wrong, message) => {
  const { keys } = keysOf();
  const refused = { code: "invalid_argument", message: expect.stringContaining(message) };
  await expect(keys.add({ ...READ, ...wrong })).rejects.toMatchObject(refused);
  expect(await keys.list()).toEqual([]);
});

test("E12 neither the store nor the list contains the key or its secret", async () => {
  const path = temporaryFile();
  const { store } = localStore(path);
  const { keys, access } = keysOf(store.access);
  const { key, stored } = await keys.add(READ);
  const secret = key.slice(key.lastIndexOf(stored.id) + stored.id.length + 1);
  expect(JSON.stringify([await access.keys(), await keys.list()])).not.toContain(secret);
  expect((await keys.list()).every((listed) => !("hash" in listed) && !("salt" in listed))).toBe(true);
  await store.close();
  expect(readFileSync(path).includes(secret)).toBe(false);
});

test("E04 an invalid key, or a key outside the Authorization header, is rejected", async () => {
  const { keys } = keysOf();
  const { key } = await keys.add(READ);
  const other = await keys.add(READ);
  const mixed = key.slice(0, 22) + other.key.slice(22);
  const wrong = ["x", "null", "haft_", key.slice(0, -1), `${key}x`, key.toUpperCase(), mixed, key.replace("haft_", "haft__")];
  for (const token of wrong) expect(await keys.authenticate(requestWith(token))).toBeUndefined();
  const hostile: readonly Request[] = [
    requestWith(undefined),
    requestWith(undefined, { authorization: key }),
    requestWith(undefined, { authorization: `Basic ${btoa(`:${key}`)}` }),
    requestWith(undefined, { authorization: `Bearer ${key}, Bearer ${key}` }),
    requestWith(undefined, { authorization: `Bearer ${key}\t` }),
    requestWith(undefined, { authorization: `Bearer ${"a".repeat(100_000)}` }),
    requestWith(undefined, { "x-api-key": key, cookie: `token=${key}`, "proxy-authorization": `Bearer ${key}` }),
    new Request(`http://localhost/v1/tools?access_token=${key}&key=${key}&authorization=Bearer%20${key}`),
  ];
  const known = await Promise.all(hostile.map((request) => keys.authenticate(request)));
  expect(known.filter((principal) => principal !== undefined)).toEqual(known[4] === undefined ? [] : [known[4]]); // fetch trims the tab
});

test("E04 an expired key is rejected, to the millisecond", async () => {
  const { keys, clock } = keysOf();
  const { key } = await keys.add({ ...READ, ttlMs: 500 });
  await clock.advance(499);
  expect(await keys.authenticate(requestWith(key))).toBeDefined();
  await clock.advance(1);
  expect(await keys.authenticate(requestWith(key))).toBeUndefined();
});

test("issue 19.5 a key that is revoked while in use is rejected from the next request on; in other processes a second later", async () => {
  const { keys, clock, access } = keysOf();
  const elsewhere = new Keys(access, { clock });
  const { key, stored } = await keys.add(READ);
  for (const one of [keys, elsewhere]) expect(await one.authenticate(requestWith(key))).toBeDefined();
  expect([await keys.revoke(stored.id), await keys.revoke(stored.id)]).toEqual([true, false]);
  expect(await keys.authenticate(requestWith(key))).toBeUndefined();
  await clock.advance(1_000);
  expect(await elsewhere.authenticate(requestWith(key))).toBeUndefined();
  await expect(keys.revoke(`${stored.id.slice(0, -1)}z`)).rejects.toMatchObject({ code: "not_found", hint: `Did you mean ${stored.id}?` });
});

test("issue 19.5 a key that is revoked while it is read from the store is not accepted again from the cache", async () => {
  const { access } = memoryStore();
  const clock = new FakeClock();
  let revoke: (() => Promise<unknown>) | undefined;
  const slow = new Proxy(access, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== "function") return method;
      return async (...values: readonly unknown[]): Promise<unknown> => {
        const found: unknown = await Reflect.apply(method, target, values);
        const meanwhile = name === "key" ? revoke : undefined;
        revoke = name === "key" ? undefined : revoke;
        await meanwhile?.();
        return found;
      };
    },
  });
  const keys = new Keys(slow, { clock });
  const { key, stored } = await keys.add(READ);
  const page = await keys.addSessionKey({ ...READ, sessionId: "desk" });
  for (const [secret, end] of [
    [key, () => keys.revoke(stored.id)],
    [page.key, () => keys.revokeOf("desk")],
  ] as const) {
    revoke = end;
    await keys.authenticate(requestWith(secret));
    expect(await keys.authenticate(requestWith(secret))).toBeUndefined();
  }
});

test("issue 19.5 a session key of a maker whose token expires at a fraction of a second ends no later than the token", async () => {
  const { keys, clock } = keysOf();
  const expiresAt = clock.wallTime() + 60_123.4;
  const maker: Principal = { id: "token:https://login#ann", name: "ann", scopes: new Set(["read"]), expiresAt };
  const { stored } = await keys.delegate({ name: "page", scopes: ["read"], sessionId: "desk" }, maker);
  expect(stored.expiresAt).toBe(clock.wallTime() + 60_123);
  const none = keys.delegate({ name: "page", scopes: ["read"], sessionId: "desk", ttlMs: -1 }, maker);
  await expect(none).rejects.toThrow("ttlMs of a key is -1");
});

test("issue 19.5 a session key is bound to its session, has no scope beyond it, and lives at most a day", async () => {
  const { keys, clock } = keysOf();
  const { key, stored } = await keys.addSessionKey({ ...READ, sessionId: "trip" });
  expect(await keys.authenticate(requestWith(key))).toMatchObject({ id: `session:${stored.id}`, sessionId: "trip" });
  await clock.advance(900_000);
  expect(await keys.authenticate(requestWith(key))).toBeUndefined();
  for (const wrong of [{ scopes: ["admin" as const] }, { ttlMs: 86_400_001 }, { sessionId: "" }])
    await expect(keys.addSessionKey({ ...READ, sessionId: "trip", ...wrong })).rejects.toMatchObject({ code: "invalid_argument" });
});

const maker = (id: string): Principal => ({ id, name: id, scopes: new Set(["read"]) });

test("E05 a session key ends when its creator's key is revoked or expires, for new requests and open streams", async () => {
  const { keys, clock } = keysOf();
  for (const end of ["revoked", "expired"] as const) {
    const { stored: made } = await keys.add({ ...READ, ttlMs: 60_000 });
    const { key } = await keys.delegate({ ...READ, sessionId: "trip" }, maker(`key:${made.id}`));
    const principal = await keys.authenticate(requestWith(key));
    if (principal === undefined) throw new Error("The session key was not let in.");
    expect(await keys.isValid(principal)).toBe(true);
    if (end === "revoked") await keys.revoke(made.id);
    else await clock.advance(60_000);
    expect([await keys.isValid(principal), await keys.authenticate(requestWith(key))]).toEqual([false, undefined]);
  }
});

test("E05 a session key can be revoked only by its creator or an admin, and only under its own session", async () => {
  const { keys } = keysOf();
  const ann = maker("token:https://login#ann");
  const { key, stored } = await keys.delegate({ ...READ, sessionId: "trip" }, ann);
  const { id } = stored;
  const refused: readonly (readonly [{ readonly id: string; readonly sessionId: string }, Principal])[] = [
    [{ id, sessionId: "trip" }, maker("token:https://login#bob")],
    [{ id, sessionId: "desk" }, ann],
    [
      { id, sessionId: "desk" },
      { ...ann, scopes: new Set(["admin"]) },
    ],
    [{ id: "none", sessionId: "trip" }, ann],
  ];
  for (const [which, by] of refused) await expect(keys.revokeSessionKey(which, by)).rejects.toMatchObject({ code: "not_found" });
  const principal = maker(`session:${id}`);
  expect([await keys.isValid(principal), await keys.authenticate(requestWith(key))]).toMatchObject([true, { id: principal.id }]);
  await keys.revokeSessionKey({ id, sessionId: "trip" }, { ...maker("key:a1"), scopes: new Set(["admin"]) });
  expect([await keys.isValid(principal), await keys.authenticate(requestWith(key))]).toEqual([false, undefined]);
});

testInCI("E05 all keys of a removed session end, however many there are", async () => {
  const { keys, access } = keysOf();
  const first = await keys.addSessionKey({ ...READ, sessionId: "trip", ttlMs: 86_400_000 });
  const { hash, salt, ...like } = first.stored;
  for (let number = 0; number < 10_000; number++)
    await access.addKey({ ...like, hash, salt, id: `k${number}`, createdAt: like.createdAt + 1 });
  await keys.revokeOf("trip");
  expect(await keys.authenticate(requestWith(first.key))).toBeUndefined();
});

test("issue 19.5 a wrong key is looked up like a valid one, and the result is cached for a second", async () => {
  const { access } = keysOf();
  let looks = 0;
  const { keys, clock } = keysOf({ ...access, key: async (id) => (looks++, access.key(id)) });
  const { key, stored } = await keys.add(READ);
  const wrong = `haft_${stored.id}_${"A".repeat(43)}`;
  for (const token of [wrong, wrong, key, key, key]) await keys.authenticate(requestWith(token));
  expect(looks).toBe(3);
  await clock.advance(1_000);
  await keys.authenticate(requestWith(key));
  expect(looks).toBe(4);
});

test("issue 19.5 the first authenticator that recognises the sender decides, including a shared token", async () => {
  const { keys } = keysOf();
  const { key, stored } = await keys.add(READ);
  const both = combineAuthenticators(keys, staticToken({ token: "a-secret-of-the-house", id: "local" }));
  expect((await both.authenticate(requestWith(key)))?.id).toBe(`key:${stored.id}`);
  expect((await both.authenticate(requestWith("a-secret-of-the-house")))?.id).toBe("local");
  expect(await both.authenticate(requestWith("a-secret-of-the-hous"))).toBeUndefined();
  expect(await combineAuthenticators().authenticate(requestWith(key))).toBeUndefined();
  expect(() => staticToken({ token: "short" })).toThrow("at least 16 characters");
});

test.each([
  "a token with spaces in it",
  "a-token-for-the-tests\n",
  "p@ssw0rd!p@ssw0rd!",
  "käse-token-with-umlaut",
  "a=token-for-the-tests",
])("the shared token %j is refused at once, because no client could send it", (token) => {
  expect(() => staticToken({ token })).toThrow("a character that clients cannot send");
  expect(() => staticToken({ token: "a-token_of.every~kind+/==" })).not.toThrow();
});

test("E04 an authenticator derived from another one decides by its own function, whatever it inherits", async () => {
  const inner = staticToken({ token: "a-secret-of-the-house" });
  const nobody = async (): Promise<undefined> => undefined;
  const head = headOf("a-secret-of-the-house");
  expect((await authenticateSender(inner, head))?.id).toBe("local");
  expect(await authenticateSender({ ...inner, authenticate: nobody }, head)).toBeUndefined();
  const guest: Authenticator = { authenticate: async () => maker("guest") };
  expect((await authenticateSender(combineAuthenticators(guest, inner), head))?.id).toBe("guest");
  expect(
    (await authenticateSender(combineAuthenticators(inner, markHeadOnly({ authenticate: nobody, authenticateHead: nobody })), head))?.id,
  ).toBe("local");
});

function headOf(token: string): HeadRequest {
  const { method, url, headers } = requestWith(token);
  return { method, url, headers, toRequest: () => requestWith(token) };
}
