/** Recognizes which properties have ids, and of what. */
import { memoize } from "../../core/base/memoize.ts";
import { nameWords, normalizeName, toSingular } from "../../schema/example/name-words.ts";

/** The words with which names of ids end. */
const ID_WORDS = new Set("id,ids,uuid,uuids,guid,guids,uid,identifier,identifiers".split(","));
/** Things before `number`, `code` or `reference` that make it an id: an `order_number` is one, a `number` is a plain number. */
const NUMBERED_NOUNS = new Set(
  "order,account,tracking,flight,invoice,ticket,booking,reservation,confirmation,case,customer,reference,policy,serial".split(","),
);

/** Whether a property with this name has an id, or several. */
export const isIdName = memoize((name) => {
  const words = nameWords(name);
  const last = words.at(-1) ?? "";
  if (ID_WORDS.has(last)) return true;
  const before = words.at(-2) ?? "";
  return (last === "number" || last === "code" || last === "reference") && NUMBERED_NOUNS.has(before);
});

/** Words before `id` that are not nouns: `is_id` is the id of the tool's own subject. */
const NON_NOUNS = new Set("is,a,the,its,by,my,this,your,new,get,given,unique,some,any".split(","));

/** Returns `order` for `order_id` and `orderIds`; `""` for `id`. */
export const idNoun = memoize((name) => {
  const words = normalizeName(name).split("_").slice(0, -1);
  if (words.length === 1 && NON_NOUNS.has(words[0] ?? "")) return "";
  return [...words.slice(0, -1), toSingular(words.at(-1) ?? "")].join("_");
});
