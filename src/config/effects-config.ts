/** Reads what calls touch, as far as it can be said without code. */
import * as presets from "../core/effects.ts";
import type { Effects } from "../core/effects.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import type { TableReader } from "./table-reader.ts";

/** The effects that have a name of their own. */
export const EFFECT_PRESETS: ReadonlyMap<string, Effects> = new Map([
  ["pure", presets.pure],
  ["readOnly", presets.readOnly()],
  ["external", presets.external],
]);

/** A table whose keys are patterns over names, and whose values are a preset's name or a table of effects. */
export function readEffectsByName(table: TableReader): Readonly<Record<string, Effects>> {
  const byName: [pattern: string, effects: Effects][] = [];
  for (const pattern of table.names()) {
    const effects = readEffects(table, pattern);
    if (effects !== undefined) byName.push([pattern, effects]);
  }
  return Object.fromEntries(byName);
}

function readEffects(table: TableReader, key: string): Effects | undefined {
  if (typeof table.value(key) === "string") {
    const word = table.choice(key, [...EFFECT_PRESETS.keys()]);
    return word === undefined ? undefined : EFFECT_PRESETS.get(word);
  }
  return table.section(key, readDeclared);
}

function readDeclared(effects: TableReader): Effects {
  return omitUndefined({
    reads: effects.texts("reads"),
    writes: effects.texts("writes"),
    idempotent: effects.flag("idempotent"),
    external: effects.flag("external"),
    destructive: effects.flag("destructive"),
    commutative: effects.flag("commutative"),
  });
}
