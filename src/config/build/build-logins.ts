/** Makes the storage for logins of users to the servers of a configuration. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { Log } from "../../core/ports.ts";
import { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import { toRegistryEntries } from "../haft-config.ts";
import type { LoadedConfig } from "../load-config.ts";

export interface LoginsBuildOptions {
  /** The folder of tokens, unless the configuration names one. @default in memory */
  readonly folder?: string;
  /** The origin of its pages. @default no pages are served: see `UserLogins.setOrigin` */
  readonly origin?: string | undefined;
  readonly ports?: { readonly log?: Log } | undefined;
}

export function buildLogins({ config }: LoadedConfig, options: LoginsBuildOptions = {}): UserLogins {
  const { origin, ports } = options;
  const { folder = options.folder, loginMs } = config.serve?.logins ?? {};
  return new UserLogins(omitUndefined({ origin, folder, loginMs, ports }));
}

/** Returns the origin of the login pages: `serve.logins.origin`, else the origin of `serve.auth.resource`. */
export function loginOrigin({ config }: LoadedConfig): string | undefined {
  const { logins, auth } = config.serve ?? {};
  return logins?.origin ?? (auth?.resource === undefined ? undefined : new URL(auth.resource).origin);
}

/** Returns the enabled toolsets, and the engines, that users log in to. */
export function loginServers({ config }: LoadedConfig): readonly string[] {
  const toolsets = toRegistryEntries(config).flatMap(({ namespace, toolset }) =>
    toolset.type === "mcp" && toolset.enabled && toolset.auth?.type === "user-login" ? [namespace ?? ""] : [],
  );
  const engines = Array.from(config.engines).flatMap(([name, engine]) =>
    engine.type === "mcp" && engine.server?.auth?.type === "user-login" ? [name] : [],
  );
  return [...toolsets, ...engines];
}
