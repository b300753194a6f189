/** Makes the generated values of one object consistent: dates in order, sums that add up, a name and email address of one person. */
import { isJsonObject } from "../../core/base/json.ts";
import { setListCounts, normalizeShares } from "./relations/lists.ts";
import { ageFromBirthDate, consistentBody } from "./relations/bodies.ts";
import { applyDiscount, netPay, loanPayments, limitDayPrices, addFee } from "./relations/money.ts";
import { convertCurrency, limitParts, orderNumbers } from "./relations/numbers.ts";
import { expressionResult } from "./relations/expressions.ts";
import { slugFromTitle } from "./relations/slugs.ts";
import { differentValues } from "./relations/different-values.ts";
import { countDays, clearUnreachedDates, orderDates } from "./relations/dates.ts";
import { consistentPerson } from "./relations/people.ts";
import { consistentPlace } from "./relations/places.ts";
import { sumTotals, limitRefund } from "./relations/sums.ts";
import { type DrawnObject, type Relation, type ConsistencyStep, DrawnFields } from "./drawn-fields.ts";

/** In the order in which they are applied: later relations build on earlier ones. */
const RELATIONS: readonly Relation[] = [
  differentValues,
  consistentPlace,
  consistentPerson,
  ageFromBirthDate,
  consistentBody,
  slugFromTitle,
  orderDates,
  countDays,
  clearUnreachedDates,
  orderNumbers,
  limitDayPrices,
  applyDiscount,
  limitParts,
  convertCurrency,
  loanPayments,
  netPay,
  sumTotals,
  addFee,
  expressionResult,
  limitRefund,
  setListCounts,
  normalizeShares,
];

const MAX_KEPT = 2_000;
const MAX_KEY = 4_000;
const stepCache = new Map<string, readonly ConsistencyStep[]>();

export function makeConsistent(drawn: DrawnObject): void {
  const key = keyOf(drawn);
  let steps = stepCache.get(key);
  if (steps?.length === 0) return;
  const object = new DrawnFields(drawn);
  steps ??= createSteps(object, key);
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

function createSteps({ names }: DrawnFields, key: string): readonly ConsistencyStep[] {
  const all = new Set(names);
  const steps = RELATIONS.map((relation) => relation(all)).filter((step) => step !== undefined);
  if (stepCache.size >= MAX_KEPT) stepCache.clear();
  if (key.length <= MAX_KEY) stepCache.set(key, steps);
  return steps;
}
