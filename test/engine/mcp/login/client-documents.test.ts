/** Clients whose id is the address of a document that describes them, at an authorization server that reads it. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { createRuntime } from "../../../../src/runtime/runtime.ts";
import { UserLogins, mcpEngine, mcpToolset, type McpUserLoginAuth } from "../../../../src/engine/mcp.ts";
import type { AuthorizationServerOptions } from "./authorization-server.ts";
import { Browser } from "./browser.ts";
import { selectClientDocument } from "../../../../src/engine/mcp/login/client-document.ts";
import { freePort, gateway, type Gateway } from "./gateway.ts";

const ORIGIN = "https://tools.example";
const DOCUMENT = `${ORIGIN}/upstreams/client.json`;

interface Front extends Gateway {
  readonly browser: Browser;
  /** The addresses of documents that were read. */
  readonly read: readonly string[];
}

/** A gateway behind a proxy that has its https address. */
async function front(
  auth: Partial<McpUserLoginAuth>,
  authority: AuthorizationServerOptions = {},
  logins: { readonly folder?: string } = {},
): Promise<Front> {
  const port = await freePort();
  const own = `http://127.0.0.1:${port}`;
  const read: string[] = [];
  const documents = (address: string): Promise<Response> => {
    read.push(address);
    return fetch(address.replace(ORIGIN, own));
  };
  const allowedOrigins = [ORIGIN];
  const served = await gateway({
    port,
    allowedOrigins,
    auth,
    authority: { documents, ...authority },
    logins: { origin: ORIGIN, ...logins },
  });
  return { ...served, read, browser: new Browser("ada", { [ORIGIN]: own }) };
}

const clientsOf = ({ visited }: Browser): readonly (string | null)[] =>
  visited.filter(({ pathname }) => pathname === "/auth").map(({ searchParams }) => searchParams.get("client_id"));

test("an authorization server that supports client metadata documents gets the URL of the gateway's own, and no client is registered", async () => {
  const { browser, addressOf, call, authority, read, runtime, logins } = await front({ clientMetadataUrl: DOCUMENT }, { registers: false });
  expect((await browser.logIn(await addressOf("user-1"))).status).toBe(200);
  await runtime.refresh();
  expect(await call("user-1")).toBe("ada");
  expect([clientsOf(browser), new Set(read)]).toEqual([[DOCUMENT], new Set([DOCUMENT])]);
  await authority.end("ada", ["AccessToken"]);
  expect(await call("user-1")).toBe("ada");
  expect(authority.asked.map((body) => [body.get("grant_type"), body.get("client_id")])).toEqual([
    ["authorization_code", DOCUMENT],
    ["refresh_token", DOCUMENT],
  ]);
  const token = authority.given.at(-1) ?? "";
  expect(await authority.isValid(token)).toBe(true);
  expect(await logins.logout("tickets", "user-1")).toBe(true);
  expect(await authority.isValid(token)).toBe(false);
});

test("a client is registered if the authorization server does not support metadata documents", async () => {
  const { browser, addressOf, call, runtime } = await front({ clientMetadataUrl: DOCUMENT }, { documents: undefined });
  expect((await browser.logIn(await addressOf("user-1"))).status).toBe(200);
  await runtime.refresh();
  expect(await call("user-1")).toBe("ada");
  expect(clientsOf(browser)).toEqual([expect.not.stringContaining(ORIGIN)]);
});

test("a configured client takes precedence over any other", async () => {
  const client = { client_id: "gateway", redirect_uris: [`${ORIGIN}/upstreams/callback`], token_endpoint_auth_method: "none" };
  const { browser, addressOf, read } = await front(
    { clientId: "gateway" },
    { clients: [{ ...client, grant_types: ["authorization_code"] }] },
  );
  expect((await browser.logIn(await addressOf("user-1"))).status).toBe(200);
  expect([clientsOf(browser), read]).toEqual([["gateway"], []]);
});

test("a token is renewed with the client that obtained it, and a new login uses the metadata document", async () => {
  const folder = await mkdtemp(join(tmpdir(), "haft-"));
  const before = await front({}, {}, { folder });
  const { browser, authority, tickets } = before;
  expect((await browser.logIn(await before.addressOf("user-1"))).status).toBe(200);
  // The same pages and tokens, once the configuration has a document.
  const logins = new UserLogins({ origin: ORIGIN, folder });
  before.logins.response = (request) => logins.response(request);
  const auth = { type: "user-login", logins, clientMetadataUrl: DOCUMENT } as const;
  const allowPrivate = [new URL(authority.issuer).host];
  const runtime = createRuntime({ toolsets: [mcpToolset("tickets", { url: tickets.url, auth, allowPrivate })] });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const call = async (): Promise<string> =>
    resultText(await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "user-1" } } }));
  await authority.end("ada", ["AccessToken"]);
  expect(await call()).toBe("ada");
  expect(clientsOf(browser)).toHaveLength(1);
  await authority.end("ada", ["AccessToken", "RefreshToken"]);
  expect(await call()).toContain("permission_denied");
  expect((await browser.logIn(await logins.begin("tickets", "user-1"))).status).toBe(200);
  expect(clientsOf(browser).slice(1)).toEqual([DOCUMENT]);
  expect(await call()).toBe("ada");
});

test("a gateway's document is not used for logins on the pages of another process, whose URL it does not contain", async () => {
  const other = await gateway({ auth: { clientMetadataUrl: DOCUMENT }, authority: { documents: () => Promise.resolve(new Response("")) } });
  const browser = new Browser("ada");
  expect((await browser.logIn(await other.addressOf("user-1"))).status).toBe(200);
  expect(clientsOf(browser)).toEqual([expect.not.stringContaining(ORIGIN)]);
});

test("without a document, a registration or a configured client, the error names the settings that would work", async () => {
  const { runtime, logins } = await front({}, { registers: false });
  await expect(logins.begin("tickets", "user-1")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/: The authorization server http:\S+ does not register clients automatically\.$/u),
    operatorHint:
      "Set clientId in auth of the server to a client that is registered there, or clientMetadataUrl to the address of a client's metadata document.",
  });
  const result = await runtime.execute({ name: "tickets::login", input: {} }, { data: { principal: { id: "user-1" } } });
  expect(resultText(result)).toContain("does not register clients automatically");
});

test("the login pages serve a metadata document of their client if their origin is https", async () => {
  const https = new UserLogins({ origin: ORIGIN });
  const response = await https.response(new Request(DOCUMENT));
  expect([response?.status, response?.headers.get("content-type"), await response?.json()]).toEqual([
    200,
    "application/json",
    {
      client_id: DOCUMENT,
      client_name: "haft",
      client_uri: ORIGIN,
      redirect_uris: [`${ORIGIN}/upstreams/callback`],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
  ]);
  expect(await new UserLogins({ origin: "http://127.0.0.1:1" }).response(new Request(DOCUMENT))).toBeUndefined();
  expect(await https.response(new Request(DOCUMENT, { method: "POST" }))).toBeUndefined();
});

test.each([
  ["http://tools.example/client.json", "is not an https address"],
  ["tools.example", "is not an https address"],
  ["https://tools.example/", "is an address without a path"],
  ["https://me:secret@tools.example/client.json", "is an address with a name or password"],
  ["https://tools.example/client.json#", "is an address with a fragment"],
  ["https://tools.example/a/../client.json", "is not written as https://tools.example/client.json"],
  ["https://tools.example/a/%2E%2e/client.json", "is not written as https://tools.example/client.json"],
  ["https://Tools.example/client.json", "is not written as https://tools.example/client.json"],
])("%s is rejected as the URL of a metadata document: it %s", (clientMetadataUrl, reason) => {
  const logins = new UserLogins();
  const make = (): unknown => mcpEngine({ url: "https://tickets.example/mcp", auth: { type: "user-login", logins, clientMetadataUrl } });
  expect(make).toThrow(`auth.clientMetadataUrl ${reason}: it takes the https address of a client's metadata document`);
  expect(make).not.toThrow("secret");
});

test("the document of pages below a path contains that path, and is used only for logins on these pages", async () => {
  const logins = new UserLogins({ origin: ORIGIN });
  logins.setBasePath("/haft");
  const below = `${ORIGIN}/haft/upstreams`;
  const page = await logins.response(new Request(DOCUMENT)); // the server has removed the path
  expect(await page?.json()).toMatchObject({
    client_id: `${below}/client.json`,
    client_uri: `${ORIGIN}/haft`,
    redirect_uris: [`${below}/callback`],
  });
  const own = `${below}/client.json`;
  const documents = [own, DOCUMENT, "https://other.example/haft/upstreams/client.json", `${ORIGIN}/client.json`];
  expect(documents.map((address) => selectClientDocument(address, own))).toEqual([own, undefined, undefined, `${ORIGIN}/client.json`]);
});

test("a configured client and a metadata document cannot be combined", () => {
  const auth = { type: "user-login", logins: new UserLogins(), clientId: "a", clientMetadataUrl: DOCUMENT } as const;
  expect(() => mcpEngine({ url: "https://tickets.example/mcp", auth })).toThrow("auth.clientId and auth.clientMetadataUrl are both given");
});
