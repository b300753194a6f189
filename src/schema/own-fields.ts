/** Reads the fields of untrusted objects: own ones only, and at a known cost. */
import type { RawSchema } from "./compiled-schema.ts";

/** Whether an object has a field of its own; one that holds `undefined` is absent, as it is in JSON. */
export function isPresent(object: RawSchema, name: string): boolean {
  return object[name] !== undefined && Object.hasOwn(object, name);
}

/** The names of the fields that are present, in their own order. */
export function presentNames(object: RawSchema): readonly string[] {
  const names = Object.keys(object);
  return names.every((name) => object[name] !== undefined) ? names : names.filter((name) => object[name] !== undefined);
}

const FEW_NAMES = 64;
const FEW_NAMES_PER_STEP = 4;
const STEPS_PER_MANY_NAMES = 2;

/** The cost of looking a list of names up in one object: many names spoil the engine's caches. */
export function lookUpSteps(names: number): number {
  return names <= FEW_NAMES ? Math.ceil(names / FEW_NAMES_PER_STEP) : names * STEPS_PER_MANY_NAMES;
}

/** The cost of listing one field of a large object and reading it. */
export const STEPS_PER_FIELD = 4;
