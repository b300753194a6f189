import { ToolError } from "../core/error.ts";
import { checkArgument } from "../core/check-argument.ts";
import type { Enrichment } from "./enrichment.ts";

/**
 * Sorts enrichments so that each comes after those it depends on, changing the given order as little as possible.
 *
 * @throws ToolError `duplicate` for two with the same key; `invalid_argument` for one without a key or `enrich`, a missing dependency, and a circular
 * one
 */
export function sortEnrichments(enrichments: readonly Enrichment[]): readonly Enrichment[] {
  const hint = "For example enrich(runtime.registry, [dataflow(), neighbors()]).";
  checkArgument(Array.isArray(enrichments), "enrich()", "an array of enrichments", enrichments, hint);
  const byKey = new Map<string, Enrichment>();
  for (const enrichment of enrichments) {
    checkEnrichment(enrichment);
    const { key } = enrichment;
    if (byKey.has(key))
      throw new ToolError("duplicate", `Two enrichments make the artifact ${JSON.stringify(key)}. Leave one out, or give it another key.`);
    byKey.set(key, enrichment);
  }
  for (const enrichment of enrichments) checkDependencies(enrichment, byKey);
  const ordered = new Set<Enrichment>();
  for (const enrichment of enrichments) visit(enrichment, [], { byKey, ordered });
  return [...ordered];
}

function checkEnrichment(enrichment: unknown): void {
  const usable =
    typeof enrichment === "object" &&
    enrichment !== null &&
    isNonEmptyString(Reflect.get(enrichment, "key")) &&
    typeof Reflect.get(enrichment, "enrich") === "function";
  if (!usable) throw new ToolError("invalid_argument", "An enrichment is an object with a key that is not empty, and enrich().");
}

function isNonEmptyString(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function checkDependencies({ key, dependsOn = [] }: Enrichment, byKey: ReadonlyMap<string, Enrichment>): void {
  const missing = dependsOn.find((needed) => !byKey.has(needed));
  if (missing === undefined) return;
  throw new ToolError(
    "invalid_argument",
    `The enrichment ${JSON.stringify(key)} needs ${JSON.stringify(missing)}, which is not among them.`,
    {
      hint: `Given enrichments: ${[...byKey.keys()].join(", ")}.`,
    },
  );
}

interface SortState {
  readonly byKey: ReadonlyMap<string, Enrichment>;
  readonly ordered: Set<Enrichment>;
}

function visit(enrichment: Enrichment, trail: readonly string[], state: SortState): void {
  if (state.ordered.has(enrichment)) return;
  const { key, dependsOn = [], after = [] } = enrichment;
  const start = trail.indexOf(key);
  if (start >= 0) {
    const circle = [...trail.slice(start), key].join(" → ");
    throw new ToolError("invalid_argument", `Enrichments need each other in a circle: ${circle}.`);
  }
  for (const needed of [...dependsOn, ...after]) {
    const before = state.byKey.get(needed);
    if (before !== undefined) visit(before, [...trail, key], state);
  }
  state.ordered.add(enrichment);
}
