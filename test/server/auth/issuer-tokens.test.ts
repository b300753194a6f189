/** Issue 19.5: bearer tokens of a real issuer on loopback, and the ways in which others try to be it. */
import { SignJWT, UnsecuredJWT, generateKeyPair } from "jose";
import { expect, test } from "vitest";
import { guardedFetch } from "../../../src/net/guarded-fetch.ts";
import { httpClient } from "../../../src/net/http-client.ts";
import { issuerTokens, type IssuerTokensOptions } from "../../../src/server/auth/issuer-tokens.ts";
import type { Authenticator } from "../../../src/server/auth/principal.ts";
import { FakeClock, MemoryLog } from "../../../src/testing/fake-ports.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { LoopbackIssuer, type TokenParts } from "./loopback-issuer.ts";
import { requestWith } from "./requests.ts";

interface World {
  readonly issuer: LoopbackIssuer;
  readonly clock: FakeClock;
  readonly log: MemoryLog;
  readonly tokens: Authenticator;
  /** The scopes of a token's principal; undefined for one that is not let in. */
  scopes(parts?: TokenParts): Promise<readonly string[] | undefined>;
}

async function world(options: Partial<IssuerTokensOptions> = {}, allowPrivate?: readonly string[]): Promise<World> {
  const clock = new FakeClock();
  const log = new MemoryLog();
  const issuer = await LoopbackIssuer.start(() => clock.wallTime() / 1_000);
  const client = httpClient({ allowPrivate: allowPrivate ?? [issuer.host] }, { clock: systemPorts.clock, log });
  const tokens = await issuerTokens(
    { issuer: issuer.url, audience: "https://tools.example", ...options },
    { clock, log, fetch: guardedFetch(client) },
  );
  const scopes: World["scopes"] = async (parts) => {
    const principal = await tokens.authenticate(requestWith(await issuer.token(parts)));
    return principal === undefined ? undefined : [...principal.scopes];
  };
  return { issuer, clock, log, tokens, scopes };
}

test("issue 19.5 a valid token identifies its subject, with the scopes of its claim and its claims for rules", async () => {
  const { issuer, tokens } = await world();
  const principal = await tokens.authenticate(requestWith(await issuer.token({ claims: { client_id: "web", groups: ["ops"] } })));
  expect(principal).toMatchObject({ id: `token:${issuer.url}#ada`, name: "web", claims: { groups: ["ops"], sub: "ada" } });
  expect(principal?.scopes).toEqual(new Set(["read", "execute"]));
  expect(issuer.asked).toEqual(["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration", "/keys"]);
  await tokens.authenticate(requestWith(await issuer.token()));
  expect(issuer.asked).toHaveLength(3);
});

test.each<[string, TokenParts]>([
  ["for another audience", { claims: { aud: "https://other.example" } }],
  ["for no audience", { claims: { aud: undefined } }],
  ["of another issuer", { claims: { iss: "https://evil.example" } }],
  ["that has expired", { claims: { exp: 1 } }],
  ["that never expires", { claims: { exp: undefined } }],
  ["that has not begun", { claims: { nbf: 32_503_680_000 } }],
  ["without a subject", { claims: { sub: undefined } }],
  ["with an empty subject", { claims: { sub: "" } }],
  ["with a subject that is no string", { claims: { sub: 7 } }],
  ["with a subject too long for an id", { claims: { sub: "x".repeat(1_024) } }],
  ["of another type", { header: { typ: "logout+jwt" } }],
  ["with an unknown key", { header: { kid: "k99" } }],
  ["with a demand that is not understood", { header: { crit: ["b64", "exp"], b64: true } }],
])("E04 D12 a token %s is rejected", async (_, parts) => {
  const { scopes, issuer, tokens } = await world();
  expect(await scopes()).toEqual(["read", "execute"]);
  const token = await issuer.token(parts).catch(() => `${btoa(JSON.stringify({ alg: "ES256", ...parts.header }))}.e30.AAAA`);
  expect(await tokens.authenticate(requestWith(token))).toBeUndefined();
});

test("E04 a token without a signature, signed by another key, or with the public key as a shared secret is rejected", async () => {
  const { issuer, scopes, tokens, clock } = await world();
  const now = Math.floor(clock.wallTime() / 1_000);
  const claims = { iss: issuer.url, aud: "https://tools.example", sub: "ada", exp: now + 60, scope: "admin" };
  expect(await tokens.authenticate(requestWith(new UnsecuredJWT(claims).encode()))).toBeUndefined();
  const { privateKey } = await generateKeyPair("ES256");
  expect(await scopes({ key: privateKey })).toBeUndefined();
  const shared = new TextEncoder().encode(await issuer.publicPem());
  const confused = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: "k1", typ: "at+jwt" }).sign(shared);
  expect(await tokens.authenticate(requestWith(confused))).toBeUndefined();
  const [header, , signature] = (await issuer.token()).split(".");
  const changed = `${header}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.${signature}`;
  expect(await tokens.authenticate(requestWith(changed))).toBeUndefined();
});

test("E04 a key or key URL inside the token is never used", async () => {
  const { tokens, issuer, scopes } = await world();
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
  const { exportJWK } = await import("jose");
  const jwk = await exportJWK(publicKey);
  const header = { jwk, jku: `${issuer.url}/keys?evil`, x5u: `${issuer.url}/evil`, kid: undefined };
  expect(await scopes({ key: privateKey, header: header as never })).toBeUndefined();
  expect(await tokens.authenticate(requestWith("a.b.c"))).toBeUndefined();
  expect(issuer.asked.some((path) => path.includes("evil"))).toBe(false);
});

test("issue 19.5 an expired token is accepted within the clock tolerance, and not beyond it", async () => {
  const { scopes, clock } = await world({ clockToleranceSeconds: 30 });
  const now = Math.floor(clock.wallTime() / 1_000);
  expect(await scopes({ claims: { exp: now - 29 } })).toBeDefined();
  expect(await scopes({ claims: { exp: now - 31 } })).toBeUndefined();
});

test("a principal expires with its token, tolerance included", async () => {
  const { issuer, tokens, clock } = await world({ clockToleranceSeconds: 30 });
  const exp = Math.floor(clock.wallTime() / 1_000) + 60;
  const principal = await tokens.authenticate(requestWith(await issuer.token({ claims: { exp } })));
  expect(principal?.expiresAt).toBe((exp + 30) * 1_000);
});

test("a key that the issuer has withdrawn is accepted for at most ten minutes", async () => {
  const { issuer, clock, tokens } = await world();
  const old = await issuer.token({ claims: { exp: 4_000_000_000 } });
  expect(await tokens.authenticate(requestWith(old))).toBeDefined();
  await issuer.rotate();
  await clock.advance(599_999);
  expect(await tokens.authenticate(requestWith(old))).toBeDefined();
  await clock.advance(1);
  expect(await tokens.authenticate(requestWith(old))).toBeUndefined();
});

test("issue 19.5 key rotation: the new key is fetched when a token names it, old tokens end, and unknown keys cause one request", async () => {
  const { issuer, clock, scopes, tokens } = await world();
  const old = await issuer.token({ claims: { exp: 4_000_000_000 } });
  expect(await tokens.authenticate(requestWith(old))).toBeDefined();
  await issuer.rotate();
  expect(await scopes()).toBeUndefined(); // asked a moment ago
  await clock.advance(30_000);
  expect(await scopes()).toBeDefined();
  expect(await tokens.authenticate(requestWith(old))).toBeUndefined();
  const { length } = issuer.asked;
  for (let times = 0; times < 100; times++) await scopes({ header: { kid: `unknown${times}` } });
  await clock.advance(30_000);
  for (let times = 0; times < 100; times++) await scopes({ header: { kid: `unknown${times}` } });
  expect(issuer.asked.slice(length).filter((path) => path === "/keys")).toHaveLength(1);
});

test("unknown keys cause no more requests to an issuer that did not answer for a while than to any other", async () => {
  const { issuer, clock, scopes } = await world();
  issuer.failure = 500;
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  issuer.failure = undefined;
  await clock.advance(1_000);
  expect(await scopes()).toBeDefined();
  const { length } = issuer.asked;
  for (let times = 0; times < 100; times++) expect(await scopes({ header: { kid: `unknown${times}` } })).toBeUndefined();
  expect(issuer.asked).toHaveLength(length);
});

test("a key that the issuer replaces under the same name is fetched with a token that the old one does not verify, at most every 30 seconds", async () => {
  const { issuer, clock, scopes, tokens } = await world();
  const old = await issuer.token({ claims: { exp: 4_000_000_000 } });
  expect(await tokens.authenticate(requestWith(old))).toBeDefined();
  await issuer.rotate("k1");
  expect(await scopes()).toBeUndefined(); // the keys were fetched a moment ago
  await clock.advance(30_000);
  const { length } = issuer.asked;
  expect(await Promise.all([scopes(), scopes(), scopes()])).toEqual(Array.from({ length: 3 }, () => ["read", "execute"]));
  expect(await tokens.authenticate(requestWith(old))).toBeUndefined();
  for (let times = 0; times < 100; times++) await tokens.authenticate(requestWith(old));
  expect(issuer.asked.slice(length).filter((path) => path === "/keys")).toHaveLength(1);
  await clock.advance(30_000);
  issuer.failure = 500;
  expect(await tokens.authenticate(requestWith(old))).toBeUndefined(); // the known keys decide
  expect(await scopes()).toBeDefined();
});

test("a private key among the published keys verifies no token, and the log says so", async () => {
  const { issuer, scopes, log } = await world();
  await issuer.publishPrivate();
  expect(await scopes()).toBeUndefined();
  expect(log.lines.map(({ message }) => message)).toEqual([
    `Tokens of ${issuer.url} cannot be checked: JSON Web Key Set members must be public keys`,
  ]);
});

/** What a token comes to whose issuer has given no keys yet. */
const UNKNOWN = { code: "unavailable", retryable: true, outcome: "not_started", retryAfterMs: 1_000 };

test("issue 19.5 while an issuer does not answer, known keys still work; without keys, tokens are unavailable, not invalid, logged once", async () => {
  const { issuer, clock, scopes, log } = await world();
  issuer.failure = 500;
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  expect(log.lines.filter(({ message }) => message.includes("cannot be checked"))).toHaveLength(1);
  expect(issuer.asked).toHaveLength(2); // for both tokens together: anybody can send any number of them
  issuer.failure = undefined;
  await clock.advance(1_000);
  expect(await scopes()).toBeDefined();
  issuer.failure = 500;
  await clock.advance(700_000);
  expect(await scopes()).toBeDefined();
});

test("issue 19.5 a token of another issuer causes no request to this issuer", async () => {
  const [one, other] = [await world(), await world()];
  expect(await one.tokens.authenticate(requestWith(await other.issuer.token()))).toBeUndefined();
  expect(one.issuer.asked).toEqual([]);
});

test("issue 19.5 a token that does not name its key is checked with each published key that fits", async () => {
  const { issuer, log, scopes } = await world();
  const own = await issuer.publishUnnamed();
  const stranger = await generateKeyPair("ES256");
  const unnamed: object = { kid: undefined };
  for (const key of own) expect(await scopes({ header: unnamed, key })).toBeDefined();
  expect(await scopes({ header: unnamed, key: stranger.privateKey })).toBeUndefined();
  expect(log.lines).toEqual([]); // a wrong token is no fault of the issuer
});

test("E04 a token whose claims are nested too deeply is rejected, and the log does not say that the issuer's keys failed", async () => {
  const { scopes, log } = await world();
  const deep: unknown = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`);
  expect(await scopes({ claims: { deep } })).toBeUndefined();
  expect(log.lines.filter(({ level }) => level === "warn")).toEqual([]);
});

test("D12 metadata that names another issuer is not used", async () => {
  const { issuer, scopes, log } = await world();
  issuer.named = "https://evil.example";
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  expect(issuer.asked).not.toContain("/keys");
  expect(JSON.stringify(log.lines)).toContain("names another issuer");
});

test("keys are not fetched over plain http, where the response could be changed", async () => {
  const { issuer, scopes, log } = await world();
  issuer.keysAt = "http://keys.example/keys";
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  expect(JSON.stringify(log.lines)).toContain("The jwks_uri of the issuer must be an https address");
});

test("F02 keys of an issuer in a private network are not fetched unless allowPrivate names it, and the log says so", async () => {
  const { issuer, scopes, log } = await world({}, []);
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  expect(issuer.asked).toEqual([]);
  expect(log.lines.map(({ message }) => message).join()).toContain(`list "${issuer.host}" in allowPrivate`);
});

test("the log says why an issuer's keys could not be fetched", async () => {
  const { issuer, scopes, log } = await world();
  await issuer.stop();
  await expect(scopes()).rejects.toMatchObject(UNKNOWN);
  expect(log.lines.map(({ message }) => message).join()).toContain(
    `Tokens of ${issuer.url} cannot be checked: No connection to ${issuer.host}: nothing accepts connections there (ECONNREFUSED).`,
  );
});

test("issue 19.5 scopes come from the configured claim and mapping; unknown ones grant nothing", async () => {
  const { scopes } = await world({ scopeClaim: "scp", scopes: { "tools.use": ["read", "execute"] } });
  expect(await scopes({ claims: { scp: ["tools.use", "admin", 7] } })).toEqual(["read", "execute"]);
  expect(await scopes({ claims: { scp: "admin toString constructor __proto__" } })).toEqual([]);
  expect(await scopes({ claims: { scp: { read: true } } })).toEqual([]);
});

test.each<[Partial<IssuerTokensOptions>, string]>([
  [{ algorithms: ["HS256"] }, "must be asymmetric, such as ES256"],
  [{ algorithms: ["none"] }, "must be asymmetric, such as ES256"],
  [{ algorithms: [] }, "must be asymmetric, such as ES256"],
  [{ audience: "" }, "needs an audience"],
  [{ audience: [] }, "needs an audience"],
  [{ issuer: "http://login.example" }, "The issuer of tokens must be an https address"],
  [{ jwksUrl: "file:///etc/passwd" }, "The jwksUrl of an issuer must be an https address"],
  [{ clockToleranceSeconds: 601 }, "clockToleranceSeconds is 601"],
  [{ scopes: { a: ["root" as "read"] } }, 'The scope "a"'],
])("issue 19.5 an issuer with %j is rejected before anything is fetched", async (options, message) => {
  const wrong = { code: "invalid_argument", message: expect.stringContaining(message) };
  await expect(world(options)).rejects.toMatchObject(wrong);
});
