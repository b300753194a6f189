/** Resolves a name to the tools that it may mean, among those visible to the caller. */
import { ToolError } from "../core/error.ts";
import type { Visibility } from "../policy/visibility.ts";
import { ambiguousToolError, hiddenToolError, missingToolError } from "./missing-tool-error.ts";
import { findNearNames } from "../core/base/near-names.ts";
import type { RegisteredTool } from "./registered-tool.ts";
import type { Registry } from "./registry.ts";

const MAX_NEAR = 3;
const MAX_FEW = 20;

/**
 * As `Registry.resolve`, but as if only the visible tools existed: errors name no others, and a bare name that only one visible tool has means that
 * tool. A tool that exists but is not visible is refused with `permission_denied`.
 */
export function resolveVisible(
  registry: Registry,
  name: string,
  visibility: Visibility | undefined,
): readonly RegisteredTool[] | ToolError {
  const found = registry.resolve(name);
  if (visibility === undefined) return found;
  if (!(found instanceof ToolError)) {
    const [first] = found;
    if (first === undefined || visibility.permits(first.qualifiedName)) return found;
    return listVisibleMatches(registry, name, visibility) ?? hiddenToolError(name);
  }
  return listVisibleMatches(registry, name, visibility) ?? unseenToolError(registry, name, { found, visibility });
}

/** Whether a call of this caller would reach a qualified name. Texts for a model name only such tools. */
export function isVisible(registry: Registry, qualifiedName: string, visibility: Visibility | undefined): boolean {
  return visibility?.permits(qualifiedName) !== false && !(registry.resolve(qualifiedName) instanceof ToolError);
}

function listVisibleMatches(registry: Registry, name: string, visibility: Visibility): readonly RegisteredTool[] | ToolError | undefined {
  const matches = new Set<string>();
  for (const { tool, qualifiedName } of registry.list())
    if (tool.name === name && visibility.permits(qualifiedName)) matches.add(qualifiedName);
  const [only] = matches;
  if (only === undefined) return undefined;
  return matches.size === 1 ? registry.resolve(only) : ambiguousToolError(name, [...matches]);
}

function unseenToolError(
  registry: Registry,
  name: string,
  { found, visibility }: { readonly found: ToolError; readonly visibility: Visibility },
): ToolError {
  const known = registry.get(name);
  if (known !== undefined) return visibility.permits(known.qualifiedName) ? found : hiddenToolError(name);
  if (found.code === "ambiguous") return hiddenToolError(name);
  if (found.code !== "not_found" && name.includes("::") && visibility.permits(name)) return found; // for example, the toolset failed to open
  const visible = registry.list().filter(({ qualifiedName }) => visibility.permits(qualifiedName));
  const qualified = [...new Set(visible.map(({ qualifiedName }) => qualifiedName))];
  const bare = new Set(name.includes("::") ? [] : findNearNames(name, new Set(visible.map(({ tool }) => tool.name)), MAX_NEAR));
  const near =
    bare.size > 0 ? visible.filter(({ tool }) => bare.has(tool.name)).map((one) => one.qualifiedName) : findNearNames(name, qualified);
  return missingToolError(name, {
    unknownToolset: undefined,
    near: [...new Set(near)].slice(0, MAX_NEAR),
    few: qualified.length > MAX_FEW ? undefined : qualified,
  });
}
