/** Makes the generated values of one object consistent: dates in order, sums that add up, a name and email address of one person. */
import { isJsonObject } from "../../core/base/json.ts";
import { countLists, shareLists } from "./relations/lists.ts";
import { ageOf, oneBody } from "./relations/bodies.ts";
import { discounted, netPay, repay, spanPrices, withFee } from "./relations/money.ts";
import { convert, limitParts, orderNumbers } from "./relations/numbers.ts";
import { workedOut } from "./relations/results.ts";
import { slugs } from "./relations/titles.ts";
import { differ } from "./relations/different.ts";
import { countDays, notYet, orderDates } from "./relations/dates.ts";
import { onePerson } from "./relations/people.ts";
import { onePlace } from "./relations/places.ts";
import { addUp, limitRefund } from "./relations/sums.ts";
import { type DrawnObject, type Relation, type Step, WholeObject } from "./whole-object.ts";

/** In the order in which they are applied: later relations build on earlier ones. */
const RELATIONS: readonly Relation[] = [
  differ,
  onePlace,
  onePerson,
  ageOf,
  oneBody,
  slugs,
  orderDates,
  countDays,
  notYet,
  orderNumbers,
  spanPrices,
  discounted,
  limitParts,
  convert,
  repay,
  netPay,
  addUp,
  withFee,
  workedOut,
  limitRefund,
  countLists,
  shareLists,
];

const MAX_KEPT = 2_000;
const MAX_KEY = 4_000;
const kept = new Map<string, readonly Step[]>();

export function agree(drawn: DrawnObject): void {
  const key = keyOf(drawn);
  let steps = kept.get(key);
  if (steps?.length === 0) return;
  const object = new WholeObject(drawn);
  steps ??= stepsFor(object, key);
  for (const step of steps) step(object);
}

/** Returns the names of the properties, including those of nested objects. */
function keyOf({ entries }: DrawnObject): string {
  let key = "";
  for (const [name, value] of entries) {
    key += `${name}\n`;
    if (isJsonObject(value)) key += `${Object.keys(value).join("\t")}\n`;
  }
  return key;
}

function stepsFor({ names }: WholeObject, key: string): readonly Step[] {
  const all = new Set(names);
  const steps = RELATIONS.map((relation) => relation(all)).filter((step) => step !== undefined);
  if (kept.size >= MAX_KEPT) kept.clear();
  if (key.length <= MAX_KEY) kept.set(key, steps);
  return steps;
}
