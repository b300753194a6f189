/** The toolsets and sources whose tools may be missing from a list while nothing is open. */
import type { Toolset } from "../../core/toolset.ts";

export interface UnopenedTools {
  readonly toolsets: readonly Toolset[];
  readonly sources: readonly string[];
  /** The requested toolsets; undefined for all. */
  readonly namespaces: ReadonlySet<string> | undefined;
  readonly isKnown: (namespace: string) => boolean;
}

/** Leaves out toolsets that declare tools, which are listed before they are open. Includes sources, which may provide unknown toolsets. */
export function listUnopenedNames({ toolsets, sources, namespaces, isKnown }: UnopenedTools): readonly string[] {
  const unopened = toolsets.filter((one) => isEnabled(one) && one.engine?.open !== undefined && (one.tools ?? []).length === 0);
  const names = unopened.map(({ name }) => name);
  if (namespaces === undefined) return [...names, ...sources];
  return [...names.filter((name) => namespaces.has(name)), ...([...namespaces].every(isKnown) ? [] : sources)];
}

export function isEnabled(toolset: Toolset): boolean {
  return toolset.enabled !== false;
}
