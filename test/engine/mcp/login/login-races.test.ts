/** Logins, renewals and logouts of one user at the same time, and authorization servers that do not answer. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { resultText } from "../../../../src/core/result.ts";
import { LoginFlows } from "../../../../src/engine/mcp/login/login-flows.ts";
import { FakeClock } from "../../../../src/testing/fake-ports.ts";
import { Browser } from "./browser.ts";
import { ADDRESS, gateway } from "./gateway.ts";
import { testInCI } from "../../../test-in-ci.ts";

const REFRESHES = [{ refreshes: true }, { refreshes: false }] as const;

test.each(REFRESHES)("issue 19.7 a login that starts while another one ends removes no token, with %o", async (authority) => {
  const { logins, runtime, call, addressOf } = await gateway({ authority });
  const address = await addressOf("user-1");
  const original = logins.response.bind(logins);
  const begun: Promise<string>[] = [];
  logins.response = (request) => {
    const answer = original(request);
    if (request.url.includes("callback")) begun.push(addressOf("user-1"), call("user-1", "tickets::login"));
    return answer;
  };
  expect((await new Browser("ada").logIn(address)).status).toBe(200);
  expect(await begun[0]).toMatch(ADDRESS);
  expect(await begun[1]).not.toContain("unavailable");
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  await runtime.refresh();
  expect(await call("user-1")).toBe("ada");
});

test("issue 19.7 a call during the code exchange of its user waits for the login, and the code is exchanged once", async () => {
  const { authority, runtime, addressOf } = await gateway();
  const browser = new Browser("ada");
  const { url } = await browser.logIn(await addressOf("user-1"), { stop: ({ pathname }) => pathname === "/upstreams/callback" });
  const held = authority.hold("/token");
  const page = browser.open(url);
  await held.arrived;
  expect((await browser.open(url)).status).toBe(400);
  const result = await runtime.execute(
    { name: "tickets::login", input: {} },
    {
      data: { principal: { id: "user-1" } },
      ask: () => {
        held.release();
        return { action: "accept" };
      },
    },
  );
  expect([resultText(result), (await page).status]).toEqual(["You are logged in: look at the tools again.", 200]);
  expect(authority.asked.length).toBe(1);
});

test.each(REFRESHES)("issue 19.7 a login by a user who is already logged in keeps the valid token, with %o", async (authority) => {
  const { logins, call, logIn, addressOf } = await gateway({ authority });
  await logIn("user-1", "ada");
  const key = { server: "tickets", user: "user-1" };
  expect(await logins.ensureLogin(key)).toBeUndefined();
  const begun = addressOf("user-1");
  await (authority.refreshes
    ? expect(begun).rejects.toThrow('"user-1" is logged in to MCP server "tickets" already')
    : expect(begun).resolves.toMatch(ADDRESS));
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  expect(await call("user-1")).toBe("ada");
});

test.each(REFRESHES)("a late rejection of an old token does not end a newer login, with %o", async (authority) => {
  const held = { arrived: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };
  const beforeRefusal = (): Promise<void> => (held.arrived.resolve(), held.released.promise);
  const tickets: { beforeRefusal?: () => Promise<void> } = {};
  const { authority: issuer, logins, runtime, call, logIn, addressOf } = await gateway({ authority, tickets });
  await logIn("user-1", "ada");
  expect(await call("user-1")).toBe("ada");
  await issuer.end("ada", ["AccessToken", "RefreshToken"]);
  tickets.beforeRefusal = beforeRefusal;
  const late = call("user-1");
  await held.arrived.promise;
  expect((await new Browser("ada").logIn(await addressOf("user-1"))).status).toBe(200);
  await runtime.refresh(); // by the new token
  const before = issuer.asked.length;
  held.released.resolve();
  expect(await late).toBe("ada");
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  expect(issuer.asked.length).toBe(before);
});

testInCI("issue 19.7 an unanswered token refresh times out, retains the login, and blocks no other user", async () => {
  const { authority, logins, logIn, addressOf } = await gateway({ haste: 20 });
  await logIn("user-1", "ada");
  const held = authority.hold("/token");
  const renewal = addressOf("user-1");
  const other = addressOf("user-2");
  await expect(renewal).rejects.toThrow("it did not answer in time");
  expect(await other).toMatch(ADDRESS);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  held.release();
});

const PASSING_FAILURES = [
  { status: 503, body: "down for maintenance" },
  { status: 500, body: '{"error":"server_error"}' },
  { status: 400, body: '{"error":"temporarily_unavailable"}' },
  { status: 429, body: "{}" },
  { status: 404, body: "<html>" },
  { status: 200, body: '{"access_token":' },
  "cut",
] as const;

test.each(PASSING_FAILURES)("issue 19.7 a renewal that fails by %j keeps the login and is retried by the next call", async (how) => {
  const { authority, logins, runtime, call, logIn, addressOf } = await gateway({ runtime: { maxAttempts: 1 } });
  await logIn("user-1", "ada");
  await authority.end("ada", ["AccessToken"]);
  authority.fail(how);
  const result = await runtime.execute({ name: "tickets::whoami", input: {} }, { data: { principal: { id: "user-1" } } });
  expect(result).toMatchObject({ status: "error", error: { code: "unavailable", retryable: true, outcome: "not_started" } });
  expect(resultText(result)).toContain("could not be renewed now");
  await expect(addressOf("user-1")).rejects.toThrow("could not be renewed now");
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(true);
  authority.fail(undefined);
  expect(await call("user-1")).toBe("ada");
});

test("issue 19.7 a rejected renewal ends the login", async () => {
  const { authority, logins, call, logIn } = await gateway();
  await logIn("user-1", "ada");
  await authority.end("ada", ["AccessToken", "RefreshToken"]);
  expect(await call("user-1")).toMatch(ADDRESS);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
});

test("issue 19.7 a flow queued behind flows that hang ends within its own time limit and delays none behind it", async () => {
  const clock = new FakeClock();
  const flows = new LoginFlows(clock);
  const begun: string[] = [];
  const hangs = (name: string) => (signal: AbortSignal) => {
    begun.push(name);
    return new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  };
  const ends: string[] = [];
  const run = (name: string): Promise<void> =>
    flows.run("tickets", hangs(name)).catch(() => void ends.push(`${name} at ${clock.now() - start}`));
  const start = clock.now();
  const all = [run("one"), run("two")];
  await clock.advance(1_000);
  all.push(run("three"), run("four"));
  await clock.advance(14_000);
  await clock.advance(15_000);
  expect(begun).toEqual(["one", "two", "three"]);
  await clock.advance(1_000);
  await Promise.all(all);
  expect(ends.toSorted()).toEqual(["four at 31000", "one at 15000", "three at 31000", "two at 30000"]);
  expect(await flows.run("tickets", () => Promise.resolve("answered"))).toBe("answered");
});

testInCI("issue 19.7 a logout ends in time if the authorization server does not answer", async () => {
  const { authority, logins, log, logIn } = await gateway({ haste: 20 });
  await logIn("user-1", "ada");
  const held = authority.hold("/token/revocation");
  expect(await logins.logout("tickets", "user-1")).toBe(true);
  expect(log.lines.map(({ message }) => message)).toEqual([expect.stringMatching(/not revoked: .*did not answer in time/u)]);
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
  held.release();
});

test("a user who logs out while tools are listed is not reported as a user without tools", async () => {
  const tickets = { hides: false, beforeList: undefined as (() => Promise<void>) | undefined };
  const { logins, runtime, log, logIn } = await gateway({ tickets });
  await logIn("user-1", "ada");
  await runtime.refresh();
  tickets.hides = true;
  tickets.beforeList = async () => void (await logins.logout("tickets", "user-1"));
  await runtime.refresh();
  expect(log.lines).toEqual([]);
  expect(runtime.registry.names()).toContain("tickets::login");
});

test("issue 19.7 logging out during a renewal logs the user out and revokes the renewed token", async () => {
  const { authority, logins, call, logIn } = await gateway();
  await logIn("user-1", "ada");
  await authority.end("ada", ["AccessToken"]);
  const held = authority.hold("/token");
  const called = call("user-1");
  await held.arrived;
  const logout = logins.logout("tickets", "user-1");
  for (let turn = 0; turn < 5; turn++) await setImmediate();
  held.release();
  expect(await logout).toBe(true);
  await called;
  expect((await logins.list("user-1"))[0]?.loggedIn).toBe(false);
  expect(authority.given.length).toBe(4);
  expect(await authority.isValid(authority.given.at(-1) ?? "")).toBe(false);
});

test("issue 19.7 files in the login folder that are not logins are skipped and reported once", async () => {
  const folder = await mkdtemp(join(tmpdir(), "haft-"));
  const { runtime, log, logIn, call } = await gateway({ logins: { folder } });
  await logIn("user-1", "ada");
  await writeFile(join(folder, "zz.json"), '{"token": "secret');
  await mkdir(join(folder, "aa.json"));
  await runtime.refresh();
  await runtime.refresh();
  expect(runtime.registry.names("tickets")).toEqual(["tickets::whoami"]);
  expect(await call("user-1")).toBe("ada");
  const skipped = log.lines.filter(({ message }) => message.includes("in the folder of logins is skipped"));
  expect(skipped.map(({ fields }) => String(fields["path"])).toSorted()).toEqual([join(folder, "aa.json"), join(folder, "zz.json")]);
  expect(JSON.stringify(skipped)).not.toContain("secret");
});
