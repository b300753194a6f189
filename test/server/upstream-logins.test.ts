/** Two users of a server log in to an MCP server behind it, from official MCP clients and over the API, each with an account of their own. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Client } from "@modelcontextprotocol/client";
import { systemPorts } from "../../src/core/system/system-ports.ts";
import { UserLogins, mcpToolset } from "../../src/engine/mcp.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { createServer } from "../../src/server/create-server.ts";
import { openServerAccess } from "../../src/server/auth/server-access.ts";
import { staticToken } from "../../src/server/auth/static-token.ts";
import { MemoryLog } from "../../src/testing/fake-ports.ts";
import {
  authorizationServer,
  ticketServer,
  type AuthorizationServer,
  type TicketServer,
} from "../engine/mcp/login/authorization-server.ts";
import { Browser, type Page } from "../engine/mcp/login/browser.ts";
import { ERAS, overHttp, type Era } from "./mcp-clients.ts";
import { inCI } from "../ci.ts";

/** Users of the server, and their accounts at the authorization server. */
const ACCOUNTS = { one: "ada", two: "grace" } as const;
type User = keyof typeof ACCOUNTS | "outsider";

const tokenOf = (user: User): string => `the-secret-of-${user}`;

interface Scene {
  readonly authority: AuthorizationServer;
  readonly tickets: TicketServer;
  readonly url: string;
  client(user: User, era: Era, capabilities?: object): Promise<Client>;
  /** Resolves when a user's list of the upstream's tools is that of the gateway. */
  toolsListed(): Promise<void>;
  ask(user: User, method: string, path: string): Promise<{ readonly status: number; readonly json: Json }>;
}

// A test looks at what it expects.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

async function scene(): Promise<Scene> {
  const authority = await authorizationServer();
  const tickets = await ticketServer(authority);
  const log = new MemoryLog();
  const folder = join(await mkdtemp(join(tmpdir(), "haft-")), "logins");
  const logins = new UserLogins({ folder, ports: { log } });
  const allowPrivate = [new URL(authority.issuer).host];
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: tickets.url, auth: { type: "user-login", logins }, allowPrivate })],
    ports: { log },
  });
  onTestFinished(async () => void (await runtime.close()));
  await runtime.open();
  const users: readonly User[] = ["one", "two", "outsider"];
  const others = users.map((id) => staticToken({ token: tokenOf(id), id }));
  const rules = [{ principals: Object.keys(ACCOUNTS), allow: ["*"] }];
  const auth = await openServerAccess({ others, rules }, { ...systemPorts, log });
  const server = createServer(runtime, { auth, logins, limits: { graceMs: 0 }, ports: { log } });
  onTestFinished(() => server.close());
  const { url } = await server.listen({ port: 0 });
  logins.setOrigin(url);
  const headersOf = (user: User): Record<string, string> => ({ authorization: `Bearer ${tokenOf(user)}` });
  return {
    authority,
    tickets,
    url,
    client: (user, era, capabilities = { elicitation: { form: {}, url: {} } }) =>
      overHttp(`${url}/mcp`, { era, capabilities, headers: headersOf(user) }),
    toolsListed: () => vi.waitFor(() => expect(runtime.registry.names("tickets")).toEqual(["tickets::whoami"])),
    async ask(user, method, path) {
      const response = await fetch(`${url}${path}`, { method, headers: headersOf(user) });
      const text = await response.text();
      return { status: response.status, json: text === "" ? undefined : JSON.parse(text) };
    },
  };
}

interface Answer {
  readonly isError?: boolean | undefined;
  readonly text: string;
}

async function call(client: Client, name: string): Promise<Answer> {
  const { isError, content } = await client.callTool({ name, arguments: {} });
  return { isError, text: JSON.stringify(content) };
}

/** Answers the server's questions as a person does who opens the page and logs in. */
function opensPages(client: Client, account: string): { readonly asked: Record<string, unknown>[]; readonly pages: Promise<Page>[] } {
  const asked: Record<string, unknown>[] = [];
  const pages: Promise<Page>[] = [];
  client.setRequestHandler("elicitation/create", ({ params }) => {
    asked.push({ ...params });
    pages.push(new Browser(account).logIn(String((params as { readonly url?: string }).url)));
    return { action: "accept" };
  });
  return { asked, pages };
}

test.each(inCI ? ERAS : ERAS.slice(0, 1))(
  "issue 19.7 a %s client shows its user the login page, and the waiting call is answered with that user's data",
  async (era) => {
    const { authority, tickets, url, client, toolsListed } = await scene();
    for (const user of ["one", "two"] as const) {
      const account = ACCOUNTS[user];
      const connected = await client(user, era);
      const { asked, pages } = opensPages(connected, account);
      const names = (await connected.listTools()).tools.map(({ name }) => name);
      const first = await call(connected, names.includes("tickets__login") ? "tickets__login" : "tickets__whoami");
      expect(asked).toEqual([
        {
          mode: "url",
          message: "The server tickets wants you to log in.",
          url: expect.stringContaining(`${url}/upstreams/login?id=`),
          ...(era === "legacy" ? { elicitationId: expect.any(String) } : {}),
        },
      ]);
      const [page] = await Promise.all(pages);
      expect([page?.status, page?.text.includes(`${user} is logged in to tickets`)]).toEqual([200, true]);
      expect(first).toEqual({ isError: undefined, text: expect.stringMatching(user === "one" ? /look at the tools again/u : /grace/u) });
      await toolsListed();
      expect((await call(connected, "tickets__whoami")).text).toContain(account);
    }
    const [one, two] = [await client("one", era), await client("two", era)];
    const answers = await Promise.all([one, two, one, two].map((connected) => call(connected, "tickets__whoami")));
    expect(answers.map(({ text }) => /ada|grace/u.exec(text)?.[0])).toEqual(["ada", "grace", "ada", "grace"]);
    const accounts = new Map(tickets.calls.map(({ token, account }) => [token, account]));
    expect([...accounts.values()].toSorted()).toEqual(["ada", "grace"]);
    expect(authority.asked.map((body) => body.get("grant_type"))).toEqual(["authorization_code", "authorization_code"]);
  },
);

test.each(ERAS)("issue 19.7 a %s client that cannot show pages gets the login URL, and its calls work after the login", async (era) => {
  const { client, ask, toolsListed } = await scene();
  const connected = await client("one", era, {});
  const refused = await call(connected, "tickets__login");
  const [address = ""] = /http:[^"\\ ]+\/upstreams\/login\?id=[\w-]+/u.exec(refused.text) ?? [];
  expect([refused.isError, address]).toEqual([true, expect.stringContaining("/upstreams/login?id=")]);
  expect((await ask("one", "POST", "/v1/upstreams/tickets/login")).json).toEqual({ state: "login-wanted", address });
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  await toolsListed();
  expect((await call(connected, "tickets__whoami")).text).toContain("ada");
  const other = await client("two", era, {});
  expect((await call(other, "tickets__whoami")).text).toContain("permission_denied");
});

test("issue 19.7 the API shows each user their own login state, and logs out only that user", async () => {
  const { authority, ask } = await scene();
  const states = async (user: User): Promise<Json> => (await ask(user, "GET", "/v1/upstreams")).json.upstreams;
  for (const user of ["one", "two"] as const) {
    expect(await states(user)).toEqual([{ name: "tickets", state: "login-wanted" }]);
    const { json: begun } = await ask(user, "POST", "/v1/upstreams/tickets/login");
    expect(begun).toEqual({ state: "login-wanted", address: expect.stringContaining("/upstreams/login?id=") });
    expect((await ask(user, "POST", "/v1/upstreams/tickets/login")).json).toEqual(begun); // the login that has begun, and no other
    expect((await new Browser(ACCOUNTS[user]).logIn(begun.address)).status).toBe(200);
    expect(await states(user)).toEqual([{ name: "tickets", state: "logged-in" }]);
    expect((await ask(user, "POST", "/v1/upstreams/tickets/login")).json).toEqual({ state: "logged-in" });
  }
  const [, refresh = ""] = authority.given;
  expect((await ask("one", "DELETE", "/v1/upstreams/tickets/login")).status).toBe(204);
  expect(await authority.isValid(refresh)).toBe(false);
  expect((await ask("one", "DELETE", "/v1/upstreams/tickets/login")).status).toBe(204);
  expect([(await states("one"))[0].state, (await states("two"))[0].state]).toEqual(["login-wanted", "logged-in"]);
});

test("issue 19.7 an upstream without a tool for its caller returns 404, and a misspelt name suggests the right one", async () => {
  const { ask } = await scene();
  expect((await ask("outsider", "GET", "/v1/upstreams")).json).toEqual({ upstreams: [] });
  for (const method of ["POST", "DELETE"]) expect((await ask("outsider", method, "/v1/upstreams/tickets/login")).status).toBe(404);
  const { status, json } = await ask("one", "DELETE", "/v1/upstreams/tickts/login");
  expect([status, json.code, json.hint]).toEqual([404, "not_found", 'Did you mean "tickets"?']);
});

test("issue 19.7 an unreachable authorization server is reported to those who log in, and the list works without it", async () => {
  const { authority, ask } = await scene();
  await authority.stop();
  expect((await ask("one", "GET", "/v1/upstreams")).json).toEqual({ upstreams: [{ name: "tickets", state: "login-wanted" }] });
  const { status, json } = await ask("one", "POST", "/v1/upstreams/tickets/login");
  expect([status, json.code, json.detail]).toEqual([
    502,
    "network_error",
    expect.stringContaining('No login to MCP server "tickets" could be started'),
  ]);
});
