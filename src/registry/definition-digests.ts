/** Digests of the tools that a process has, to be compared with those of other processes. */
import { hash } from "node:crypto";
import { canonicalJson } from "../core/base/canonical-json.ts";
import { OWN_NAMESPACE } from "../core/call.ts";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import type { Registry } from "./registry.ts";

/**
 * A digest for each toolset, of the definitions of its tools and of what its processes must agree on. Those with a place are left out: only
 * the process that has it has the tools.
 */
export function definitionDigests(registry: Registry): Readonly<Record<string, string>> {
  const parts = new Map<string, { readonly settings: object; readonly tools: string[] }>();
  for (const { toolset, tool } of registry) {
    const { name, place, shared = false, maxConcurrent = null } = toolset;
    if (place !== undefined || name === OWN_NAMESPACE) continue;
    const part = parts.get(name) ?? { settings: shared ? { maxConcurrent } : {}, tools: [] };
    part.tools.push(definitionFingerprint(tool));
    parts.set(name, part);
  }
  const digests = [...parts].map(([name, { settings, tools }]) => [
    `toolsets.${name}`,
    hash("sha256", canonicalJson({ settings: { ...settings }, tools: tools.toSorted() })).slice(0, 16),
  ]);
  return Object.fromEntries(digests);
}
