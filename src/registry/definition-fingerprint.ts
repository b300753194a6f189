/** The fingerprint of the definition behind a name. An approval or answer is valid for that definition only. */
import { hash } from "node:crypto";
import { definitionFingerprint } from "../schema/definition-fingerprint.ts";
import type { Registry } from "./registry.ts";

/** The fingerprint of a tool's definition, or of those of all its overloads; empty if there is no such tool. */
export function getDefinitionFingerprint(registry: Registry, qualifiedName: string): string {
  const fingerprints = registry.overloads(qualifiedName).map(({ tool }) => definitionFingerprint(tool));
  const [first = "", ...others] = fingerprints;
  return others.length === 0 ? first : hash("sha256", fingerprints.toSorted().join("\n"));
}
