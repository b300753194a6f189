/** Logins of users to the MCP servers of a configuration. */
import { hash } from "node:crypto";
import { basename, join } from "node:path";
import { didYouMean } from "../../../core/base/near-names.ts";
import { ToolError } from "../../../core/error.ts";
import { buildLogins, loginOrigin, loginServers, type LoginsBuildOptions } from "../../../config/build/build-logins.ts";
import type { LoadedConfig } from "../../../config/load-config.ts";
import type { UserLogins } from "../../../engine/mcp/login/user-logins.ts";
import { isLocalAddress } from "../../../server/mcp/http-options.ts";
import type { CommandContext } from "../../command.ts";
import { stateFolder } from "../../open/state-folder.ts";

/** Makes the logins of one configuration file alone: elsewhere, a user of the same id may be another person. They have no pages yet. */
export function createLogins({ environment }: CommandContext, config: LoadedConfig, ports: LoginsBuildOptions["ports"]): UserLogins {
  // without login servers no state folder is needed, which a user without a home folder lacks
  if (loginServers(config).length === 0) return buildLogins(config, { ports });
  const folder = join(stateFolder(environment), "logins", hash("sha256", join(config.folder, basename(config.path))).slice(0, 16));
  return buildLogins(config, { folder, ports });
}

/** Checks that browsers can reach the login pages. @throws ToolError `invalid_config` if users log in to a server and there is no address for it */
export function checkLoginPages(config: LoadedConfig, host: string): void {
  const [server] = loginServers(config);
  if (server === undefined || loginOrigin(config) !== undefined || isLocalAddress(host)) return;
  throw new ToolError("invalid_config", `Users log in to ${JSON.stringify(server)}, and browsers cannot open pages at ${host}.`, {
    hint: "Set origin in [serve.logins] to where their browsers reach the server, such as https://tools.example",
  });
}

/** Starts to serve the login pages. @param listenedAt the address of the server */
export function serveLoginPages(logins: UserLogins, config: LoadedConfig, listenedAt: string): void {
  logins.setOrigin(loginOrigin(config) ?? new URL(listenedAt).origin);
}

/** Checks that users log in to this server. @throws ToolError `invalid_argument` if they do not, or there is no such server */
export function checkLoginServer(config: LoadedConfig, name: string): void {
  const names = loginServers(config);
  if (names.includes(name)) return;
  if (names.length === 0)
    throw new ToolError("invalid_argument", `${config.path} has no server that users log in to.`, {
      hint: 'A toolset of type mcp whose users log in has auth = { type = "user-login" }.',
    });
  throw new ToolError("invalid_argument", `${JSON.stringify(name)} is not a server that users log in to.`, {
    hint: didYouMean(name, names) ?? `Known servers: ${names.join(", ")}.`,
  });
}
