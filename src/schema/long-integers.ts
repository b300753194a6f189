/** Checks outputs in which integers that JavaScript cannot hold are strings. */
import { unescapePointerStep } from "../core/base/json-pointer.ts";
import type { Validator } from "./compile-schema.ts";
import { isLongInteger } from "./schema-problem.ts";

/** Maximum number of such integers in one output. */
const MAX_INTEGERS = 1_000;

/**
 * Whether an output matches its schema. Where the schema allows no string, one that is a long integer, `"1915883588174806058"`, counts as that
 * integer: engines read the long integers of an answer as strings, so that no digit is lost.
 */
export function isValidOutput(validator: Validator, output: unknown): boolean {
  return validator.check(output) || matchesWithLongIntegers(validator, output);
}

function matchesWithLongIntegers(validator: Validator, output: unknown): boolean {
  const problems = validator.problems(output, MAX_INTEGERS + 1);
  const places = problems.map(({ pointer }) => pointer.split("/").slice(1).map(unescapePointerStep));
  if (places.length > MAX_INTEGERS || !places.every((steps) => isLongInteger(steps.reduce<unknown>(memberOf, output)))) return false;
  const restored = { output: structuredClone(output) };
  for (const place of places) restoreInteger(restored, ["output", ...place]);
  return validator.check(restored.output);
}

function memberOf(value: unknown, step: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;
}

function restoreInteger(root: object, place: readonly string[]): void {
  const container = place.slice(0, -1).reduce<unknown>(memberOf, root);
  const step = place.at(-1) ?? "";
  if (typeof container === "object" && container !== null) Reflect.set(container, step, Number(memberOf(container, step)));
}
