/** The fingerprint of the definition behind a name: an answer holds for that definition only. */
import { hash } from "node:crypto";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import type { Registry } from "./registry.ts";

/** The fingerprint of a tool's definition, or of those of all its overloads; empty for a tool that is not there. */
export function definitionOf(registry: Registry, qualifiedName: string): string {
  const fingerprints = registry.overloads(qualifiedName).map(({ tool }) => definitionFingerprint(tool));
  const [first = "", ...others] = fingerprints;
  return others.length === 0 ? first : hash("sha256", fingerprints.toSorted().join("\n"));
}
