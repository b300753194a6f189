/** Pairs whose values must differ, such as the origin and destination of a trip. */
import type { Relation } from "../drawn-fields.ts";

const PAIRED: readonly (readonly [RegExp, readonly string[]])[] = [
  [/(^|_)from(?=_|$)/u, ["$1to"]],
  [/(^|_)origin(?=_|$)/u, ["$1destination"]],
  [/(^|_)source(?=_|$)/u, ["$1target", "$1destination"]],
  [/(^|_)base(?=_|$)/u, ["$1target", "$1quote"]],
  [/(^|_)departure(?=_|$)/u, ["$1arrival", "$1destination"]],
  [/(^|_)home(?=_|$)/u, ["$1away"]],
  [/(^|_)sender(?=_|$)/u, ["$1recipient", "$1receiver"]],
  [/(^|_)start(?=_|$)/u, ["$1end", "$1destination"]],
  [/(^|_)old(?=_|$)/u, ["$1new"]],
  [/(^|_)input(?=_|$)/u, ["$1output"]],
  [/(\D)_?1$/u, ["$12", "$1_2"]],
  [/(^|_)first_(?!name)/u, ["$1second_"]],
];
const MAX_REDRAWS = 6;

export const differentValues: Relation = (names) => {
  const pairs = [...names].flatMap((one) =>
    PAIRED.flatMap(([pattern, others]) => {
      const other = others.map((replacement) => one.replace(pattern, replacement)).find((name) => name !== one && names.has(name));
      return other === undefined ? [] : [{ one, other }];
    }),
  );
  if (pairs.length === 0) return undefined;
  return (object) => {
    for (const { one, other } of pairs)
      for (let turn = 1; turn <= MAX_REDRAWS && isSame(object.get(one), object.get(other)); turn++)
        object.redraw(object.isGenerated(other) ? other : one, turn);
  };
};

function isSame(one: unknown, other: unknown): boolean {
  return typeof one === "string" && one === other && one.length > 1;
}
