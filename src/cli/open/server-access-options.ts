/** The clients that a server of the command line admits, and the addresses that it may have. */
import { ToolError } from "../../core/error.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { createSecret } from "../../net/secret.ts";
import { openServerAccess, type ServerAccess } from "../../server/auth/server-access.ts";
import { staticToken } from "../../server/auth/static-token.ts";
import { isLocalAddress } from "../../server/mcp/http-options.ts";
import type { CommandContext } from "../command.ts";
import { stderrPorts, type OpenRuntime } from "./open-runtime.ts";

/** The variable with the token that clients must send. */
export const TOKEN_VARIABLE = "HAFT_TOKEN";

export interface Token {
  readonly text: string;
  readonly isNew: boolean;
}

/** Admits clients with the token, a key of the store, or a token of a configured issuer. @throws as `openServerAccess` does */
export function createServerAccess(
  context: CommandContext,
  { runtime, config: { config } }: OpenRuntime,
  token: Token,
): Promise<ServerAccess> {
  const { auth, rules = [] } = config.serve ?? {};
  const others = [staticToken({ token: token.text })];
  return openServerAccess({ access: runtime.store?.access, others, ...auth, rules }, { ...systemPorts, ...stderrPorts(context) });
}

/** Checks that a non-local address comes with allowed host names. @throws ToolError `invalid_argument` */
export function checkReachable({ options }: CommandContext, host: string): void {
  if (isLocalAddress(host) || options.allowedHost.length > 0) return;
  throw new ToolError("invalid_argument", `A server on ${host} can be reached by others.`, {
    hint: "Name each host that it is reached by: --allowed-host tools.example",
  });
}

/** Returns the token of the environment, or makes one for a local address. @throws ToolError `invalid_argument` if another address has none */
export function readOrCreateToken({ environment }: CommandContext, host: string): Token {
  const given = environment[TOKEN_VARIABLE];
  if (given !== undefined && given !== "") return { text: given, isNew: false };
  if (isLocalAddress(host)) return { text: createSecret(), isNew: true };
  throw new ToolError("invalid_argument", `A server on ${host} can be reached by others, and needs a secret.`, {
    hint: `Set ${TOKEN_VARIABLE} to 16 characters or more that cannot be guessed.`,
  });
}
