/** Strings for the formats of JSON Schema and OpenAPI. */
import type { RandomStream } from "./random-stream.ts";
import { FIRST_NAMES, LAST_NAMES, NOUNS } from "./words.ts";

type TextMaker = (random: RandomStream) => string;

const two = (value: number): string => String(value).padStart(2, "0");

export function dateText(random: RandomStream): string {
  return `${random.integer(2024, 2026)}-${two(random.integer(1, 12))}-${two(random.integer(1, 28))}`;
}

export function timeText(random: RandomStream): string {
  return `${two(random.integer(7, 21))}:${two(random.integer(0, 11) * 5)}:00`;
}

export function digitsText(random: RandomStream, length: number): string {
  let text = "";
  while (text.length < length) text += random.integer(text === "" ? 1 : 0, 9);
  return text;
}

export function hexText(random: RandomStream, length: number): string {
  let text = "";
  while (text.length < length) text += random.integer(0, 15).toString(16);
  return text;
}

function uuidText(random: RandomStream): string {
  const tail = `${"89ab".charAt(random.integer(0, 3))}${hexText(random, 3)}-${hexText(random, 12)}`;
  return `${hexText(random, 8)}-${hexText(random, 4)}-4${hexText(random, 3)}-${tail}`;
}

function emailText(random: RandomStream): string {
  return `${random.pick(FIRST_NAMES)}.${random.pick(LAST_NAMES)}@example.com`.toLowerCase();
}

const urlText: TextMaker = (random) => `https://example.com/${random.pick(NOUNS)}/${random.integer(1, 999)}`;
const hostText: TextMaker = (random) => `${random.pick(NOUNS)}.example.com`;
const dateTimeText: TextMaker = (random) => `${dateText(random)}T${timeText(random)}Z`;

const MAKERS: ReadonlyMap<string, TextMaker> = new Map<string, TextMaker>([
  ["date", dateText],
  ["date-time", dateTimeText],
  ["datetime", dateTimeText],
  ["time", (random) => `${timeText(random)}Z`],
  ["duration", (random) => `PT${random.integer(1, 12)}H`],
  ["email", emailText],
  ["idn-email", emailText],
  ["uri", urlText],
  ["url", urlText],
  ["iri", urlText],
  ["uri-reference", (random) => `/${random.pick(NOUNS)}/${random.integer(1, 999)}`],
  ["iri-reference", (random) => `/${random.pick(NOUNS)}/${random.integer(1, 999)}`],
  ["uri-template", (random) => `https://example.com/${random.pick(NOUNS)}/{id}`],
  ["hostname", hostText],
  ["idn-hostname", hostText],
  ["uuid", uuidText],
  ["guid", uuidText],
  ["ipv4", (random) => `192.0.2.${random.integer(1, 254)}`],
  ["ip", (random) => `192.0.2.${random.integer(1, 254)}`],
  ["ipv6", (random) => `2001:db8::${hexText(random, 4)}`],
  ["json-pointer", (random) => `/${random.pick(NOUNS)}/0`],
  ["relative-json-pointer", (random) => `1/${random.pick(NOUNS)}`],
  ["regex", (random) => `^${random.pick(NOUNS)}$`],
  ["byte", (random) => btoa(random.pick(NOUNS))],
  ["binary", (random) => btoa(random.pick(NOUNS))],
  ["phone", phoneText],
  ["password", (random) => `${hexText(random, 10)}Z!`],
  ["int64", (random) => digitsText(random, 12)],
  ["decimal", (random) => `${random.integer(1, 500)}.${two(random.integer(0, 99))}`],
  ["unix-time", (random) => String(random.integer(1_704_067_200, 1_798_761_600))],
]);

export function phoneText(random: RandomStream): string {
  return `+1-555-01${digitsText(random, 2)}`;
}

/** Returns a string of this format; undefined if the format is unknown. */
export function formatText(format: string, random: RandomStream): string | undefined {
  return MAKERS.get(format.toLowerCase())?.(random);
}

const SHORT_EMAILS: readonly TextMaker[] = [firstNameAt("example.com"), firstNameAt("ex.org"), () => "a@b.co"];
const SHORT_URLS: readonly TextMaker[] = [() => "https://example.com", () => "http://ex.org", () => "http://b.co"];
const SHORT_HOSTS: readonly TextMaker[] = [() => "example.com", () => "ex.org", () => "b.co"];
/** Makers of shorter strings of a format, the longest first: a string that is cut off is not of its format. */
const SHORT_MAKERS: ReadonlyMap<string, readonly TextMaker[]> = new Map([
  ["email", SHORT_EMAILS],
  ["idn-email", SHORT_EMAILS],
  ["uri", SHORT_URLS],
  ["url", SHORT_URLS],
  ["iri", SHORT_URLS],
  ["hostname", SHORT_HOSTS],
  ["idn-hostname", SHORT_HOSTS],
]);

function firstNameAt(domain: string): TextMaker {
  return (random) => `${random.pick(FIRST_NAMES)}@${domain}`.toLowerCase();
}

/** Returns a string of this format that is not longer, in UTF-16 units; undefined if none is known. */
export function shortFormatText(format: string, maxLength: number, random: RandomStream): string | undefined {
  for (const make of SHORT_MAKERS.get(format.toLowerCase()) ?? []) {
    const text = make(random);
    if (text.length <= maxLength) return text;
  }
  return undefined;
}
