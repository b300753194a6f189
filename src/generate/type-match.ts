/** How well a value of one type stands where another type is wanted. */
import type { ParameterType } from "./tool-parameters.ts";

const EXACT = 1;
const NUMERIC = 0.8;
const SHARED_KEYS = 0.9;
/** Nothing is known that speaks against it. */
const OPAQUE = 0.7;
const NONE = 0;

/**
 * From 0, never, to 1, the same type: 0.8 between `integer` and `number`, 0.9 for objects with a property in common, 0.7 where one of
 * the two says too little to tell. Lists go with lists only, by what they hold. Of several types that each may have, the best pair counts.
 */
export function typeMatch(output: ParameterType, input: ParameterType): number {
  if (output.kinds.size === 0 || input.kinds.size === 0) return OPAQUE;
  let best = NONE;
  for (const kind of output.kinds) for (const wanted of input.kinds) best = Math.max(best, kindMatch(kind, wanted, { output, input }));
  return best;
}

interface Pair {
  readonly output: ParameterType;
  readonly input: ParameterType;
}

function kindMatch(kind: string, wanted: string, { output, input }: Pair): number {
  if (kind !== wanted) return isNumeric(kind) && isNumeric(wanted) ? NUMERIC : NONE;
  if (kind === "object") return keysMatch(output.keys, input.keys);
  if (kind === "array") return itemsMatch(output.items, input.items);
  return EXACT;
}

function isNumeric(kind: string): boolean {
  return kind === "integer" || kind === "number";
}

function keysMatch(output: ReadonlySet<string> | undefined, input: ReadonlySet<string> | undefined): number {
  if (output === undefined || input === undefined) return OPAQUE;
  for (const key of output) if (input.has(key)) return SHARED_KEYS;
  return NONE;
}

function itemsMatch(output: ParameterType | undefined, input: ParameterType | undefined): number {
  if (output === undefined && input === undefined) return EXACT;
  return output === undefined || input === undefined ? OPAQUE : typeMatch(output, input);
}
