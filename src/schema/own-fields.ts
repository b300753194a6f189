/** Reads own fields of untrusted objects, at a known cost. */
import type { RawSchema } from "./compiled-schema.ts";

/** Whether an object has an own field; `undefined` counts as absent, as in JSON. */
export function hasField(object: RawSchema, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}

/** Returns the names of the present fields, in their own order. */
export function fieldNames(object: RawSchema): readonly string[] {
  const names = Object.keys(object);
  return names.every((name) => object[name] !== undefined) ? names : names.filter((name) => object[name] !== undefined);
}

const FEW_NAMES = 64;
const FEW_NAMES_PER_STEP = 4;
const STEPS_PER_MANY_NAMES = 2;

/** The cost of looking up this many names in one object, in steps: many names miss the engine's inline caches. */
export function lookUpSteps(names: number): number {
  return names <= FEW_NAMES ? Math.ceil(names / FEW_NAMES_PER_STEP) : names * STEPS_PER_MANY_NAMES;
}

/** The cost of listing and reading one field of a large object, in steps. */
export const STEPS_PER_FIELD = 4;
