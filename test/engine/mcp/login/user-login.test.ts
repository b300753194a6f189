/** Users of a gateway log in to a server behind it, each for himself, against an authorization server that is not ours. */
import { mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { UserLogins, mcpToolset } from "../../../../src/engine/mcp.ts";
import { createRuntime } from "../../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../../src/testing/fake-ports.ts";
import { authorizationServer, ticketServer } from "./authorization-server.ts";
import { Browser } from "./browser.ts";
import { ADDRESS, gateway } from "./gateway.ts";

test("issue 19.7 two users log in at the URLs in their errors, and each call uses its own user's token", async () => {
  const { authority, tickets, runtime, call, said } = await gateway();
  expect(runtime.registry.names("tickets")).toEqual(["tickets::login"]);
  for (const [user, account] of [
    ["user-1", "ada"],
    ["user-2", "grace"],
  ] as const) {
    const refused = await call(user, user === "user-1" ? "tickets::login" : "tickets::whoami");
    expect(refused).toContain("permission_denied");
    const [address = ""] = ADDRESS.exec(refused) ?? [];
    const page = await new Browser(account).logIn(address);
    expect([page.status, page.text.includes(`${user} is logged in to tickets`)]).toEqual([200, true]);
    await runtime.refresh();
    expect(runtime.registry.names("tickets")).toEqual(["tickets::whoami"]);
    expect(await call(user)).toBe(account);
  }
  expect(await Promise.all([call("user-1"), call("user-2"), call("user-1")])).toEqual(["ada", "grace", "ada"]);
  expect(await call("user-3")).toContain("permission_denied");

  const senders = new Map(tickets.calls.map(({ account, token }) => [token, account]));
  expect([...senders.values()].toSorted()).toEqual(["ada", "grace"]);
  for (const token of authority.given) expect(said().includes(token)).toBe(false);
  const [first] = authority.asked;
  expect([first?.get("grant_type"), first?.get("resource"), (first?.get("code_verifier") ?? "").length > 42]).toEqual([
    "authorization_code",
    tickets.url,
    true,
  ]);
});

test("issue 19.7 an expired token is renewed once for all calls of its user, and a revoked login is requested again", async () => {
  const { authority, logins, call, logIn, pass } = await gateway();
  await logIn("user-1", "ada");
  expect(await call("user-1")).toBe("ada");
  await authority.end("ada", ["AccessToken"]);
  const before = authority.asked.length;
  expect(await Promise.all([call("user-1"), call("user-1"), call("user-1")])).toEqual(["ada", "ada", "ada"]);
  expect(authority.asked.slice(before).map((body) => body.get("grant_type"))).toEqual(["refresh_token"]);

  pass(60_000);
  await authority.end("ada", ["AccessToken", "RefreshToken"]);
  expect(await call("user-1")).toMatch(ADDRESS);
  expect(await logins.list("user-1")).toEqual([{ server: "tickets", loggedIn: false }]);
  await logIn("user-1", "ada");
  expect(await call("user-1")).toBe("ada");
});

test("issue 19.7 logging out deletes the user's token here and revokes it at the authorization server", async () => {
  const { authority, logins, call, logIn } = await gateway();
  await logIn("user-1", "ada");
  await logIn("user-2", "grace");
  const refresh = authority.given[1] ?? "";
  expect(await authority.isValid(refresh)).toBe(true);
  expect(await logins.logout("tickets", "user-1")).toBe(true);
  expect(await authority.isValid(refresh)).toBe(false);
  expect(await logins.logout("tickets", "user-1")).toBe(false);
  expect([await call("user-1"), await call("user-2")]).toEqual([expect.stringMatching(ADDRESS), "grace"]);
});

test("issue 19.7 a wrong state, a reused callback, another browser or a foreign origin completes no login", async () => {
  const { logins, addressOf } = await gateway();
  const browser = new Browser("ada");
  const address = await addressOf("user-1");
  const callback = await browser.logIn(address, { stop: (url) => url.pathname === "/upstreams/callback" });
  expect(callback.url.searchParams.get("code")).toBeDefined();
  const changed = (name: string, value: string): URL => {
    const url = new URL(callback.url);
    url.searchParams.set(name, value);
    return url;
  };
  expect((await browser.open(changed("state", "x".repeat(43)))).status).toBe(400);
  expect((await new Browser("ada").open(callback.url)).status).toBe(403);
  expect((await browser.open(address, { method: "POST", origin: "http://evil.example" })).status).toBe(403);
  expect((await browser.open(address, { method: "POST", origin: "null" })).status).toBe(403);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
  expect((await browser.open(callback.url)).status).toBe(200);
  expect((await browser.open(callback.url)).status).toBe(400);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
});

test("issue 19.7 a callback from another authorization server is rejected before its code is sent anywhere", async () => {
  const { authority, logins, addressOf, said } = await gateway();
  const browser = new Browser("ada");
  const callback = await browser.logIn(await addressOf("user-1"), { stop: (url) => url.pathname === "/upstreams/callback" });
  const mixed = new URL(callback.url);
  mixed.searchParams.set("iss", "http://evil.example");
  const page = await browser.open(mixed);
  expect([page.status, page.text.includes("failed")]).toEqual([400, true]);
  expect(authority.asked).toEqual([]);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
  expect(said().includes(callback.url.searchParams.get("code") ?? "-")).toBe(false);
});

test("issue 19.7 users are sent only to the configured authorization server", async () => {
  const elsewhere = await authorizationServer();
  const { call } = await gateway({ auth: { issuer: "https://login.example" } });
  expect(await call("user-1", "tickets::login")).toContain("only https://login.example is trusted");
  const { call: other } = await gateway({ auth: { issuer: elsewhere.issuer }, names: elsewhere.issuer });
  expect(await other("user-1", "tickets::login")).toMatch(ADDRESS);
});

test("issue 19.7 a login expires after loginMs", async () => {
  const { addressOf, logins, pass } = await gateway({ logins: { loginMs: 60_000 } });
  const address = await addressOf("user-1");
  pass(60_001);
  expect((await new Browser("ada").logIn(address)).status).toBe(400);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
});

test("issue 19.7 a login call that waits while its user logs in succeeds", async () => {
  const { runtime } = await gateway();
  const asked: string[] = [];
  const result = await runtime.execute(
    { name: "tickets::login", input: {} },
    {
      data: { principal: { id: "user-1" } },
      ask: ({ url = "", message }) => {
        asked.push(message);
        void new Browser("ada").logIn(url);
        return { action: "accept" };
      },
    },
  );
  expect([asked, resultText(result)]).toEqual([["The server tickets wants you to log in."], "You are logged in: look at the tools again."]);
});

test("issue 19.7 tokens in a folder outlive the process, in files readable only by the owner whose names do not contain the user", async () => {
  const folder = join(await mkdtemp(join(tmpdir(), "haft-")), "logins");
  const first = await gateway({ logins: { folder } });
  await new Browser("ada").logIn(await first.addressOf("user-1"));
  await first.runtime.close();
  const files = await readdir(folder);
  for (const file of files) {
    const path = join(folder, file);
    expect([file.includes("user-1"), ((await stat(path)).mode & 0o777).toString(8)]).toEqual([false, "600"]);
  }
  expect(((await stat(folder)).mode & 0o777).toString(8)).toBe("700");
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), "utf8")));
  expect(texts.some((text) => text.includes(first.authority.given[0] ?? "-"))).toBe(true);

  const allowPrivate = [new URL(first.authority.issuer).host];
  const again = new UserLogins({ origin: "http://127.0.0.1:1", folder });
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: first.tickets.url, auth: { type: "user-login", logins: again }, allowPrivate })],
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  expect(runtime.registry.names("tickets")).toEqual(["tickets::whoami"]);
  const result = await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "user-1" } } });
  expect(resultText(result)).toBe("ada");
});

/** A runtime whose users' tokens are exchanged by an authorization server. */
async function exchangingRuntime() {
  const client = {
    client_id: "gateway",
    client_secret: "a-secret-of-the-gateway",
    redirect_uris: [],
    response_types: [],
    grant_types: ["urn:ietf:params:oauth:grant-type:token-exchange", "client_credentials"],
  };
  const authority = await authorizationServer({ clients: [client] });
  const tickets = await ticketServer(authority);
  const log = new MemoryLog();
  const own = { issuer: authority.issuer, clientId: "gateway", clientSecret: "a-secret-of-the-gateway" };
  const auth = {
    type: "token-exchange",
    ...own,
    listWith: { type: "client-credentials", ...own, scope: "tickets" },
    subjectToken: (user: string) => {
      if (user === "local") throw new Error("nobody is known here");
      return user === "mallory" ? "stolen" : `id-of-${user}`;
    },
  } as const;
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: tickets.url, auth, allowPrivate: [new URL(authority.issuer).host] })],
    ports: { log },
    maxAttempts: 1,
  });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  const call = (user?: string) =>
    runtime.execute({ name: "tickets::whoami", input: {} }, user === undefined ? {} : { data: { principal: { id: user } } });
  return { authority, log, call };
}

test("issue 19.7 where users cannot log in, their tokens are exchanged, each for a token of that user", async () => {
  const { authority, log, call } = await exchangingRuntime();
  const said = async (user?: string): Promise<string> => resultText(await call(user));
  expect(await Promise.all([said("ada"), said("grace"), said("ada")])).toEqual(["ada", "grace", "ada"]);
  expect(await said()).toContain("nobody is known here");
  for (const token of authority.given) expect(JSON.stringify(log.lines).includes(token)).toBe(false);
});

const UNUSABLE = JSON.stringify({ access_token: "two\nlines", token_type: "Bearer", issued_token_type: "t" });

test.each([
  { status: 503, body: "down" },
  { status: 400, body: '{"error":"temporarily_unavailable"}' },
  { status: 200, body: UNUSABLE },
  "cut",
] as const)("issue 19.7 an exchange that fails temporarily by %j is retryable, and the next call succeeds", async (how) => {
  const { authority, call } = await exchangingRuntime();
  authority.fail(how);
  const { error } = await call("ada");
  expect(error).toMatchObject({ code: "unavailable", retryable: true, outcome: "not_started" });
  expect(error?.message).toContain("could not be exchanged now");
  authority.fail(undefined);
  expect(resultText(await call("ada"))).toBe("ada");
});

test("issue 19.7 a rejected exchange is reported as such and is not retryable", async () => {
  const { call } = await exchangingRuntime();
  const { error } = await call("mallory");
  expect(error).toMatchObject({ code: "unavailable", retryable: false, outcome: "not_started" });
  expect(error?.message).toContain("could not be opened: The token of the user was not exchanged: ");
  expect(error?.message).not.toContain("stolen");
});

test("issue 19.7 invalid login settings throw at once", () => {
  const url = "https://tickets.example/mcp";
  const logins = new UserLogins({ origin: "https://tools.example" });
  expect(() => new UserLogins({ origin: "tools.example" })).toThrow("is not an origin that logins can return to");
  expect(() => mcpToolset("t", { url, auth: { type: "user-login", logins, clientId: "a", clientSecret: "b" } })).toThrow(
    "auth.clientSecret needs",
  );
  expect(() => mcpToolset("t", { url, auth: { type: "user-login", logins: {} as never } })).toThrow("auth.logins must be");
});
