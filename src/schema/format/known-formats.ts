/** The formats of JSON Schema that can be checked, by name, each with an example for messages. */
import { isEmail, isHostname, isInternationalEmail, isIpv4, isIpv6 } from "./address-formats.ts";
import { isIri, isIriReference, isUri, isUriReference, isUriTemplate } from "./uri-formats.ts";

export interface KnownFormat {
  readonly isValid: (text: string) => boolean;
  /** The format in words, with an article. */
  readonly meaning: string;
  readonly example: string;
}

const UUID = /^[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$/u;
/** Maximum length of a pattern that is checked; longer ones are accepted. */
const MAX_REGEX = 10_000;
const ESCAPE = /\\([^])/gu;
const MEANINGLESS_ESCAPE = /^[A-Za-z]$(?<![bBcdDfknrsStuvwWx])/u;

function isJsonPointer(text: string): boolean {
  return text === "" || (text.startsWith("/") && !/~(?![01])/u.test(text));
}

function isRelativeJsonPointer(text: string): boolean {
  const [steps = ""] = /^(?:0|[1-9]\d*)/u.exec(text) ?? [];
  const rest = text.slice(steps.length);
  return steps !== "" && (rest === "#" || isJsonPointer(rest));
}

/** Whether ECMAScript accepts the pattern, with or without the flag `u` (`[\w-.]`: only without). Refuses meaningless escapes, such as `\Z`. */
function isRegex(text: string): boolean {
  if (text.length > MAX_REGEX || parsesAsRegex(text, "u")) return true;
  const isPlain = [...text.matchAll(ESCAPE)].every(([, escaped = ""]) => !MEANINGLESS_ESCAPE.test(escaped));
  return isPlain && parsesAsRegex(text, "");
}

/** Whether the pattern compiles; it is never run. */
function parsesAsRegex(text: string, flags: string): boolean {
  try {
    return new RegExp(text, flags).source !== undefined;
  } catch {
    return false;
  }
}

/** Formats by name. `idn-hostname` is missing: it would need tables of all scripts. */
export const KNOWN_FORMATS: ReadonlyMap<string, KnownFormat> = new Map<string, KnownFormat>([
  ["date", { isValid: isDate, meaning: "a date", example: "2026-01-31" }],
  ["time", { isValid: isTime, meaning: "a time with its offset", example: "14:30:00Z" }],
  ["date-time", { isValid: isDateTime, meaning: "a date and time with its offset", example: "2026-01-31T14:30:00Z" }],
  ["duration", { isValid: (text) => DURATION.test(text), meaning: "a duration", example: "P1DT12H" }],
  ["email", { isValid: isEmail, meaning: "an email address", example: "ada@example.com" }],
  ["idn-email", { isValid: isInternationalEmail, meaning: "an email address", example: "ada@example.com" }],
  ["hostname", { isValid: isHostname, meaning: "a host name", example: "api.example.com" }],
  ["ipv4", { isValid: isIpv4, meaning: "an IPv4 address", example: "192.0.2.1" }],
  ["ipv6", { isValid: isIpv6, meaning: "an IPv6 address", example: "2001:db8::1" }],
  ["uri", { isValid: isUri, meaning: "a URI", example: "https://example.com/a" }],
  ["uri-reference", { isValid: isUriReference, meaning: "a URI or a relative reference", example: "/a?b=c" }],
  ["iri", { isValid: isIri, meaning: "an IRI", example: "https://example.com/ä" }],
  ["iri-reference", { isValid: isIriReference, meaning: "an IRI or a relative reference", example: "/ä?b=c" }],
  ["uri-template", { isValid: isUriTemplate, meaning: "a URI template", example: "/orders/{id}" }],
  ["uuid", { isValid: (text) => UUID.test(text), meaning: "a UUID", example: "123e4567-e89b-12d3-a456-426614174000" }],
  ["json-pointer", { isValid: isJsonPointer, meaning: "a JSON pointer", example: "/items/0" }],
  ["relative-json-pointer", { isValid: isRelativeJsonPointer, meaning: "a relative JSON pointer", example: "1/items" }],
  ["regex", { isValid: isRegex, meaning: "a regular expression of ECMAScript", example: "^[a-z]+$" }],
]);

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/u;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/iu;
/** Units must be contiguous: years and days need months between them. */
const DURATION_DATE = "(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)";
const DURATION_TIME = "(?:T(?:\\d+S|\\d+M(?:\\d+S)?|\\d+H(?:\\d+M(?:\\d+S)?)?))";
const DURATION = new RegExp(`^P(?:\\d+W|${DURATION_DATE}${DURATION_TIME}?|${DURATION_TIME})$`, "u");
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DATE_LENGTH = 10;
const DAY_MINUTES = 1_440;

/** Whether a date such as `2026-02-28` exists in the calendar. */
function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (DAYS[month - 1] ?? 0) + (isLeap ? 1 : 0);
}

/** `12:30:00Z`, `12:30:00.5+02:00`. A leap second is only allowed as the last second of a day in UTC. */
function isTime(text: string): boolean {
  const found = TIME.exec(text);
  if (found === null) return false;
  const [, hour = 0, minute = 0, second = 0] = found.map(Number);
  const sign = found[4] === "-" ? -1 : 1;
  const [offsetHour, offsetMinute] = [Number(found[5] ?? 0), Number(found[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const utc = hour * 60 + minute - sign * (offsetHour * 60 + offsetMinute);
  return (utc + 2 * DAY_MINUTES) % DAY_MINUTES === DAY_MINUTES - 1;
}

/** `2026-02-28T12:30:00Z`. */
function isDateTime(text: string): boolean {
  return /^[Tt]$/u.test(text.charAt(DATE_LENGTH)) && isDate(text.slice(0, DATE_LENGTH)) && isTime(text.slice(DATE_LENGTH + 1));
}
