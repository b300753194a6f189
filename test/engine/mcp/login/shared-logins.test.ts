/** Logins that several processes share by a folder: one of them has pages, as a command at a terminal, others have none. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { systemPorts } from "../../../../src/core/system/system-ports.ts";
import { UserLogins, mcpToolset } from "../../../../src/engine/mcp.ts";
import { createRuntime, type Runtime } from "../../../../src/runtime/runtime.ts";
import { listenOn } from "../../../../src/server/http/listen.ts";
import { MemoryLog } from "../../../../src/testing/fake-ports.ts";
import { authorizationServer, ticketServer, type AuthorizationServer } from "./authorization-server.ts";
import { Browser } from "./browser.ts";

/** A runtime over a folder of logins. */
async function program(url: string, authority: AuthorizationServer, logins: UserLogins): Promise<Runtime> {
  const allowPrivate = [new URL(authority.issuer).host];
  const runtime = createRuntime({ toolsets: [mcpToolset("tickets", { url, auth: { type: "user-login", logins }, allowPrivate })] });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  return runtime;
}

/** Serves the pages of logins at a port of its own, as a terminal does for one login. */
async function pages(logins: UserLogins): Promise<void> {
  const { clock } = systemPorts;
  const answer = async (request: Request): Promise<Response> => (await logins.response(request)) ?? new Response(null, { status: 404 });
  const listener = await listenOn(answer, { port: 0, host: "127.0.0.1", clock, log: new MemoryLog() });
  onTestFinished(() => listener.close(async () => {}));
  logins.setOrigin(listener.origin);
}

async function whoami(runtime: Runtime): Promise<string> {
  return resultText(await runtime.execute({ name: "tickets::whoami", input: {} }));
}

test("issue 19.7 a login in one process is shared by others with its folder, which renew it as the client that it was issued to", async () => {
  const authority = await authorizationServer();
  const { url } = await ticketServer(authority);
  const folder = join(await mkdtemp(join(tmpdir(), "haft-")), "logins");
  let passed = 0;
  const ports = { clock: { ...systemPorts.clock, now: () => passed } };
  const atTerminal = new UserLogins({ folder, ports });
  const gateway = new UserLogins({ folder, origin: "http://127.0.0.1:1", ports });
  const silent = new UserLogins({ folder, ports });
  const [terminal, ...others] = await Promise.all([atTerminal, gateway, silent].map((logins) => program(url, authority, logins)));
  await pages(atTerminal);
  const address = await atTerminal.begin("tickets", "local");
  const done = atTerminal.whenLoggedIn("tickets", "local", AbortSignal.timeout(10_000));
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  await done;
  await terminal?.close();

  for (const runtime of others) {
    expect(resultText(await runtime.execute({ name: "tickets::login", input: {} }))).toContain("You are logged in");
    await runtime.refresh();
    await authority.end("ada", ["AccessToken"]);
    expect(await whoami(runtime)).toBe("ada");
  }
  expect(authority.asked.map((body) => body.get("grant_type"))).toEqual(["authorization_code", "refresh_token", "refresh_token"]);

  passed += 60_000; // a token that was renewed just now is not renewed again
  await authority.end("ada", ["AccessToken", "RefreshToken"]);
  const [asking, telling] = others;
  expect(await whoami(asking as Runtime)).toMatch(/http:\/\/127\.0\.0\.1:1\/upstreams\/login\?id=/u);
  // Tools that are listed again meanwhile are those for users who have to log in.
  expect(await whoami(telling as Runtime)).toMatch(/wants its user to log in first|No tool "tickets::whoami"[^]*"tickets::login"/u);
});

test("issue 19.7 a process without login pages starts no login, and its errors say so", async () => {
  const authority = await authorizationServer();
  const { url } = await ticketServer(authority);
  const logins = new UserLogins();
  const runtime = await program(url, authority, logins);
  const result = await runtime.execute({ name: "tickets::login", input: {} });
  expect(result.error).toMatchObject({
    code: "permission_denied",
    message: "The server tickets wants its user to log in first.",
    hint: "Ask the user to log in to it, then call again.",
  });
  await expect(logins.begin("tickets", "local")).rejects.toThrow("there is no page for it");
  await expect(logins.whenLoggedIn("tickets", "local", AbortSignal.timeout(1_000))).rejects.toThrow("has started no login");
  expect(() => logins.setOrigin("http://127.0.0.1:1/")).toThrow("is not an origin that logins can return to");
});

test("issue 19.7 a token for one URL is not sent to another URL with the same server name", async () => {
  const authority = await authorizationServer();
  const [first, second] = [await ticketServer(authority), await ticketServer(authority)];
  const folder = join(await mkdtemp(join(tmpdir(), "haft-")), "logins");
  const logins = new UserLogins({ folder });
  const before = await program(first.url, authority, logins);
  await pages(logins);
  expect((await new Browser("ada").logIn(await logins.begin("tickets", "local"))).status).toBe(200);
  expect(await logins.list("local")).toEqual([{ server: "tickets", loggedIn: true }]);
  await before.close();
  const moved = new UserLogins({ folder });
  const after = await program(second.url, authority, moved);
  expect(after.registry.names("tickets")).toEqual(["tickets::login"]);
  expect(await moved.list("local")).toEqual([{ server: "tickets", loggedIn: false }]);
  expect(second.calls).toEqual([]);
});

test("issue 19.7 a token that cannot be renewed is listed with its expiry, after which its user is logged out", async () => {
  const authority = await authorizationServer({ lifeSeconds: 600, refreshes: false });
  const { url } = await ticketServer(authority);
  let passed = 0;
  const clock = { ...systemPorts.clock, wallTime: () => 1_000_000 + passed };
  const logins = new UserLogins({ ports: { clock } });
  await program(url, authority, logins);
  await pages(logins);
  await new Browser("ada").logIn(await logins.begin("tickets", "local"));
  expect(await logins.list("local")).toEqual([{ server: "tickets", loggedIn: true, endsAt: 1_600_000 }]);
  passed = 600_000;
  expect(await logins.list("local")).toEqual([{ server: "tickets", loggedIn: false }]);
});
