/** Digests of a process's tools, to compare them with those of other processes. */
import { hash } from "node:crypto";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { OWN_NAMESPACE } from "../core/call.ts";
import type { Tool } from "../core/tool.ts";
import type { Toolset } from "../core/toolset.ts";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import type { Registry } from "./registry.ts";

/** Maximum number of tools whose definitions are compared; of larger toolsets only the names are. A definition takes about 0.1 ms. */
const MAX_COMPARED = 2_000;

/**
 * Returns a digest for each toolset, over the definitions of its tools and the settings on which processes must agree. Toolsets with a place are left
 * out, because only a process with that place has their tools.
 */
export function getDefinitionDigests(registry: Registry): Readonly<Record<string, string>> {
  const { version } = registry;
  const known = cachedDigests.get(registry);
  if (known?.version === version) return known.digests;
  const digests = computeDigests(registry);
  cachedDigests.set(registry, { version, digests });
  return digests;
}

/** The digests of the last version of each registry. */
const cachedDigests = new WeakMap<Registry, { readonly version: number; readonly digests: Readonly<Record<string, string>> }>();

function computeDigests(registry: Registry): Readonly<Record<string, string>> {
  const parts = new Map<string, { readonly toolset: Toolset; readonly tools: Tool[] }>();
  for (const { toolset, tool } of registry) {
    if (toolset.place !== undefined || toolset.name === OWN_NAMESPACE) continue;
    const part = parts.get(toolset.name) ?? { toolset, tools: [] };
    part.tools.push(tool);
    parts.set(toolset.name, part);
  }
  return Object.fromEntries([...parts].map(([name, { toolset, tools }]) => [`toolsets.${name}`, computeDigest(toolset, tools)]));
}

function computeDigest({ shared = false, maxConcurrent }: Toolset, tools: readonly Tool[]): string {
  const compared = tools.map((tool) => (tools.length > MAX_COMPARED ? tool.name : definitionFingerprint(tool)));
  const agreed = { shared, maxConcurrent: shared ? (maxConcurrent ?? null) : null, tools: compared.toSorted() };
  return hash("sha256", canonicalJson(agreed)).slice(0, 16);
}
