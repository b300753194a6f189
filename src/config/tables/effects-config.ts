/** Reads the effects of calls, as far as they can be declared without code. */
import * as presets from "../../core/resources/effects.ts";
import type { Effects } from "../../core/resources/effects.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { formatForOperator } from "../../core/error.ts";
import { compileKeys } from "../../core/resources/resource-keys.ts";
import type { TableReader } from "../table-reader.ts";

/** The effects that have a name. */
export const EFFECT_PRESETS: ReadonlyMap<string, Effects> = new Map([
  ["pure", presets.pure],
  ["readOnly", presets.readOnly()],
  ["external", presets.external],
]);

/** Reads a table whose keys are patterns over names, and whose values are the name of a preset or a table of effects. */
export function readEffectsByName(table: TableReader): Readonly<Record<string, Effects>> {
  return Object.fromEntries(table.mapEntries((pattern) => readEffects(table, pattern)));
}

function readEffects(table: TableReader, key: string): Effects | undefined {
  if (typeof table.value(key) === "string") {
    const word = table.choice(key, [...EFFECT_PRESETS.keys()]);
    return word === undefined ? undefined : EFFECT_PRESETS.get(word);
  }
  return table.section(key, readDeclared);
}

/** Reads one key or an array of keys, each of which may be a template. */
function readKeys(effects: TableReader, field: "reads" | "writes"): string | readonly string[] | undefined {
  const keys = typeof effects.value(field) === "string" ? effects.text(field) : effects.texts(field);
  if (keys === undefined) return undefined;
  try {
    compileKeys(keys);
    return keys;
  } catch (thrown: unknown) {
    effects.report(field, formatForOperator(thrown));
    return undefined;
  }
}

function readDeclared(effects: TableReader): Effects {
  return omitUndefined({
    reads: readKeys(effects, "reads"),
    writes: readKeys(effects, "writes"),
    idempotent: effects.flag("idempotent"),
    external: effects.flag("external"),
    destructive: effects.flag("destructive"),
    commutative: effects.flag("commutative"),
  });
}
