/** The registry of a runtime: a new one or one that it was given, which serves it alone, and the warnings about its tools. */
import { ownSettings } from "../core/call-settings.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { DEFAULT_NAMESPACE, qualifiedName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { isUnqualified } from "../policy/permission.ts";
import { Registry } from "../registry/registry.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** A registry of these settings and rules. */
export function newRegistry(options: RuntimeOptions, log: Pick<Ports["log"], "warn">): Registry {
  const onWarning = (message: string): void => log.warn(message);
  return new Registry({ defaults: ownSettings(options), onWarning, ...omitUndefined({ permission: options.permission }) });
}

const TAKEN = new WeakSet<Registry>();

/** The toolsets that a registry has already, for a runtime that is being made. @throws ToolError `invalid_argument` for one that serves another runtime */
export function toolsetsOf(registry: Registry): readonly Toolset[] {
  if (TAKEN.has(registry))
    throw new ToolError("invalid_argument", "This registry serves another runtime.", {
      hint: "Make one for each runtime; they may have the same tools and toolsets.",
    });
  return registry.toolsets();
}

/** Marks a registry as that of a runtime which was made. */
export function takeRegistry(registry: Registry): void {
  TAKEN.add(registry);
}

/** One warning for each name without a toolset in the rules that is not a tool of the toolset `default`: the rule would do nothing. */
export function unknownBareNames({ permission, approval }: RuntimeOptions, registry: Registry): readonly string[] {
  const rules = {
    "permission.allow": permission?.allow,
    "permission.deny": permission?.deny,
    "approval.always": approval?.always,
    "approval.never": approval?.never,
  };
  return Object.entries(rules).flatMap(([where, names = []]) =>
    names
      .filter((name) => isUnqualified(name) && !registry.has(qualifiedName(DEFAULT_NAMESPACE, name)))
      .map((name) => {
        const tool = JSON.stringify(name);
        return `${where} has ${tool}, and the toolset "default" has no tool of that name. Write "toolset::${name}", or "*::${name}" for every toolset.`;
      }),
  );
}

/** One warning for the tools that nothing can answer: without a function, an engine, or something that answers in their place outside of simulations. */
export function unansweredTools({ tools = [], toolsets = [], standIn, answers }: RuntimeOptions): readonly string[] {
  if (standIn !== undefined || (answers?.rules ?? []).length > 0) return [];
  const groups: readonly Toolset[] = [{ name: DEFAULT_NAMESPACE, tools }, ...toolsets];
  const names = groups.flatMap(({ name, tools: own = [], engine }) =>
    engine === undefined ? own.filter(isUnanswered).map((tool) => qualifiedName(name, tool.name)) : [],
  );
  const runsSome = groups.some(({ tools: own = [], engine }) => engine !== undefined || own.some((tool) => tool.execute !== undefined));
  if (names.length === 0 || !runsSome) return []; // a runtime of definitions alone runs nothing on purpose
  const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
  return [
    `Nothing runs ${names.slice(0, 5).join(", ")}${more}: give each an execute function, or its toolset an engine. Its calls end with not_executable.`,
  ];
}

function isUnanswered({ execute, providerExecuted, enabled, unusable }: Tool): boolean {
  return execute === undefined && providerExecuted !== true && enabled !== false && unusable === undefined;
}
