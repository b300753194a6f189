/** The action of a tool and the records that it acts on, as far as its name says. */
import { type JsonObject, type JsonValue, isJsonObject } from "../../core/base/json.ts";
import { memoize } from "../../core/base/memoize.ts";
import { wordSet, wordEntries } from "../../core/base/wording.ts";
import { nameWords, normalizeName, toSingular } from "../../schema/example/name-words.ts";

export type Verb = "create" | "read" | "update" | "remove" | "list" | "other";

export interface ToolIntent {
  readonly verb: Verb;
  /** The noun that it is about, singular, its words joined by `_`; `""` if the name has none. */
  readonly noun: string;
  readonly isPlural: boolean;
  /** The word of the name from which the verb follows; `""` if none does. */
  readonly word: string;
}

const VERBS: ReadonlyMap<string, Verb> = new Map([
  ...wordEntries(
    "create",
    "create add new insert post book register open place send schedule save upload make submit buy purchase reserve write store",
  ),
  ...wordEntries("read", "get read find fetch show retrieve lookup check view describe load query"),
  ...wordEntries("update", "update edit set change modify patch rename close complete resolve approve reject reopen"),
  ...wordEntries("remove", "delete remove cancel"),
  ...wordEntries("list", "list search all count browse"),
]);
const PREPOSITIONS = wordSet("by for with from in to of at on using via");
const NOISE = wordSet(
  "a an the all list lists details detail info information status data record entry my current pending existing new id and or specific single random latest",
);

const MAX_CACHED = 10_000;

/** Reads the qualified name of a tool. If its own name has no noun, the toolset's name is used. */
export const toolIntent = memoize(readIntent);

function readIntent(qualifiedName: string): ToolIntent {
  const at = qualifiedName.lastIndexOf("::");
  const words = nameWords(qualifiedName.slice(at < 0 ? 0 : at + 2));
  const verbAt = verbIndex(words);
  const verb = VERBS.get(words[verbAt] ?? "") ?? "other";
  const after = wordsBeforePreposition(words.slice(verbAt + 1));
  const nounSource = nounWords(after).length > 0 ? after : words.slice(0, Math.max(0, verbAt));
  const own = nounWords(nounSource);
  const noun = own.length > 0 || at < 0 ? own : nameWords(qualifiedName.slice(0, at)).slice(-1);
  const last = noun.at(-1) ?? "";
  const isPlural = toSingular(last) !== last;
  const wantsAll = words.includes("all") || words.includes("list");
  const meant = verb === "read" && wantsAll ? "list" : verb;
  return { verb: meant, noun: [...noun.slice(0, -1), toSingular(last)].join("_"), isPlural, word: words[verbAt] ?? "" };
}

/** The index of the verb. A list or a search may be named by the last word: `book_search`. */
function verbIndex(words: readonly string[]): number {
  const last = words.length - 1;
  if (last > 0 && VERBS.get(words[last] ?? "") === "list") return last;
  return words.findIndex((word) => VERBS.has(word));
}

function wordsBeforePreposition(words: readonly string[]): readonly string[] {
  const end = words.findIndex((word) => PREPOSITIONS.has(word));
  return end < 0 ? words : words.slice(0, end);
}

function nounWords(words: readonly string[]): readonly string[] {
  return words.filter((word) => !NOISE.has(word) && !PREPOSITIONS.has(word) && !/^v?\d+$/u.test(word));
}

/** Matches the beginning of descriptions of tools that read. */
const READ_DESCRIPTION =
  /^(?:this (?:endpoint|api|function|tool) (?:will )?)?(?:get|gets|fetch|fetches|retrieve|retrieves|return|returns|show|shows|find|finds|look|looks|provides?|search|searches|list|lists|display|displays)\b/iu;
const LIST_DESCRIPTION =
  /^(?:this (?:endpoint|api|function|tool) (?:will )?)?(?:(?:search|searches|list|lists)\b|(?:get|gets|fetch|fetches|retrieve|retrieves|return|returns|show|shows|find|finds|provides?|display|displays)\s+(?:me\s+)?(?:an?\s+|the\s+)?(?:\w+\s+)?(?:lists?\b|all\b|multiple|several))/iu;
const MAX_NOUN = 11;

/** Whether a word of a name seems to consist of several, such as `getallchannels`. */
export function isSeveralWords(word: string): boolean {
  return word.length > MAX_NOUN || /^(?:get|search|fetch|list|find)\p{L}{3,}/u.test(word);
}

const LISTED_NOUN = /(?:lists? of|\ball)\s+(?:(?:the|all|public|available)\s+){0,4}(\p{L}+s)\b/iu;
const intentCache = new Map<string, ToolIntent>();

/**
 * The intent of a tool by its name and its description. If the description says that it reads, a later word of the name is not taken as a verb, as in
 * `team_schedule`; if it says that it lists, the answer is a list.
 */
export function describedIntent(qualifiedName: string, description: string): ToolIntent {
  const key = `${qualifiedName}\n${description.slice(0, MAX_DESCRIPTION_CHARS)}`;
  let cached = intentCache.get(key);
  if (cached !== undefined) return cached;
  cached = withDescription(toolIntent(qualifiedName), { qualifiedName, description: description.slice(0, MAX_DESCRIPTION_CHARS).trim() });
  if (intentCache.size >= MAX_CACHED) intentCache.clear();
  intentCache.set(key, cached);
  return cached;
}

const MAX_DESCRIPTION_CHARS = 200;

function withDescription(
  intent: ToolIntent,
  { qualifiedName, description }: { readonly qualifiedName: string; readonly description: string },
): ToolIntent {
  const opens = nameWords(qualifiedName.slice(qualifiedName.lastIndexOf("::") + 2))[0] === intent.word;
  if (opens || !READ_DESCRIPTION.test(description)) return intent;
  const isMany = LIST_DESCRIPTION.test(description);
  const last = intent.noun.split("_").at(-1) ?? "";
  if (!isSeveralWords(last) || description.toLowerCase().includes(last)) return { ...intent, verb: isMany ? "list" : "read" };
  const many = isMany ? (LISTED_NOUN.exec(description)?.[1] ?? "") : "";
  return { ...intent, verb: isMany ? "list" : "read", noun: toSingular(many.toLowerCase()), isPlural: many !== "" };
}

/** The intent, with `list` in place of `read` if the answer has several records: the noun is plural or the tool accepts a page. */
export function asListIntent(
  intent: ToolIntent,
  { isNamed, takesPages }: { readonly isNamed: boolean; readonly takesPages: boolean },
): ToolIntent {
  if (intent.verb !== "read") return intent;
  return takesPages || (intent.isPlural && !isNamed) ? { ...intent, verb: "list", isPlural: intent.noun !== "" } : intent;
}

/** The record that a call or an answer names. */
export interface Identity {
  /** The nouns that it may be known by. */
  readonly nouns: readonly string[];
  readonly id: string;
  /** The property with the id, and the last word of its name. */
  readonly key: string;
  readonly kind: string;
  /** The owner of the id: the noun; a whole of which the noun is a part (`account_id` for an `account_balance`); or something else. */
  readonly of: "noun" | "whole" | "other";
}

const ID_WORDS = new Set(["id", "uuid", "guid", "key", "number", "code", "reference", "path"]);
/** Words before `id` that name no other record: `is_id` is the id of the noun. */
const NON_OWNER_WORDS = new Set("is,the,its,my,this,given,unique,by".split(","));
/** Names that are an id by themselves. */
const PLAIN_IDS = new Set(["id", "uuid", "path"]);

/** The parts of the name of an id: `order` and `id` for `order_id`. */
const splitIdName = memoize((name) => {
  const words = normalizeName(name).split("_");
  const kind = words.at(-1) ?? "";
  const named = words.slice(0, -1).join("_");
  return { kind, owner: NON_OWNER_WORDS.has(named) ? "" : named, isId: ID_WORDS.has(kind) };
});

/** The id in an input or an output: that of the noun (`order_id`, `orderId`), or `id`, or else the only `…_id`. */
export function findIdentity(values: JsonObject, noun: string): Identity | undefined {
  const last = noun.slice(noun.lastIndexOf("_") + 1);
  const nouns = last === noun ? [noun] : [noun, last];
  const others: Identity[] = [];
  let plainId: Identity | undefined;
  let number: Identity | undefined;
  for (const [key, value] of Object.entries(values)) {
    const id = toIdText(value);
    if (id === undefined) continue;
    const { kind, owner, isId } = splitIdName(key);
    if (!isId) continue;
    if (owner !== "" && (owner === noun || owner === last)) return { nouns, id, key, kind, of: "noun" };
    if (owner === "" && PLAIN_IDS.has(kind)) plainId ??= { nouns, id, key, kind, of: "noun" };
    else if (owner === "" && kind === "number") number = { nouns, id, key, kind, of: "noun" };
    else if (owner !== "" && kind === "id")
      others.push({ nouns: [...new Set([owner, ...nouns])], id, key, kind, of: noun.startsWith(`${owner}_`) ? "whole" : "other" });
  }
  return plainId ?? (others.length === 1 ? others[0] : others.length === 0 ? number : undefined);
}

const BOOKING_VERBS = new Set(["book", "reserve", "buy", "purchase"]);

/** Whether the verb makes another record than the noun: a booking of a flight. */
export function isBookingVerb(word: string): boolean {
  return BOOKING_VERBS.has(word);
}

const BOOKING_NOUNS = new Set(["booking", "reservation", "order", "purchase", "appointment"]);

/** The noun of the record that a tool makes, as named in its answer. */
export function createdNoun({ noun, word }: ToolIntent, output: JsonValue): string {
  if (!isBookingVerb(word) || !isJsonObject(output)) return noun;
  return Object.keys(output).find((name) => BOOKING_NOUNS.has(normalizeName(name))) ?? "";
}

/** The ids of other records in an input, such as the booked flight. */
export function findOtherIds(values: JsonObject, noun: string): readonly { readonly owner: string; readonly id: string }[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const words = normalizeName(key).split("_");
    const owner = words.slice(0, -1).join("_");
    const id = toIdText(value);
    return id === undefined || owner === "" || owner === noun || !ID_WORDS.has(words.at(-1) ?? "") ? [] : [{ owner, id }];
  });
}

const MAX_ID = 200;

export function toIdText(value: JsonValue | undefined): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" && value.length <= MAX_ID ? value : undefined;
}

/** The names that an id may have in an answer. */
export function idFields(nouns: readonly string[], id: JsonValue): JsonObject {
  const names = nouns.filter((noun) => noun !== "").map((noun) => `${noun}_id`);
  return Object.fromEntries(["id", ...names].map((name) => [name, id]));
}
