/** The scopes that are asked for: those of the configuration, else those that a server names, and more where it wants more. */
import { expect, onTestFinished, test } from "vitest";
import { mcpToolset, type McpOwnAuth } from "../../../../src/engine/mcp.ts";
import { createRuntime } from "../../../../src/runtime/runtime.ts";
import { widenScope } from "../../../../src/engine/mcp/login/login-tokens.ts";
import { resultText } from "../../../../src/core/result.ts";
import { authorizationServer, ticketServer } from "./authorization-server.ts";
import { Browser } from "./browser.ts";
import { ADDRESS, gateway } from "./gateway.ts";

const scopesOf = (url: URL): readonly string[] => (url.searchParams.get("scope") ?? "").split(" ").toSorted();

async function authorizationOf(address: string): Promise<URL> {
  const browser = new Browser("ada");
  const { url } = await browser.logIn(address, { stop: ({ pathname }) => pathname === "/auth" });
  return url;
}

const OFFERED = ["tickets", "tickets:admin"];

test("users are asked only for the configured scopes, whatever else a server offers", async () => {
  const all = await gateway({ tickets: { offers: OFFERED } });
  expect(scopesOf(await authorizationOf(await all.addressOf("user-1")))).toEqual(expect.arrayContaining(OFFERED));
  const { call, addressOf } = await gateway({ auth: { scope: "tickets" }, tickets: { offers: OFFERED } });
  const [address = ""] = ADDRESS.exec(await call("user-2", "tickets::login")) ?? [];
  for (const each of [await addressOf("user-1"), address]) expect(scopesOf(await authorizationOf(each))).not.toContain("tickets:admin");
});

test("a call that needs another scope asks its user for it in addition to the granted ones, and succeeds once it is granted", async () => {
  const needed = { scope: "tickets" };
  const { authority, logins, tickets, call, logIn } = await gateway({ tickets: { offers: ["tickets"], needed } });
  await logIn("user-1", "ada");
  expect(await call("user-1")).toBe("ada");
  needed.scope = "tickets:write";
  const refused = await call("user-1");
  expect(refused).toContain("permission_denied");
  expect(refused).toContain("tickets:write");
  const [address = ""] = ADDRESS.exec(refused) ?? [];
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  expect(scopesOf(await authorizationOf(address))).toEqual(expect.arrayContaining(["tickets", "tickets:write"]));
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  expect(await call("user-1")).toBe("ada");
  needed.scope = "tickets";
  const before = authority.asked.length;
  expect(await call("user-1")).toBe("ada");
  expect(authority.asked.slice(before)).toEqual([]);
  expect(new Set(tickets.calls.map(({ account }) => account))).toEqual(new Set(["ada"]));
});

test("a call that is rejected just after its user granted the scope is sent again with the new token", async () => {
  const needed = { scope: "tickets", beforeRefusal: (): Promise<void> => Promise.resolve() };
  const { call, logIn } = await gateway({ tickets: { offers: ["tickets"], needed } });
  await logIn("user-1", "ada");
  needed.scope = "tickets:write";
  const [address = ""] = ADDRESS.exec(await call("user-1")) ?? [];
  const isRefused = Promise.withResolvers<void>();
  const isAllowed = Promise.withResolvers<void>();
  needed.beforeRefusal = () => (isRefused.resolve(), isAllowed.promise);
  const second = call("user-1");
  await isRefused.promise;
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  isAllowed.resolve();
  expect(await second).toBe("ada");
});

test("a scope that was requested but not granted is named by the call, and not requested again until the user logs in again", async () => {
  const needed = { scope: "tickets" };
  const { call, logIn, logins } = await gateway({ authority: { withheld: "tickets:write" }, tickets: { offers: ["tickets"], needed } });
  await logIn("user-1", "ada");
  needed.scope = "tickets:write";
  const [address = ""] = ADDRESS.exec(await call("user-1")) ?? [];
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  for (let calls = 0; calls < 2; calls++) {
    const refused = await call("user-1");
    expect(refused).toMatch(/permission_denied.*tickets:write.*did not grant/su);
    expect(refused).not.toMatch(ADDRESS);
  }
  needed.scope = "tickets";
  expect(await call("user-1")).toBe("ada");
  await logins.logout("tickets", "user-1");
  await logIn("user-1", "ada");
  needed.scope = "tickets:write";
  expect(await call("user-1")).toMatch(ADDRESS);
});

test("the scope for all permissions of a resource is not requested together with single scopes", () => {
  const tokens = { access_token: "t", scope: "openid api://id/.default" };
  expect(widenScope(tokens, "api://id/Tools.Use")).toBe("openid api://id/Tools.Use");
  expect(widenScope({ ...tokens, scope: "offline_access api://id/Tools.Read" }, "api://id/.default")).toBe(
    "offline_access api://id/.default",
  );
});

test("a scope that is not configured, or that the token already has, is not requested; the error names what is missing", async () => {
  const needed = { scope: "tickets" };
  const { call, logIn } = await gateway({ auth: { scope: "tickets" }, tickets: { offers: OFFERED, needed } });
  await logIn("user-1", "ada");
  needed.scope = "tickets:admin";
  const refused = await call("user-1");
  expect([ADDRESS.test(refused), refused]).toEqual([false, expect.stringContaining("tickets:admin")]);
  const other = await gateway({ tickets: { offers: ["tickets"], needed: { scope: "tickets", refuses: true } } });
  await other.logIn("user-1", "ada");
  expect(await other.call("user-1")).not.toMatch(ADDRESS);
});

const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

test.each(["client-credentials", "token-exchange"])("a program with %s requests only the configured scopes", async (type) => {
  const own = { clientId: "gateway", clientSecret: "a-secret-of-the-gateway" };
  const client = { client_id: own.clientId, client_secret: own.clientSecret, redirect_uris: [], response_types: [] };
  const authority = await authorizationServer({ clients: [{ ...client, grant_types: [EXCHANGE, "client_credentials"] }] });
  const needed = { scope: "tickets" };
  const { url } = await ticketServer(authority, { offers: OFFERED, needed });
  const program = { type: "client-credentials", issuer: authority.issuer, ...own, scope: "tickets" } satisfies McpOwnAuth;
  const exchange = { ...program, type: "token-exchange", subjectToken: (user: string) => `id-of-${user}`, listWith: program } as const;
  const auth = type === "token-exchange" ? exchange : program;
  const runtime = createRuntime({ toolsets: [mcpToolset("tickets", { url, auth, allowPrivate: [new URL(authority.issuer).host] })] });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "ada" } } });
  expect(new Set(authority.asked.map((body) => body.get("scope")))).toEqual(new Set(["tickets"]));
  needed.scope = "tickets:admin";
  const refused = await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "ada" } } });
  expect([refused.error?.code, resultText(refused)]).toEqual(["permission_denied", expect.stringContaining("HTTP 403")]);
});
