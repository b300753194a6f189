/** Issue 19.7: users log in to the MCP servers of a configuration, each with an account of their own. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { buildLogins, loginOrigin, loginServers } from "../../src/config/build/build-logins.ts";
import { buildRuntimeParts } from "../../src/config/build/build-runtime-parts.ts";
import { loadConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import { ownPaths } from "../../src/config/trust/own-paths.ts";
import { UserLogins } from "../../src/engine/mcp/login/user-logins.ts";
import { configFolder } from "./config-folder.ts";

const TICKETS = `[toolsets.tickets]
type = "mcp"
url = "https://tickets.example/mcp"
`;
const AUTH = `[toolsets.tickets.auth]
type = "user-login"
clientId = "\${ID}"
clientSecret = "env:SECRET"
scope = "read write"
issuer = "https://login.example"
listWith = { type = "bearer", token = "env:LIST" }
`;

async function loaded(toml: string): Promise<LoadedConfig> {
  const environment = { ID: "haft", SECRET: "swordfish", LIST: "a-token" };
  return await loadConfig(join(configFolder({ "haft.toml": toml }), "haft.toml"), { environment });
}

test("issue 19.7 the OAuth client of user logins is read with its variables, and every key is optional", async () => {
  const config = await loaded(`${TICKETS}${AUTH}`);
  const { toolsets } = config.config;
  expect(toolsets.get("tickets")).toMatchObject({
    auth: {
      type: "user-login",
      clientId: "haft",
      clientSecret: "swordfish",
      scope: "read write",
      issuer: "https://login.example",
      listWith: { type: "bearer", token: "a-token" },
    },
  });
  expect(config.redact("swordfish a-token")).not.toMatch(/swordfish|a-token/u);
  const plain = await loaded(`${TICKETS}auth = { type = "user-login" }\n`);
  expect(plain.config.toolsets.get("tickets")).toMatchObject({ auth: { type: "user-login" } });
  expect(loginServers(plain)).toEqual(["tickets"]);
  expect(loginServers(await loaded(`${TICKETS}enabled = false\nauth = { type = "user-login" }\n`))).toEqual([]);
  expect(loginServers(await loaded('[engines.far]\ntype = "mcp"\nurl = "https://a.example"\nauth = { type = "user-login" }\n'))).toEqual([
    "far",
  ]);
});

test("issue 19.7 the origin of login pages is that of serve.logins, or else the server's, and tools cannot reach the tokens", async () => {
  const given = await loaded(
    '[serve.logins]\norigin = "https://pages.example"\nfolder = "tokens"\nloginMs = 60_000\n[serve.auth]\nresource = "https://tools.example/mcp"\n',
  );
  expect(given.config.serve?.logins).toEqual({ origin: "https://pages.example", folder: join(given.folder, "tokens"), loginMs: 60_000 });
  expect(ownPaths(given).hide).toContain(join(given.folder, "tokens"));
  expect(loginOrigin(given)).toBe("https://pages.example");
  expect(loginOrigin(await loaded('[serve.auth]\nresource = "https://tools.example/mcp"\n'))).toBe("https://tools.example");
  expect(loginOrigin(await loaded(""))).toBeUndefined();
  expect([(await buildRuntimeParts(given)).logins.acceptsLogins, buildLogins(given).acceptsLogins]).toEqual([true, false]);
});

test("issue 19.7 logins passed by a program are used for the toolsets of its configuration", async () => {
  const config = await loaded(`${TICKETS}auth = { type = "user-login" }\n`);
  const logins = new UserLogins({ origin: "https://tools.example" });
  expect((await buildRuntimeParts(config, { logins })).logins).toBe(logins);
  expect((await buildRuntimeParts(config)).logins).toBeInstanceOf(UserLogins);
});

test.each([
  ['isolation = "session"', 'toolsets.tickets.isolation: isolation cannot be "session" where users log in'],
  ['start = "lazy"', 'toolsets.tickets.start: start cannot be "lazy" where users log in'],
])("issue 19.7 %s is refused together with user logins", async (line, problem) => {
  const config = await loaded(`${TICKETS}${line}\nauth = { type = "user-login" }\n`);
  await expect(buildRuntimeParts(config)).rejects.toThrow(problem);
});

test("clientMetadataUrl is read, and refused if it cannot be a client id", async () => {
  const written = (line: string): string => `${TICKETS}[toolsets.tickets.auth]\ntype = "user-login"\n${line}\n`;
  const { config } = await loaded(written('clientMetadataUrl = "https://tools.example/upstreams/client.json"'));
  expect(config.toolsets.get("tickets")).toMatchObject({ auth: { clientMetadataUrl: "https://tools.example/upstreams/client.json" } });
  await expect(loaded(written('clientMetadataUrl = "http://tools.example/client.json"'))).rejects.toThrow(
    /haft\.toml:6:1: toolsets\.tickets\.auth\.clientMetadataUrl: is not an https address: it takes/u,
  );
  await expect(loaded(written('clientId = "a"\nclientMetadataUrl = "https://tools.example/c"'))).rejects.toThrow(
    "clientMetadataUrl: is not needed next to clientId: one of them is enough.",
  );
});
