/** The tools that callers of a server may still use when a command continues their calls. */
import { systemPorts } from "../../core/system/system-ports.ts";
import { createSecret } from "../../net/secret.ts";
import { AccessRules } from "../../policy/access-rules.ts";
import type { RulesOfPrincipal } from "../../runtime/resume/resume-session.ts";
import { Keys } from "../../server/auth/keys.ts";
import { findPrincipal } from "../../server/auth/principal.ts";
import { findCurrentRules } from "../../server/auth/server-access.ts";
import { staticToken } from "../../server/auth/static-token.ts";
import type { OpenRuntime } from "./open-runtime.ts";

/** Applies the rules of `serve` in the configuration, and the patterns of the keys in the store, of which revoked ones have no tools. */
export function createCallerRules({ runtime, config: { config } }: Pick<OpenRuntime, "runtime" | "config">): RulesOfPrincipal {
  const rules = new AccessRules(config.serve?.rules ?? []);
  const access = runtime.store?.access;
  const known = [staticToken({ token: createSecret() }), ...(access === undefined ? [] : [new Keys(access, systemPorts)])];
  const authenticator = { find: (id: string) => findPrincipal(known, id) };
  return (principal) => findCurrentRules(principal, { rules, authenticator });
}
