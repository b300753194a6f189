/** A registry serves one runtime. */
import { ToolError } from "../core/error.ts";
import type { Toolset } from "../core/toolset.ts";
import type { Registry } from "../registry/registry.ts";

const IN_USE = new WeakSet<Registry>();

/** Keeps other runtimes from taking it. */
export function markInUse(registry: Registry): void {
  IN_USE.add(registry);
}

/** The toolsets that a registry has already, for a runtime that is being made. @throws ToolError `invalid_argument` for one that serves another runtime */
export function toolsetsOf(registry: Registry): readonly Toolset[] {
  if (IN_USE.has(registry))
    throw new ToolError("invalid_argument", "This registry serves another runtime.", {
      hint: "Make one for each runtime; they may have the same tools and toolsets.",
    });
  return registry.toolsets();
}
