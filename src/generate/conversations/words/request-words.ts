/** The user's request for the calls of a turn. */
import type { Random } from "../../../core/ports.ts";
import type { Tool } from "../../../core/tool.ts";
import { inputParameters } from "../../tool-parameters.ts";
import { toolSubject } from "../tool-subject.ts";
import type { PlannedCall, PlannedTurn } from "../conversation-writer.ts";
import { isReading, purposeOf, purposeText, type Purpose } from "./purpose-words.ts";
import { SLOT_KINDS, fillPurpose, givenSlot, takenSlot, type Slot, type SlotContext } from "./slot-words.ts";
import { described } from "../../../schema/example/described.ts";
import { capital, isVoid, joined, label, oneOf } from "./value-words.ts";
import { plainName } from "../../../schema/example/name-words.ts";

/** One text for all calls of the turn, which holds every value that is given. */
export function requestWords({ index, calls }: PlannedTurn, random: Random): string {
  const spokenDays = random.next() < HALF;
  const wanted = calls.map((call) => orderOf(call, { random, spokenDays }));
  const [first = { verb: "do", rest: "it" }, ...more] = wanted;
  const opening = index === 0 ? "" : oneOf(random, LATER);
  const asked = asRequest(first, { random, opening });
  if (more.length === 0) return asked;
  const length = wanted.reduce((sum, one) => sum + purposeText(one).length, 0);
  if (length <= SHORT && !/(?:\?|please\.)$/u.test(asked) && !asked.includes('"'))
    return `${asked.slice(0, -1)}${more.map((one, at) => joining(calls[at + 1], random) + purposeText(one)).join("")}.`;
  return [asked, ...more.map((one, at) => `${following(calls[at + 1], random)} ${purposeText(one)}.`)].join(" ");
}

const HALF = 0.5;
const SHORT = 140;
const LATER = [
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

function joining(call: PlannedCall | undefined, random: Random): string {
  if (call?.parallel === true) return oneOf(random, [" and ", " and also ", ", and "]);
  return oneOf(random, [", then ", " and then ", ", and after that "]);
}

function following(call: PlannedCall | undefined, random: Random): string {
  return call?.parallel === true
    ? oneOf(random, ["Also", "And", "At the same time,"])
    : oneOf(random, ["Then", "After that,", "Once that is done,"]);
}

/** The purpose with the values in it. */
function orderOf({ tool, qualifiedName, given, taken }: PlannedCall, style: Omit<SlotContext, "toolNoun">): Purpose {
  const { noun } = toolSubject(qualifiedName);
  const purpose = purposeOf(tool);
  const context = { toolNoun: noun, labelOf: (name: string) => toldLabel(tool, name), ...style };
  const said = Object.entries(given).filter(([, value]) => !isVoid(value));
  const slots = [
    ...Object.entries(taken).map(([name, value]) => takenSlot(name, value, context)),
    ...said.map(([name, value]) => givenSlot(name, value, context)),
  ];
  const money = moneyOf(slots);
  const rest = withoutNamedInputs(withoutBetween(asSaidByUser(purpose.rest), money.slots), money.slots, labelsOf(tool));
  const filled = fillPurpose(rest, money.slots, labelsOf(tool));
  const text = withMoney(filled.text, { verb: purpose.verb, from: money.from, left: filled.left });
  const added = addedWords(text.left);
  return { verb: purpose.verb, rest: [text.words, added].filter((part) => part !== "").join(" ") };
}

const NO_WORD = /^(?:[a-z]{1,2}|[b-df-hj-np-tv-z]{2,4}\d?)$/u;
const MAX_HEAD = 30;

/** The name that the description gives an input such as `t` or `lr`, whose own name is no word. */
function toldLabel(tool: Tool, name: string): string | undefined {
  if (!NO_WORD.test(plainName(name)) || label(name) !== name.toLowerCase()) return undefined;
  const told = inputParameters(tool.inputSchema).find((one) => one.name === name)?.description ?? "";
  const head = described(told).head.replaceAll("_", " ");
  return head !== "" && head.length <= MAX_HEAD && !/\d/u.test(head) ? head : undefined;
}

const SOMEBODY =
  / to (?:somebody|someone|a recipient|the recipient|(?:an?|the|one or more) (?:given |specified )?(?:person|email address|address|user)s?)(?=$|[,;]| with\b)/iu;
const PLACE_TOLD =
  /\b(?:near|in|of|for|at|around) (?:an?|the|any) (?:given |specific |specified |certain )?(?:place|location|city|town|area|address|region|country)(?=$|[,;]| (?:and|on|for|with|by)\b)/iu;
const LANGUAGE_TOLD = /\b(?:in)?to (?:another|a different|the target|a target|any|a|the specified|the given) language\b/iu;

/** Leaves out general mentions of inputs, such as `by keyword`, whose values follow. */
function withoutNamedInputs(rest: string, slots: readonly Slot[], names: readonly string[]): string {
  let text = rest;
  if (slots.some(({ kind }) => kind === "to")) text = text.replace(SOMEBODY, "");
  const place = slots.find(({ kind, name }) => kind === "in" && plainName(name) !== "address");
  if (place !== undefined && PLACE_TOLD.exec(text)?.[0].endsWith(` ${place.noun}`) === false) text = text.replace(PLACE_TOLD, "");
  if (slots.some(({ name }) => /lang/iu.test(name))) text = text.replace(LANGUAGE_TOLD, "");
  for (const { noun } of slots)
    if (noun !== "" && text.includes(`a ${noun} of `))
      text = text.replace(new RegExp(`,? with an? ${noun.replaceAll(/[^\p{L}\p{N} ]/gu, ".")} of .*$`, "iu"), "");
  const [whole = "", listed = ""] = BY_INPUTS.exec(text) ?? [];
  const parts = listed === "" ? [] : listed.split(/,\s*(?:and |or )?| and | or /u).map((part) => part.replace(LEADING, "").toLowerCase());
  const known = names.map((name) => name.toLowerCase());
  const isNamed = (part: string): boolean =>
    part === "" || known.some((name) => name.includes(part) || (name.length > 2 && part.includes(name)));
  const isFor = parts.length === 1 && whole.startsWith(" for ");
  return (parts.length > 0 && !isFor && parts.every(isNamed) ? text.replace(BY_INPUTS, "") : text).trim();
}

const BY_INPUTS =
  / (?:by|using|with|based on|via|given|for) ((?:(?:its|their|the|an?|his|your|my) )?(?:(?:given|specified|provided|optional|unique|search) )?[\p{L} ]{2,30}?(?:(?:, | and |, and | or |, or )(?:(?:its|their|the|an?|optional) )?[\p{L} ]{2,30}?){0,5})$/u;
const LEADING = /^(?:(?:its|their|the|an?|his|your|my|given|specified|provided|optional|unique|search)\s+)+/iu;

const labels = new WeakMap<Tool, readonly string[]>();

/** The names of all inputs in words. */
function labelsOf(tool: Tool): readonly string[] {
  let known = labels.get(tool);
  if (known === undefined) labels.set(tool, (known = inputParameters(tool.inputSchema).map(({ name }) => label(name))));
  return known;
}

/** `your` in a description is `my` in the words of the user. */
function asSaidByUser(rest: string): string {
  return rest.replaceAll(/\b(?:your|(?:the|a) (?:current )?user's)\b/giu, "my").replaceAll(/\bto the user\b/giu, "to me");
}

/** `flights between two cities` is said as `flights`, where the cities follow. */
function withoutBetween(rest: string, slots: readonly Slot[]): string {
  const hasBoth = slots.some(({ kind }) => kind === "from") && slots.some(({ kind }) => kind === "to");
  return hasBoth
    ? rest.replace(
        / (?:between|from one) (?:(?:two|the|different|given|specified) )*(?:\p{L}+ ){0,2}?\p{L}+s(?: to another)?(?=$| (?:on|for|at|in|and|by)\b)/iu,
        "",
      )
    : rest;
}

/** An amount in a currency is said in one: `201.59 EUR`. */
function moneyOf(slots: readonly Slot[]): { readonly slots: readonly Slot[]; readonly from: Slot | undefined } {
  const amount = slots.find(({ name, bare }) => /^(?:amount|value|sum|total)$/iu.test(name) && /^[\d.]+$/u.test(bare));
  const currency = slots.find(
    ({ name, bare }) =>
      /^[A-Z]{3}$/u.test(bare) &&
      /^(?:from|currency|base|source|currency_?code|from_?currency|base_?currency|source_?currency|currency_?from)$/iu.test(name),
  );
  if (amount === undefined || currency === undefined) return { slots, from: undefined };
  const bare = `${amount.bare} ${currency.bare}`;
  const both = { ...amount, noun: "amount", bare, inPlace: bare, added: `the amount ${bare}` };
  return { slots: slots.flatMap((slot) => (slot === amount ? [both] : slot === currency ? [] : [slot])), from: both };
}

/** `convert 201.59 EUR between currencies` needs no `between`. */
function withMoney(
  text: string,
  { verb, from, left }: { readonly verb: string; readonly from: Slot | undefined; readonly left: readonly Slot[] },
): { readonly words: string; readonly left: readonly Slot[] } {
  if (verb !== "convert" || from === undefined) return { words: text, left };
  const isSaid = !left.includes(from);
  const words = (isSaid ? text : from.bare).replace(/ (?:between|from one|from)\b.*(?:currenc|unit).*$/u, "");
  return { words, left: left.filter((slot) => slot !== from) };
}

/** `for order O-1 from Oslo to Rome with the class business and the seat 12A`. */
function addedWords(slots: readonly Slot[]): string {
  const parts = SLOT_KINDS.flatMap((kind) => {
    const words = slots.filter((slot) => slot.kind === kind).map(({ added }) => added);
    if (words.length === 0) return [];
    return kind === "with" ? [`with ${joined(words)}`] : words;
  });
  const text = parts.join(" ").replaceAll(/( with [^"]*?) with (?=at most)/gu, "$1 and ");
  return text
    .replace(/\bfor (\d{4}) for (\p{Lu}\p{L}+)\b/u, "for $2 $1")
    .replace(
      /\bfor ((?:January|February|March|April|May|June|July|August|September|October|November|December)) for (\d{4})\b/u,
      "for $1 $2",
    )
    .replaceAll(/\bin ([^",]{2,40}?) in (?=\p{Lu})/gu, "in $1, ");
}

interface Asking {
  readonly random: Random;
  readonly opening: string;
}

/** A whole sentence, or two. */
function asRequest(purpose: Purpose, { random, opening }: Asking): string {
  const order = purposeText(purpose);
  const { rest } = purpose;
  const reading = isReading(purpose) && /^(?:the|an?|all|my|any|some|every|current|[a-z]+s\b|\d)/iu.test(rest);
  const words = reading
    ? oneOf(random, [
        `${capital(order)}.`,
        `Can you ${order}?`,
        `Show me ${rest}.`,
        `I need ${rest}.`,
        `Please ${order}.`,
        `Could you get me ${rest}?`,
        `I'd like to see ${rest}.`,
        `I'm looking for ${rest}.`,
        `Give me ${rest}, please.`,
      ])
    : oneOf(random, [
        `${capital(order)}.`,
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
