/** The tools of one caller, which also determine the servers it may see. */
import { visibilityOf, type Visibility } from "../../policy/visibility.ts";
import type { Principal } from "../auth/principal.ts";
import type { McpServerOptions, Settings } from "./options.ts";
import type { Caller } from "./handler-context.ts";

/** The tools that a caller may see and call; undefined for all listed tools. */
export function visibilityOfCaller({ toolsFor }: Settings, { principal }: Caller): Visibility | undefined {
  if (principal === undefined) return undefined;
  const rules = toolsFor?.(principal);
  if (principal.tools === undefined) return rules === undefined ? undefined : visibilityOf(rules);
  return visibilityOf([principal.tools, rules === undefined ? undefined : visibilityOf(rules)]);
}

/** Combines the rules of a server's access with those that its options give: a tool must be allowed by both. */
export function joinToolsFor(
  access: { visibilityOf(principal: Principal): Visibility | undefined },
  toolsFor: McpServerOptions["toolsFor"],
): NonNullable<McpServerOptions["toolsFor"]> {
  return (principal) => {
    const [own, given] = [access.visibilityOf(principal), toolsFor?.(principal)];
    return own === undefined || given === undefined ? (own ?? given) : [own, visibilityOf(given)];
  };
}
