/** Splits names into words. */

/** One-word names that end in `id`: `leagueid`. */
const JOINED_ID =
  /^(?:league|team|player|user|product|order|game|match|event|item|post|video|channel|account|customer|brand|season|tournament|category|country|city|hotel|property|movie|book|song|artist|album|track|page|group|image|photo|file|message|task|zone|series|episode|transaction|session|project|campaign|ticket|course|location|station|store|vehicle|company|document|list|playlist|article|comment|room|race|driver|fixture|contact|device|phone|show|tag|type|performance|competition|round|stage|venue|region|state|district|section|media|asset|coin|token)ids?$/u;
const MAX_NAME = 200;
const MAX_KEPT = 5_000;
const wordCache = new Map<string, readonly string[]>();
const normalizedNameCache = new Map<string, string>();

/** Returns the words of `createdAt`, `created_at`, `HTTPStatus` or `orders::find-one`, in lower case. Only reads the first 200 characters. */
export function nameWords(name: string): readonly string[] {
  const known = wordCache.get(name);
  if (known !== undefined) return known;
  const words = name
    .slice(0, MAX_NAME)
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .flatMap((word) => (JOINED_ID.test(word) ? word.replace(/(ids?)$/u, " $1").split(" ") : word));
  if (wordCache.size >= MAX_KEPT) wordCache.clear();
  if (name.length <= MAX_NAME) wordCache.set(name, words);
  return words;
}

/** Normalizes a name: `orderId`, `order_id` and `ORDER-ID` become the same. */
export function normalizeName(name: string): string {
  const known = normalizedNameCache.get(name);
  if (known !== undefined) return known;
  const joined = nameWords(name).join("_");
  if (normalizedNameCache.size >= MAX_KEPT) normalizedNameCache.clear();
  if (name.length <= MAX_NAME) normalizedNameCache.set(name, joined);
  return joined;
}

/** Words whose singular ends in `ie`. */
const IE = /(?:movie|cookie|calorie|zombie|selfie|hoodie|rookie|brownie|smoothie|prairie|foodie|birdie|genie|pie|tie|lie)s$/u;

/** Converts `orders` to `order`, `cities` to `city`, `boxes` to `box`; other words stay unchanged. */
export function toSingular(word: string): string {
  if (word.length < 4 || /(?:ss|us|is|news|series)$/u.test(word)) return word;
  if (IE.test(word)) return word.slice(0, -1);
  if (word.endsWith("ies")) return `${word.slice(0, -3)}y`;
  if (/(?:s|x|z|ch|sh)es$/u.test(word)) return /(?:[ao]ses|uses|nses|rses|zes)$/u.test(word) ? word.slice(0, -1) : word.slice(0, -2);
  return word.endsWith("s") ? word.slice(0, -1) : word;
}

export function toPlural(word: string): string {
  if (/(?:news|series|species)$/u.test(word)) return word;
  if (/(?:s|x|z|ch|sh)$/u.test(word)) return `${word}es`;
  return /[^aeiou]y$/u.test(word) ? `${word.slice(0, -1)}ies` : `${word}s`;
}
