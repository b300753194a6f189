/** Sentences assembled from small parts and from things of a tool's topic: titles, messages, reviews, notes, queries. */
import { distinctCityValues } from "./cities.ts";
import type { RandomStream } from "./random-stream.ts";
import type { Topic } from "./topics.ts";
import * as words from "./words.ts";
import { capitalize } from "../../core/base/wording.ts";

export type TextKind =
  | "query"
  | "title"
  | "message"
  | "review"
  | "description"
  | "note"
  | "question"
  | "prompt"
  | "answer"
  | "reason"
  | "definition";

/** The kind of text, by the words of a name joined by `_`. */
export const TEXT_KINDS: readonly (readonly [RegExp, TextKind])[] = [
  [/(?:^|_)(?:definition|meaning)s?$/u, "definition"],
  [/(?:^|_)(?:query|q|search|keywords?|search_term|term|search_text|search_string|searchterm|phrase)$/u, "query"],
  [/(?:^|_)(?:question|problem)$/u, "question"],
  [/(?:^|_)prompt$/u, "prompt"],
  [/(?:^|_)(?:reviews?|feedback|comments?|opinion|testimonial)(?:_text)?$/u, "review"],
  [/(?:^|_)(?:reason|justification|cause|grounds)$/u, "reason"],
  [/(?:^|_)(?:title|subject|headline|heading|caption|topic)$/u, "title"],
  [/(?:^|_)(?:notes?|memo|remarks?|instructions?|special_requests?|requests?|details?|info|hint|task|goal|todo)$/u, "note"],
  [/(?:^|_)(?:answer|explanation|reply|response|result_text)$/u, "answer"],
  [/(?:description|summary|overview|abstract|bio|about|snippet|synopsis|plot|excerpt)s?$/u, "description"],
  [/(?:message|msg|body|content|text|sms|post|tweet|email_text|paragraph|sentence|document|input|speech|letter|string)s?$/u, "message"],
];

const list = (text: string): readonly string[] => text.split("|");

/** `{part}` is replaced by one of the texts of that part; `{thing}`, `{Thing}`, `{city}`, `{person}`, `{day}`, `{month}` and `{number}` by words. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  query: list(
    "{quality} {thing}|{thing} in {city}|{thing} {aspect}|{quality} {thing} {aspect}|{thing} near {city}|{thing} for {audience}|{quality} {thing} for {audience}|{quality} {thing} in {city}|{thing} or {other}|{thing} {aspect} {year}",
  ),
  title: list(
    "{Thing} for {audience}|{Quality} {thing}|{Quality} {thing}: {aspect}|{Thing} in {city}|{Day}: {thing}|{Thing} ({month})|{Thing} and {other}|Plan for {thing} in {month}|{person}'s notes on {thing}|{Thing} by {day}",
  ),
  message: list(
    "{greeting} {person}, {news} {ask}|{news} {ask}|{greeting} {person}, {ask} {closing}|{news} {closing}|{greeting} all, {news} {closing}|{person} said that {clause}. {ask}",
  ),
  review: list(
    "{verdict} {detail}|{detail} {verdict}|{verdict} {detail} {advice}|{detail} {advice}|Bought it in {month}: {lower} {advice}",
  ),
  description: list(
    "{Quality} {thing}, {purpose}.|{Thing}, {purpose}. {fact}|{Thing}: {quality} and {purpose}.|{Thing}, a {quality} choice {purpose}.|{Thing} with {feature}, {purpose}.|{Thing} with {feature}. {fact}",
  ),
  note: list(
    "{ask} {closing}|{Thing}: {clause}.|{clauseUp}, as {person} asked.|Check {thing} before {day}.|{ask}|Call {person} about {thing} on {day}.|{clauseUp} by {day}.|Remember {thing} for {person}.",
  ),
  question: list(
    "How does {thing} compare with {other}?|What should I know about {thing}?|Which {aspect} matters most for {thing}?|Is {thing} good for {audience}?|When is the best time for {thing} in {city}?|How do I get started with {thing}?|Why is {thing} so popular in {city}?|How much does {thing} cost in {city}?",
  ),
  prompt: list(
    "{quality} {thing}, {style}|Write about {thing} for {audience}.|{Thing} with {feature}, {style}|Explain {thing} to {audience}.|A short text about {thing} in {city}.|List {number} ideas about {thing} for {audience}.",
  ),
  answer: list(
    "{fact} {detail}|It depends on {aspect}; {clause}.|Yes, {clause}. {fact}|{clauseUp}, so {person} chose {thing}.|{fact} Ask {person} for {aspect}.",
  ),
  reason: list(
    "{why}, as agreed with {person}.|{why}, as {person} said on {day}.|{why}; {person} was told.|{why}, and {month} suits better.|{why}, so it has to wait until {month}.|{why}; {person} takes over.",
  ),
  why: list(
    "Plans for {day} changed|Plans for {month} changed|{person} asked for it|It is not needed before {month}|Nobody is free on {day}|We are moving to {city}|{person} is away until {day}|There was a mistake on {day}|We are travelling to {city}|It was entered twice on {day}|The date does not suit {person}|{person} is ill",
  ),
  definition: list(
    "something {quality} that is used {when}|a {quality} way to {doing} something|the act of {moving} {where}|a place where people {doing} things|a {quality} feeling that comes {when}|what remains {where} {when}|to {doing} something in a {quality} way|one who likes to {doing} things {where}|the time {when} when it is {quality}",
  ),
  when: list("in {month}|before winter|at night|after a long day|on {day}|early in the morning|during a journey|in old stories"),
  doing: list("carry|mend|share|collect|paint|measure|keep|exchange|describe|grow|open|remember"),
  moving: list("walking|looking|returning|travelling|listening|turning|waiting|crossing"),
  where: list("near the sea|in {city}|towards the light|across a river|at home|in the mountains|behind a wall|in a garden"),
  lower: list(
    "it arrived in {number} days and does its job.|a little smaller than expected.|works exactly as described.|the {aspect} could be better.|well made and easy to use.",
  ),
  greeting: list("Hi|Hello|Dear|Good morning|Hey|Good evening"),
  news: list(
    "{clause}.|the {aspect} of {thing} changed.|{thing} is ready for {day}.|we moved {thing} to {day}.|{number} people signed up for {thing}.|I sent you {aspect} of {thing}.|{thing} arrives on {day}.|we will be in {city} until {day}.|I finished {thing} yesterday.|the plan for {month} is done.",
  ),
  ask: list(
    "Could you look at {thing} before {day}?|Please confirm by {day}.|Let me know whether {day} suits you.|Please send {aspect} to {person}.|Can we talk about {thing} on {day}?|Please add {person} to the list.|Do you need anything else for {thing}?|Keep {number} for {person}, please.|Please book {city} for {day}.|Tell {person} when {thing} is done.",
  ),
  closing: list(
    "Thanks!|Many thanks, {person}|See you on {day}.|Best, {person}|Talk soon.|Have a good {day}.|Regards from {city}.|Thank you for your help with {thing}.",
  ),
  clause: list(
    "{thing} takes about {number} days|the {aspect} is better in {month}|{person} already tried {thing}|there are {number} left|{city} was the better choice|{thing} works well for {audience}|nobody expected {thing} in {month}|the {aspect} went up by {number} percent|{other} would be cheaper|it starts on {day}|most of {thing} is done|{person} prefers {other}",
  ),
  clauseUp: list(
    "The {aspect} is not right|It arrived after {day}|{Thing} takes {number} days|{Person} already has one|The {aspect} went up by {number} percent|{Other} would be better|{Thing} is enough for {month}|Plans for {city} changed|We need {number} more",
  ),
  verdict: list(
    "Very happy with {thing}.|Good value, {quality} too.|Not what I expected.|Exactly as described.|Better than {other}.|Would choose {thing} again.|The {aspect} could be better.|Solid, if not perfect.|A pleasant surprise.|Fine for {audience}.|Disappointed by the {aspect}.|{number} weeks in and still great.",
  ),
  detail: list(
    "The {aspect} is excellent.|{Person} liked the {aspect} most.|It took {number} days to get to {city}.|We used it for {number} weeks.|The {aspect} was a little weak.|Everything worked from {day} on.|{number} of us tried it in {month}.|It looks {quality} and feels sturdy.|Support answered within {number} hours.|There is plenty of {aspect}.",
  ),
  advice: list(
    "Recommended for {audience}.|Wait for a sale in {month}.|Ask about the {aspect} first.|Get it before {month}.|Compare it with {other}.|I would order it again.|Take {number} if you can.|Better on a {day}.",
  ),
  purpose: list(
    "made for {audience}|popular in {city}|suited to {audience}|liked by {audience}|available since {month}|tested for {number} weeks|popular with {audience} in {city}|often chosen by {audience}",
  ),
  feature: list("{number} options|{quality} details|good {aspect}|{number} variants|clear {aspect}|a {quality} look"),
  fact: list(
    "Liked by {audience}.|First seen in {city}.|{person} wrote about it in {month}.|New since {month}.|Available until {month}.|Recommended by {person}.|Well known in {city}.|{number} people asked for it in {month}.",
  ),
  aspect: list("price|quality|size|design|comparison|reviews|colour|guide|tips|alternatives|details|range"),
  audience: list(
    "beginners|families|small teams|students|children|professionals|two people|a weekend|everyday use|large groups|first-time visitors|older people",
  ),
  quality: list("reliable|affordable|simple|modern|popular|light|quiet|bright|practical|classic|new|sturdy|local|fresh|well-known|compact"),
  style: list(
    "soft light|in watercolour|high detail|black and white|from above|flat design|wide angle|pastel colours|isometric view|at dawn",
  ),
};
const YEARS = ["2024", "2025", "2026"];
const DEFAULT_THINGS = list(
  "the draft|the new offer|the spring catalogue|last week's order|the guest list|the first delivery|the travel plan|the garden project|the opening|the monthly report|the spare key|the workshop|the samples|the seating plan",
);
const CITIES = distinctCityValues("city");
const MAX_DEPTH = 4;

/** Returns a text of this kind about things of the topic. */
export function freeText(kind: TextKind, topic: Topic | undefined, random: RandomStream): string {
  const text = expandPattern(random.pick(PARTS[kind] ?? []), { topic, random, depth: 0 });
  const corrected = text.replaceAll(/\b([Aa]) (?=[aio]|e(?!u)|u(?!ni|s))/gu, "$1n ");
  return kind === "query" ? corrected.replaceAll(/^the /gu, "") : capitalize(corrected);
}

interface Expansion {
  readonly topic: Topic | undefined;
  readonly random: RandomStream;
  readonly depth: number;
}

function expandPattern(pattern: string, at: Expansion): string {
  return pattern.replaceAll(/\{(\w+)\}/gu, (_, slot: string) => fillSlot(slot, at));
}

function fillSlot(slot: string, { topic, random, depth }: Expansion): string {
  const thing = (): string =>
    topic?.named === "works" && random.next() < 0.8 ? workTitle(random) : random.pick(topic?.things ?? DEFAULT_THINGS);
  switch (slot) {
    case "thing":
    case "other":
      return thing();
    case "Thing":
    case "Other":
      return capitalize(thing());
    case "person":
    case "Person":
      return random.pick(words.FIRST_NAMES);
    case "city":
      return random.pick(CITIES);
    case "day":
    case "Day":
      return random.pick(words.WEEKDAYS);
    case "month":
      return random.pick(words.MONTHS);
    case "year":
      return random.pick(YEARS);
    case "number":
      return String(random.integer(2, 30));
    case "Quality":
      return capitalize(random.pick(PARTS["quality"] ?? []));
    default:
      return depth >= MAX_DEPTH ? "" : expandPattern(random.pick(PARTS[slot] ?? [""]), { topic, random, depth: depth + 1 });
  }
}

/** Returns the title of a film, book or song. */
export function workTitle(random: RandomStream): string {
  const [quality, noun] = [capitalize(random.pick(words.ADJECTIVES)), capitalize(random.pick(words.NOUNS))];
  const [other, city] = [capitalize(random.pick(words.NOUNS)), random.pick(CITIES)];
  return random.pick([
    `The ${quality} ${noun}`,
    `${quality} ${noun}`,
    `The ${noun} of ${city}`,
    `${/^[AEIOU]/u.test(noun) ? "An" : "A"} ${noun} in ${city}`,
    `${noun} and ${other}`,
    `The ${noun} and the ${other}`,
  ]);
}
