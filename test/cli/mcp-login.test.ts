/** Issue 19.7: `haft mcp login` and `logout`, and the pages of logins at the servers of the command line. */
import { expect, test } from "vitest";
import { authorizationServer, ticketServer, type AuthorizationServer } from "../engine/mcp/login/authorization-server.ts";
import { Browser, type Page } from "../engine/mcp/login/browser.ts";
import { PATIENCE_MS, folderWith, haft } from "./run-haft.ts";
import { IN_CI, inCI } from "../ci.ts";

const TOKEN = "a-token-for-the-tests";

interface Project {
  readonly authority: AuthorizationServer;
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** A configuration whose users log in to one server. */
async function project(more = ""): Promise<Project> {
  const authority = await authorizationServer();
  const { url } = await ticketServer(authority);
  const toml = `${more}[toolsets.tickets]
type = "mcp"
url = "${url}"
allowPrivate = ["${new URL(authority.issuer).host}"]
auth = { type = "user-login" }
`;
  const folder = folderWith({ "haft.toml": toml });
  return { authority, folder, environment: { HAFT_TRUST: "all", XDG_STATE_HOME: `${folder}/state`, HAFT_TOKEN: TOKEN } };
}

test("issue 19.7 haft mcp login accepts only servers with user logins", async () => {
  const { folder, environment } = await project();
  const wrong = await haft(["mcp", "login", "ticket"], { folder, environment });
  expect([wrong.exitCode, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean "tickets"?')]);
  const none = await haft(["mcp", "login", "files"], { folder: folderWith({ "haft.toml": "" }), environment });
  expect([none.exitCode, none.stderr]).toEqual([2, expect.stringContaining("haft.toml has no server that users log in to")]);
  const notes = folderWith({
    "haft.toml":
      '[toolsets.tickets]\ntype = "mcp"\nurl = "http://127.0.0.1:9/mcp"\nauth = { type = "user-login" }\n[toolsets.notes]\ntype = "mcp"\nurl = "http://127.0.0.1:9/mcp"\n',
  });
  for (const command of ["login", "logout"]) {
    const other = await haft(["mcp", command, "notes"], { folder: notes, environment });
    expect([other.exitCode, other.stderr]).toEqual([
      2,
      expect.stringMatching(/^haft: invalid_argument: "notes" is not a server[^]*Known servers: tickets\./u),
    ]);
  }
  const missing = await haft(["mcp", "login"], { folder, environment });
  expect([missing.exitCode, missing.stderr]).toEqual([2, expect.stringContaining("haft mcp login needs <toolset>")]);
  const mistyped = await haft(["mcp", "logn", "tickets"], { folder, environment });
  expect([mistyped.exitCode, mistyped.stderr]).toEqual([2, expect.stringContaining('Did you mean "haft mcp login"?')]);
  const port = await haft(["mcp", "login", "tickets", "--port", "x"], { folder, environment });
  expect(port.exitCode).toBe(2);
  const out = await haft(["mcp", "logout", "tickets"], { folder, environment });
  expect([out.exitCode, out.stdout]).toEqual([0, "you were not logged in to tickets\n"]);
  const call = await haft(["call", "tickets::login"], { folder, environment });
  expect([call.exitCode, call.stderr]).toEqual([6, expect.stringContaining("haft mcp login tickets")]);
});

test("issue 19.7 a server that listens on other addresses needs the origin of its login pages before anything is opened", async () => {
  const { folder, environment } = await project();
  const args = ["--host", "0.0.0.0", "--allowed-host", "tools.example"];
  for (const command of [
    ["serve", "--port", "0"],
    ["mcp", "--http", "0"],
  ]) {
    const refused = await haft([...command, ...args], { folder, environment: { ...environment, HAFT_MCP_TOKEN: TOKEN } });
    expect([refused.exitCode, refused.stderr]).toEqual([3, expect.stringContaining("Set origin in [serve.logins]")]);
  }
});

test("issue 19.7 a person logs in at a terminal, makes calls with their account, and logs out", { timeout: PATIENCE_MS }, async () => {
  const { authority, folder, environment } = await project();
  let page: Promise<Page> | undefined;
  const login = await haft(["mcp", "login", "tickets"], {
    folder,
    environment,
    onOutput({ stderr }) {
      const [, address] = /log in at (\S+)\n/u.exec(stderr) ?? [];
      if (address !== undefined) page ??= new Browser("ada").logIn(address);
    },
  });
  expect([login.exitCode, login.stdout, (await page)?.status]).toEqual([0, "logged in to tickets\n", 200]);
  const call = await haft(["call", "tickets::whoami"], { folder, environment });
  expect([call.exitCode, call.stdout]).toEqual([0, expect.stringContaining("ada")]);
  const again = await haft(["mcp", "login", "tickets", "--json"], { folder, environment });
  expect(JSON.parse(again.stdout)).toEqual({ server: "tickets", loggedIn: true, before: true });
  const [, refresh = ""] = authority.given;
  const logout = await haft(["mcp", "logout", "tickets"], { folder, environment });
  expect([logout.exitCode, logout.stdout]).toEqual([0, "logged out of tickets\n"]);
  expect(await authority.isValid(refresh)).toBe(false);
});

test.skipIf(!inCI).each([
  ["serve", ["serve", "--port", "0"], /serving at (\S+)\n/u],
  ["mcp", ["mcp", "--http", "0"], /MCP at (\S+)\/mcp\n/u],
] as const)(`issue 19.7 haft %s serves the login pages ${IN_CI}`, { timeout: PATIENCE_MS }, async (_name, args, ready) => {
  const { folder, environment } = await project();
  let isStopped = false;
  let page: Page | undefined;
  const served = await haft(args, {
    folder,
    environment: { ...environment, HAFT_MCP_TOKEN: TOKEN },
    onOutput({ stderr }, control) {
      const [, url] = ready.exec(stderr) ?? [];
      if (url === undefined || isStopped) return;
      isStopped = true;
      void (async () => {
        page = await new Browser("ada").open(`${url}/upstreams/login?id=unknown`);
        control.signal("SIGTERM");
      })();
    },
  });
  expect([served.exitCode, page?.status, page?.text.includes("Unknown login")]).toEqual([0, 400, true]);
});
