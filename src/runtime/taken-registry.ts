/** Registries serve one runtime each. */
import { ToolError } from "../core/error.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Registry } from "../registry/registry.ts";

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
