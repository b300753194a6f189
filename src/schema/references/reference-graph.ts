/** Refuses references that would make a validation endless, or far longer than the sizes of schema and value suggest. */
import type { SchemaNode } from "../compiled-schema.ts";
import { throwInvalidSchema } from "../keywords/keyword.ts";
import { MAX_REFERENCE_DEPTH, MAX_VISITS_PER_VALUE } from "../schema-limits.ts";

interface Weight {
  /** Number of subschemas that are applied to one value, including this one. */
  readonly visits: number;
  /** Length of the longest chain of them. */
  readonly height: number;
}

const IN_PROGRESS: Weight = { visits: 0, height: 0 };

/**
 * Checks all chains of subschemas that are applied to the same value.
 *
 * Recursion through properties or items is allowed: it ends with the value. A cycle without them never ends, and chains that branch and join
 * again double the work at each branch.
 *
 * @throws ToolError `invalid_schema`
 */
export function checkReferenceGraph(nodes: readonly SchemaNode[]): void {
  const weights = new Map<SchemaNode, Weight>();
  for (const node of nodes) if (node.inPlace.length > 0) weigh(node, weights, 0);
}

function weigh(node: SchemaNode, weights: Map<SchemaNode, Weight>, depth: number): Weight {
  const known = weights.get(node);
  if (known === IN_PROGRESS) return throwInvalidSchema(node, "", "a reference leads back to itself without going deeper into the value");
  if (known !== undefined) return known;
  weights.set(node, IN_PROGRESS);
  let visits = 1;
  let height = 0;
  for (const next of node.inPlace) {
    const weight = depth > MAX_REFERENCE_DEPTH ? IN_PROGRESS : weigh(next, weights, depth + 1);
    visits += weight.visits;
    height = Math.max(height, weight.height);
  }
  const weight = { visits, height: height + 1 };
  weights.set(node, weight);
  if (depth > MAX_REFERENCE_DEPTH || weight.height > MAX_REFERENCE_DEPTH) {
    return throwInvalidSchema(node, "", `references and compositions form a chain of more than ${MAX_REFERENCE_DEPTH}`);
  }
  if (visits > MAX_VISITS_PER_VALUE)
    return throwInvalidSchema(node, "", `one value would have to be checked more than ${MAX_VISITS_PER_VALUE} times`);
  return weight;
}
