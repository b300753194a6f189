import type { Random } from "../../../core/ports.ts";
import { capitalize } from "../../../core/base/wording.ts";
import { withIdNames } from "../../../engine/example/path-ids.ts";
import { toolSubject } from "../tool-subject.ts";
import type { PlannedCall, PlannedTurn } from "../conversation-writer.ts";
import { isReadPurpose, formatPurpose, type Purpose } from "./tool-purpose.ts";
import { SLOT_KINDS, createGivenSlot, createTakenSlot, type Slot, type SlotContext, type SlotKind } from "./request-slots.ts";
import { ToolRequest } from "./tool-request.ts";
import { isEmptyValue, joinList, pickOne } from "./format-value.ts";

/** Writes one text for all calls of the turn, which contains every given value. */
export function formatRequest({ index, calls }: PlannedTurn, random: Random): string {
  const spokenDays = random.next() < SPOKEN_DAYS_PROBABILITY;
  const wanted = calls.map((call) => fillCallPurpose(call, { random, spokenDays }));
  const [first = { verb: "do", rest: "it" }, ...more] = wanted;
  const opening = index === 0 ? "" : pickOne(random, LATER_OPENINGS);
  const firstSentence = formatSentence(first, opening, random);
  if (more.length === 0) return firstSentence;
  const length = wanted.reduce((sum, one) => sum + formatPurpose(one).length, 0);
  if (length <= MAX_JOINED_CHARS && !/(?:\?|please\.)$/u.test(firstSentence) && !firstSentence.includes('"'))
    return `${firstSentence.slice(0, -1)}${more.map((one, at) => chooseJoiner(calls[at + 1], random) + formatPurpose(one)).join("")}.`;
  return [firstSentence, ...more.map((one, at) => `${chooseSentenceOpening(calls[at + 1], random)} ${formatPurpose(one)}.`)].join(" ");
}

const SPOKEN_DAYS_PROBABILITY = 0.5;
const MAX_JOINED_CHARS = 140;
const LATER_OPENINGS = [
  "",
  "",
  "",
  "Thanks, ",
  "Great, ",
  "Okay, ",
  "Good, ",
  "Perfect, thanks, ",
  "Next, ",
  "One more thing: ",
  "Alright, ",
  "And now, ",
] as const;

function chooseJoiner(call: PlannedCall | undefined, random: Random): string {
  if (call?.parallel === true) return pickOne(random, [" and ", " and also ", ", and "]);
  return pickOne(random, [", then ", " and then ", ", and after that "]);
}

function chooseSentenceOpening(call: PlannedCall | undefined, random: Random): string {
  return call?.parallel === true
    ? pickOne(random, ["Also", "And", "At the same time,"])
    : pickOne(random, ["Then", "After that,", "Once that is done,"]);
}

/** Verbs of tools that return several results. */
const SEARCHES = /^(?:search|find|look|browse|discover|recommend|suggest|rank)$/u;

/** Returns the purpose of a call with its values filled in. */
function fillCallPurpose(
  { tool, qualifiedName, given, taken }: PlannedCall,
  style: Omit<SlotContext, "toolNoun" | "readsThings">,
): Purpose {
  const { noun, verb } = toolSubject(qualifiedName);
  const request = ToolRequest.of(tool);
  const readsThings = verb === "list" || verb === "read" || isReadPurpose(request.purpose) || SEARCHES.test(request.purpose.verb);
  const context: SlotContext = { toolNoun: noun, readsThings, findLabel: (name) => request.describedLabel(name), ...style };
  const slots: Slot[] = [];
  for (const [name, value] of Object.entries(taken)) slots.push(createTakenSlot(name, value, context));
  for (const [name, value] of Object.entries(withIdNames(tool, given)))
    if (!isEmptyValue(value)) slots.push(createGivenSlot(name, value, context));
  const { words, left } = request.fillSlots(mergeMoney(slots));
  const added = formatTrailing(left);
  return { verb: request.purpose.verb, rest: words === "" || added === "" ? words + added : `${words} ${added}` };
}

/** Merges an amount and its currency into one slot: `201.59 EUR`. */
function mergeMoney(slots: readonly Slot[]): { readonly slots: readonly Slot[]; readonly moneySlot: Slot | undefined } {
  const amount = slots.find(({ name, bare }) => /^(?:amount|value|sum|total)$/iu.test(name) && /^[\d.]+$/u.test(bare));
  const currency = slots.find(
    ({ name, bare }) =>
      /^[A-Z]{3}$/u.test(bare) &&
      /^(?:from|currency|base|source|currency_?code|from_?currency|base_?currency|source_?currency|currency_?from)$/iu.test(name),
  );
  if (amount === undefined || currency === undefined) return { slots, moneySlot: undefined };
  const bare = `${amount.bare} ${currency.bare}`;
  const moneySlot = { ...amount, noun: "amount", bare, inPlace: bare, added: `the amount ${bare}` };
  return { slots: slots.flatMap((slot) => (slot === amount ? [moneySlot] : slot === currency ? [] : [slot])), moneySlot: moneySlot };
}

/** Writes the remaining values, such as `for order O-1 from Oslo to Rome with the class business and the seat 12A`. */
function formatTrailing(slots: readonly Slot[]): string {
  if (slots.length === 0) return "";
  const parts: string[] = [];
  for (const kind of SLOT_KINDS) addSlotsOfKind(parts, slots, kind);
  let text = parts.join(" ");
  if (text.includes(" with at most")) text = text.replaceAll(/( with [^"]{0,200}?) with (?=at most)/gu, "$1 and ");
  if (text.includes(" for "))
    text = text
      .replace(/\bfor (\d{4}) for (\p{Lu}\p{L}+)\b/u, "for $2 $1")
      .replace(
        /\bfor ((?:January|February|March|April|May|June|July|August|September|October|November|December)) for (\d{4})\b/u,
        "for $1 $2",
      );
  return text.includes(" in ") ? text.replaceAll(/\bin ([^",]{2,40}?) in (?=\p{Lu})/gu, "in $1, ") : text;
}

/** Adds the values of one kind; those of the kind `with` are joined. */
function addSlotsOfKind(parts: string[], slots: readonly Slot[], kind: SlotKind): void {
  if (kind !== "with") {
    for (const slot of slots) if (slot.kind === kind) parts.push(slot.added);
    return;
  }
  const words = slots.filter((slot) => slot.kind === kind).map(({ added }) => added);
  if (words.length > 0) parts.push(`with ${joinList(words)}`);
}

/** Writes a purpose as a whole sentence. */
function formatSentence(purpose: Purpose, opening: string, random: Random): string {
  const order = formatPurpose(purpose);
  const { rest } = purpose;
  const reading = isReadPurpose(purpose) && /^(?:the|an?|all|my|any|some|every|current|[a-z]+s\b|\d)/iu.test(rest);
  const words = reading
    ? pickOne(random, [
        `${capitalize(order)}.`,
        `Can you ${order}?`,
        `Show me ${rest}.`,
        `I need ${rest}.`,
        `Please ${order}.`,
        `Could you get me ${rest}?`,
        `I'd like to see ${rest}.`,
        `I'm looking for ${rest}.`,
        `Give me ${rest}, please.`,
      ])
    : pickOne(random, [
        `${capitalize(order)}.`,
        `Please ${order}.`,
        `Can you ${order}?`,
        `Could you ${order}, please?`,
        `I need you to ${order}.`,
        `I'd like to ${order}.`,
        `I want to ${order}.`,
        `Would you ${order}?`,
      ]);
  return opening === "" || /^I\b/u.test(words) ? `${opening}${words}` : `${opening}${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}
