/** Makes what keeps the logins of users to the servers of a configuration. */
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { Log } from "../core/ports.ts";
import { UserLogins } from "../engine/mcp/login/user-logins.ts";
import { routedOf } from "./haft-config.ts";
import type { LoadedConfig } from "./load-config.ts";

export interface LoginsBuildOptions {
  /** Where tokens are kept, unless the configuration says so. @default in memory */
  readonly folder?: string;
  readonly ports?: { readonly log?: Log };
}

/** Its pages are at `serve.logins.origin`, else at the origin of `serve.auth.resource`; where neither is given, see `UserLogins.serveAt`. */
export function buildLogins({ config }: LoadedConfig, options: LoginsBuildOptions = {}): UserLogins {
  const { logins = {}, auth } = config.serve ?? {};
  const { folder = options.folder, loginMs } = logins;
  const resource = auth?.resource === undefined ? undefined : new URL(auth.resource).origin;
  const { ports } = options;
  return new UserLogins(omitUndefined({ origin: logins.origin ?? resource, folder, loginMs, ports }));
}

/** The enabled toolsets and the engines whose users log in. */
export function loginServers({ config }: LoadedConfig): readonly string[] {
  const toolsets = routedOf(config).flatMap(({ namespace, toolset }) =>
    toolset.type === "mcp" && toolset.enabled && toolset.auth?.type === "user-login" ? [namespace ?? ""] : [],
  );
  const engines = Array.from(config.engines).flatMap(([name, engine]) =>
    engine.type === "mcp" && engine.server?.auth?.type === "user-login" ? [name] : [],
  );
  return [...toolsets, ...engines];
}
