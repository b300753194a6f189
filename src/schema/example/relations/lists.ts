/** The counts of lists, and shares that add up to 100. */
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from "../../../core/base/json.ts";
import { normalizeName, toSingular } from "../name-words.ts";
import type { Relation, DrawnFields } from "../drawn-fields.ts";

const MAX_ITEMS = 1_000;

/** `count` is the length of the only list, `tag_count` that of `tags`. */
export const setListCounts: Relation = (names) => {
  const pairs = [...names].flatMap((list) =>
    [`${toSingular(list)}_count`, `${list}_count`, `num_${list}`, `number_of_${list}`, `${list}_length`, `total_${list}`]
      .filter((count) => names.has(count))
      .map((count) => ({ list, count })),
  );
  const plain = ["count", "returned"].filter((name) => names.has(name));
  if (pairs.length === 0 && plain.length === 0) return undefined;
  return (object) => {
    const lists = [...names].filter((name) => isJsonArray(object.get(name)));
    for (const { list, count } of pairs) setCount(object, list, count);
    const [only] = lists;
    if (only !== undefined && lists.length === 1) for (const count of plain) setCount(object, only, count);
  };
};

function setCount(object: DrawnFields, list: string, count: string): void {
  const items = object.get(list);
  if (isJsonArray(items) && object.getNumber(count) !== undefined) object.setNumber(count, items.length);
}

const SHARE = /^(?:percentage|percent|share|portion|allocation|vote_share|market_share)(?:_(?:percent|percentage|pct))?$/u;

/** The shares in a list add up to 100. */
export const normalizeShares: Relation = (names) => {
  const lists = [...names].filter((name) => isList(name.slice(name.lastIndexOf("_") + 1)));
  if (lists.length === 0) return undefined;
  return (object) => {
    for (const name of lists) {
      const items = object.get(name);
      if (!isJsonArray(items) || items.length < 2 || items.length > MAX_ITEMS || !items.every(isJsonObject)) continue;
      const key = Object.keys(items[0] ?? {}).find((one) => SHARE.test(normalizeName(one)));
      if (key !== undefined) object.set(name, normalizeItemShares(items, key) ?? items);
    }
  };
};

/** Whether a word is a name of a list. */
function isList(word: string): boolean {
  return toSingular(word) !== word || /^(?:data|list|breakdown|distribution|split|composition)$/u.test(word);
}

function normalizeItemShares(items: readonly JsonObject[], key: string): JsonValue | undefined {
  const shares = items.map((item) => item[key]);
  if (!shares.every((share) => typeof share === "number" && share > 0)) return undefined;
  const sum = shares.reduce<number>((total, share) => total + Number(share), 0);
  let left = 100;
  return items.map((item, index) => {
    const share = index === items.length - 1 ? left : Math.round((Number(item[key]) / sum) * 100);
    left -= share;
    return { ...item, [key]: share };
  });
}
