/** The registry of a runtime, a new or a given one, which serves it alone; and the warnings about its tools. */
import { pickCallSettings } from "../core/call-settings.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { DEFAULT_NAMESPACE, qualifiedName } from "../core/call.ts";
import { ToolError } from "../core/error.ts";
import type { Ports } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { isUnqualified } from "../policy/permission.ts";
import { Registry } from "../registry/registry.ts";
import type { RuntimeOptions } from "./runtime-options.ts";

/** Creates a registry with these settings and rules. */
export function createRegistry(options: RuntimeOptions, log: Pick<Ports["log"], "warn">): Registry {
  const onWarning = (message: string): void => log.warn(message);
  return new Registry({ defaults: pickCallSettings(options), onWarning, ...omitUndefined({ permission: options.permission }) });
}

const USED_REGISTRIES = new WeakSet<Registry>();

/** The toolsets of a registry that was given to a new runtime. @throws ToolError `invalid_argument` if the registry serves another runtime */
export function toolsetsOf(registry: Registry): readonly Toolset[] {
  if (USED_REGISTRIES.has(registry))
    throw new ToolError("invalid_argument", "This registry serves another runtime.", {
      hint: "Make one for each runtime; they may have the same tools and toolsets.",
    });
  return registry.toolsets();
}

/** Marks a registry as used by a runtime. */
export function markRegistryUsed(registry: Registry): void {
  USED_REGISTRIES.add(registry);
}

/** Returns a warning for each name in the rules without a toolset that is not a tool of the toolset `default`: such a rule would have no effect. */
export function bareNameWarnings({ permission, approval }: RuntimeOptions, registry: Registry): readonly string[] {
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

/** Returns a warning about the tools that nothing can answer: without a function, an engine, or a stand-in outside of simulations. */
export function unansweredToolWarnings({ tools = [], toolsets = [], standIn, answers }: RuntimeOptions): readonly string[] {
  if (standIn !== undefined || (answers?.rules ?? []).length > 0) return [];
  const groups: readonly Toolset[] = [{ name: DEFAULT_NAMESPACE, tools }, ...toolsets];
  const names = groups.flatMap(({ name, tools: own = [], engine }) =>
    engine === undefined ? own.filter(isUnanswered).map((tool) => qualifiedName(name, tool.name)) : [],
  );
  const runsSome = groups.some(({ tools: own = [], engine }) => engine !== undefined || own.some((tool) => tool.execute !== undefined));
  if (names.length === 0 || !runsSome) return []; // a runtime with only definitions runs nothing on purpose
  const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
  return [
    `Nothing runs ${names.slice(0, 5).join(", ")}${more}: give each an execute function, or its toolset an engine. Its calls end with not_executable.`,
  ];
}

function isUnanswered({ execute, providerExecuted, enabled, unusable }: Tool): boolean {
  return execute === undefined && providerExecuted !== true && enabled !== false && unusable === undefined;
}
