/** Finds the property that holds the id of its object. */
import type { JsonObject } from "../../core/base/json.ts";
import type { Subject } from "./given-values.ts";
import { normalizeName } from "./name-words.ts";

const PLAIN = new Set(["id", "uuid"]);
/** Names of lists whose items are the things that the answer is about. */
const ANY_ITEM = new Set("result,item,record,entry,row,hit,match,object,element,value,data".split(","));
/** Names of lists of order lines, whose only id is that of the thing on the line. */
const LINES = new Set("item,line,line_item,cart_item,order_item,entry,product".split(","));

/** Whether items of a list of this name may be anything. */
export function isGenericItemName(name: string): boolean {
  return ANY_ITEM.has(normalizeName(name));
}

/** Returns the property with an object's own id; undefined if there is none. @param whose the noun for the object, in the singular */
export function findIdName(names: readonly string[], whose: string, subject: Subject | undefined): string | undefined {
  const noun = normalizeName(whose === "" || isGenericItemName(whose) ? (subject?.noun ?? whose) : whose);
  const last = noun.slice(noun.lastIndexOf("_") + 1);
  let only: string | undefined;
  let count = 0;
  for (const name of names) {
    const plain = normalizeName(name);
    if (PLAIN.has(plain) || (noun !== "" && (plain === `${noun}_id` || plain === `${last}_id`))) return name;
    if (!plain.endsWith("_id")) continue;
    only = name;
    count++;
  }
  return count === 1 && LINES.has(normalizeName(whose)) ? only : undefined;
}

/** Returns the own id of a list item; undefined if it has none. */
export function findId(item: JsonObject, whose: string, subject: Subject | undefined): string | undefined {
  const name = findIdName(Object.keys(item), whose, subject);
  const value = name === undefined ? undefined : item[name];
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}
