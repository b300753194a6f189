/** The words that a name is made of. */

const MAX_NAME = 200;
const MAX_KEPT = 5_000;
const kept = new Map<string, readonly string[]>();

/** The words of `createdAt`, `created_at`, `HTTPStatus` or `orders::find-one`, in lower case. Only the first 200 characters are read. */
export function nameWords(name: string): readonly string[] {
  const known = kept.get(name);
  if (known !== undefined) return known;
  const words = name
    .slice(0, MAX_NAME)
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  if (kept.size >= MAX_KEPT) kept.clear();
  if (name.length <= MAX_NAME) kept.set(name, words);
  return words;
}

/** Spells a name so that `orderId`, `order_id` and `ORDER-ID` are one. */
export function plainName(name: string): string {
  return nameWords(name).join("_");
}

/** `orders` to `order`, `cities` to `city`, `boxes` to `box`; others stay. */
export function singular(word: string): string {
  if (word.length < 4 || /(?:ss|us|is|news|series)$/u.test(word)) return word;
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:s|x|z|ch|sh)es$/u.test(word)) return /(?:[ao]ses|uses|nses|rses|zes)$/u.test(word) ? word.slice(0, -1) : word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

export function plural(word: string): string {
  if (/(?:s|x|z|ch|sh)$/u.test(word)) return `${word}es`;
  return /[^aeiou]y$/u.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
