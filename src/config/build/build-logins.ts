/** Makes what keeps the logins of users to the servers of a configuration. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Log } from "../../core/ports.ts";
import { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import { routedOf } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";

export interface LoginsBuildOptions {
  /** Where tokens are kept, unless the configuration says so. @default in memory */
  readonly folder?: string;
  /** Where its pages are. @default none are served: see `UserLogins.serveAt` */
  readonly origin?: string | undefined;
  readonly ports?: { readonly log?: Log } | undefined;
}

export function buildLogins({ config }: LoadedConfig, options: LoginsBuildOptions = {}): UserLogins {
  const { origin, ports } = options;
  const { folder = options.folder, loginMs } = config.serve?.logins ?? {};
  return new UserLogins(omitUndefined({ origin, folder, loginMs, ports }));
}

/** Where browsers reach the pages of logins: `serve.logins.origin`, else the origin of `serve.auth.resource`. */
export function loginOrigin({ config }: LoadedConfig): string | undefined {
  const { logins, auth } = config.serve ?? {};
  return logins?.origin ?? (auth?.resource === undefined ? undefined : new URL(auth.resource).origin);
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
