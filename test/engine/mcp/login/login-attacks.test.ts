/** Tokens of users where several processes renew them, another authorization server is named, or a login is refused. */
import { mkdtemp, readdir, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { UserLogins, mcpToolset } from "../../../../src/engine/mcp.ts";
import { createRuntime } from "../../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../../src/testing/fake-ports.ts";
import { Browser } from "./browser.ts";
import { authorizationServer } from "./authorization-server.ts";
import { freePort, gateway, type Gateway } from "./gateway.ts";

const folderOfLogins = async (): Promise<string> => join(await mkdtemp(join(tmpdir(), "haft-")), "logins");

/** Another process with the folder of a gateway. */
async function sharing({ tickets, authority }: Gateway, folder: string, log = new MemoryLog()) {
  const logins = new UserLogins({ folder, ports: { log: new MemoryLog() } });
  const allowPrivate = [new URL(authority.issuer).host];
  const runtime = createRuntime({
    toolsets: [mcpToolset("tickets", { url: tickets.url, auth: { type: "user-login", logins }, allowPrivate })],
    ports: { log },
  });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  const call = async (): Promise<string> =>
    resultText(await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "user-1" } } }));
  return Object.assign(call, { refresh: () => runtime.refresh() });
}

test("two processes that renew a user's token at the same time use its refresh token once, and both continue", async () => {
  const folder = await folderOfLogins();
  const first = await gateway({ logins: { folder } });
  await first.logIn("user-1", "ada");
  const other = await sharing(first, folder);
  expect([await first.call("user-1"), await other()]).toEqual(["ada", "ada"]);
  await first.authority.end("ada", ["AccessToken"]);
  const before = first.authority.asked.length;
  const held = first.authority.hold("/token");
  const calls = [first.call("user-1"), other()];
  await held.arrived;
  await new Promise((resolve) => setTimeout(resolve, 300)); // the other process has found its token refused meanwhile
  held.release();
  expect(await Promise.all(calls)).toEqual(["ada", "ada"]);
  expect(first.authority.asked.slice(before)).toHaveLength(1);
  expect((await readdir(folder)).filter((name) => !name.endsWith(".json"))).toEqual([]);
});

test.each([
  ["is not renewed now", "it answered 503", true],
  ["was revoked", "there is no login", false],
])("a process that starts when a login %s logs why it has no tools of the server, without the token", async (_what, why, isKept) => {
  const folder = await folderOfLogins();
  const first = await gateway({ logins: { folder } });
  await first.logIn("user-1", "ada");
  await first.authority.end("ada", isKept ? ["AccessToken"] : ["AccessToken", "RefreshToken"]);
  if (isKept) first.authority.fail({ status: 503, body: "{}" });
  const log = new MemoryLog();
  const call = await sharing(first, folder, log);
  expect(await call()).toContain("No tool");
  const lines = JSON.stringify(log.lines);
  expect(lines).toContain("lists no tools to users who have logged in");
  expect(lines).toContain(why);
  for (const token of first.authority.given) expect(lines).not.toContain(token);
  first.authority.fail(undefined);
  expect(await (await sharing(first, folder))()).toContain(isKept ? "ada" : "No tool");
});

test("a token renewed while tools were listed is in no log, and the reason for missing tools is logged once", async () => {
  const folder = await folderOfLogins();
  const tickets = { hides: false };
  const first = await gateway({ logins: { folder }, tickets });
  await first.logIn("user-1", "ada");
  await first.authority.end("ada", ["AccessToken"]);
  tickets.hides = true;
  const log = new MemoryLog();
  const call = await sharing(first, folder, log);
  expect(first.authority.given).toHaveLength(4);
  const why = () => log.lines.filter(({ message }) => message.includes("the token [token] may list no tools"));
  expect(why()).toHaveLength(1);
  await call.refresh();
  expect(why()).toHaveLength(1);
  for (const token of first.authority.given) expect(JSON.stringify(log.lines)).not.toContain(token);
  tickets.hides = false;
  await call.refresh();
  expect(await call()).toContain("ada");
});

test("a process that was killed during a renewal does not block others forever", async () => {
  const folder = await folderOfLogins();
  const first = await gateway({ logins: { folder } });
  await first.logIn("user-1", "ada");
  const now = Date.now() / 1_000;
  for (const name of await readdir(folder)) {
    const lock = join(folder, name.replace(/json$/u, "lock"));
    await writeFile(lock, "of a process that is gone");
    await utimes(lock, now - 61, now - 61);
  }
  await first.authority.end("ada", ["AccessToken"]);
  expect(await first.call("user-1")).toBe("ada");
  const left = (await readdir(folder)).filter((name) => !name.endsWith(".json"));
  expect(left).toHaveLength(1); // of the entry of the registered client, which no renewal waits for
});

test("logging out does not send a refresh token to an authorization server that did not issue it", async () => {
  const evil = await authorizationServer();
  const named = { issuer: "" };
  const clients = [{ client_id: "gateway", token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"] }];
  const tickets = {
    get names() {
      return named.issuer;
    },
  };
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const authority = { clients: clients.map((client) => ({ ...client, redirect_uris: [`${origin}/upstreams/callback`] })) };
  const setup = { port, authority, auth: { clientId: "gateway" }, tickets, allowPrivate: [new URL(evil.issuer).host] };
  const { logins, logIn, authority: own, log } = await gateway({ ...setup, onAuthority: (issuer) => void (named.issuer = issuer) });
  await logIn("user-1", "ada");
  named.issuer = evil.issuer;
  const revoking = evil.hold("/token/revocation");
  let isSent = false;
  void revoking.arrived.then(() => (isSent = true));
  expect(await logins.logout("tickets", "user-1")).toBe(true);
  expect([isSent, await own.isValid(own.given[1] ?? "")]).toEqual([false, true]);
  expect(JSON.stringify(log.lines)).toContain("was deleted, but not revoked");
  revoking.release();
});

test.each([
  ["with a token that no header can carry", { access_token: "two\nlines", token_type: "Bearer" }, "answered without a usable token"],
  ["with a wrong expiry", { access_token: "a", token_type: "Bearer", expires_in: "soon" }, "is invalid (expires_in: Invalid input: "],
])("a login that ends %s fails, keeps no token, and is logged in one line", async (_how, answer, why) => {
  const { authority, addressOf, logins, call, log } = await gateway();
  authority.fail({ status: 200, body: JSON.stringify(answer) });
  expect((await new Browser("ada").logIn(await addressOf("user-1"))).status).toBe(400);
  expect(await logins.list("user-1")).toEqual([{ server: "tickets", loggedIn: false }]);
  const failures = log.lines.filter(({ message }) => message.startsWith("A login to MCP server"));
  expect(failures.map(({ message }) => message)).toEqual([expect.stringContaining(why)]);
  expect(failures[0]?.message).not.toContain("\n");
  authority.fail(undefined);
  expect(await call("user-1", "tickets::login")).toContain("wants its user to log in first");
});

test("the log says why an authorization server refused a login", async () => {
  const { addressOf, log } = await gateway();
  const browser = new Browser("ada");
  const callback = await browser.logIn(await addressOf("user-1"), { stop: (url) => url.pathname === "/upstreams/callback" });
  callback.url.searchParams.delete("code");
  callback.url.searchParams.set("error", "access_denied");
  callback.url.searchParams.set("error_description", "The user\n said no");
  expect((await browser.open(callback.url)).status).toBe(400);
  expect(JSON.stringify(log.lines)).toContain("sent no code: access_denied: The user  said no");
});
