/** Reads and writes dates and times by a mask such as `DD/MM/YYYY` or `%Y-%m-%d %H:%M`. */

type Part = "year" | "shortYear" | "month" | "day" | "hour" | "minute" | "second" | "monthName";

/** The parts of a date in order, and the literal text between them. */
export interface DateMask {
  readonly pieces: readonly (Part | { readonly text: string })[];
  readonly hasDay: boolean;
  readonly hasTime: boolean;
}

const TOKEN = "%[YymdHMSIB]|[Yy]{4}|[Yy]{2}|M{2,4}|mm|[Dd]{2}|[Hh]{2}|[Ss]{2}";
const MASK = new RegExp(String.raw`(?<![A-Za-z%])(?:${TOKEN})(?:(?:[-/.:, ]|T|'T')?(?:${TOKEN})){0,5}(?:\.s{3})?Z?(?![A-Za-z%])`, "gu");
/** A single part of a date counts as a mask only if the text calls it a format. */
const ALONE = /\bformats? (?:of )?['"`(](DD|MM|HH|mm|dd)['"`)]|['"`(](DD|MM|HH|mm|dd)['"`)] format/u;
const PIECE = new RegExp(`${TOKEN}|'T'|.`, "gu");
const PHP_MASKS: ReadonlyMap<string, string> = new Map([
  ["Y-m-d", "YYYY-MM-DD"],
  ["d/m/Y", "DD/MM/YYYY"],
  ["m/d/Y", "MM/DD/YYYY"],
  ["d-m-Y", "DD-MM-YYYY"],
]);
const STRFTIME_PARTS: ReadonlyMap<string, Part> = new Map([
  ["%Y", "year"],
  ["%y", "shortYear"],
  ["%m", "month"],
  ["%d", "day"],
  ["%H", "hour"],
  ["%I", "hour"],
  ["%M", "minute"],
  ["%S", "second"],
  ["%B", "monthName"],
]);
const MONTH_NAMES = "January February March April May June July August September October November December".split(" ");
const MAX_KEPT = 500;
const maskCache = new Map<string, DateMask>();

/** Returns the first mask in a text; undefined if there is none. */
export function findMask(text: string): DateMask | undefined {
  for (const [letters, mask] of PHP_MASKS) if (text.includes(letters)) return parseMask(mask);
  const alone = ALONE.exec(text)
    ?.slice(1)
    .find((part) => part !== undefined);
  if (alone !== undefined) return parseMask(alone);
  for (const [found] of text.matchAll(MASK)) {
    if (!/^[Yy]{4}$/u.test(found) && !/(?:[YyMmDdHhSs]{2}|%\w).*(?:[YyMmDdHhSs]{2}|%\w)/u.test(found)) continue;
    const mask = parseMask(found);
    const parts = mask.pieces.filter((piece) => typeof piece === "string");
    if (parts.length > 1 || parts[0] === "year") return mask;
  }
  return undefined;
}

/** Returns the mask of a date such as `2024-05-01`, `2024-05-01T10:00:00Z`, `20240501` or `10:30`, if its spelling is unambiguous. */
export function inferMask(text: string): DateMask | undefined {
  const found = DATE_FORMATS.find(([pattern]) => pattern.test(text));
  if (found !== undefined) return parseMask(found[1]);
  const european = /^(\d\d)([/.-])(\d\d)\2\d{4}$/u.exec(text);
  if (european === null) return undefined;
  const [, first, separator, second] = european;
  const isMonthFirst = Number(second) > 12;
  if (!isMonthFirst && !(Number(first) > 12)) return undefined;
  return parseMask((isMonthFirst ? ["MM", "DD", "YYYY"] : ["DD", "MM", "YYYY"]).join(separator));
}

const DATE_FORMATS: readonly (readonly [RegExp, string])[] = [
  [/^(?:19|20)\d\d-[01]\d-[0-3]\d$/u, "YYYY-MM-DD"],
  [/^(?:19|20)\d\d\/[01]\d\/[0-3]\d$/u, "YYYY/MM/DD"],
  [/^(?:19|20)\d\d-[01]\d$/u, "YYYY-MM"],
  [/^(?:19|20)\d\d[01]\d[0-3]\d$/u, "YYYYMMDD"],
  [/^(?:19|20)\d\d-[01]\d-[0-3]\dT[\d:]{8}(?:\.\d{3})?Z$/u, "YYYY-MM-DDTHH:MM:SSZ"],
  [/^(?:19|20)\d\d-[01]\d-[0-3]\dT[\d:]{8}$/u, "YYYY-MM-DDTHH:MM:SS"],
  [/^(?:19|20)\d\d-[01]\d-[0-3]\d [\d:]{8}$/u, "YYYY-MM-DD HH:MM:SS"],
  [/^(?:19|20)\d\d-[01]\d-[0-3]\d \d\d:\d\d$/u, "YYYY-MM-DD HH:MM"],
  [/^[0-2]\d:[0-5]\d$/u, "HH:MM"],
  [/^[0-2]\d:[0-5]\d:[0-5]\d$/u, "HH:MM:SS"],
];

export function parseMask(mask: string): DateMask {
  const known = maskCache.get(mask);
  if (known !== undefined) return known;
  const pieces: (Part | { readonly text: string })[] = [];
  let isAfterHour = false;
  for (const [token] of mask.matchAll(PIECE)) {
    const part = maskPartOf(token, isAfterHour);
    isAfterHour ||= part === "hour";
    pieces.push(part ?? { text: token === "'T'" ? "T" : token });
  }
  const read = { pieces, hasDay: pieces.includes("day"), hasTime: pieces.includes("hour") };
  if (maskCache.size >= MAX_KEPT) maskCache.clear();
  maskCache.set(mask, read);
  return read;
}

/** `MM` is the month, but after an hour the minute. */
function maskPartOf(token: string, isAfterHour: boolean): Part | undefined {
  const named = STRFTIME_PARTS.get(token);
  if (named !== undefined || !/^[YyMmDdHhSs]{2,4}$/u.test(token)) return named;
  if (token.length === 4 && /^y/iu.test(token)) return "year";
  if (token === "MMMM" || token === "MMM") return "monthName";
  switch (token.charAt(0).toLowerCase()) {
    case "y":
      return "shortYear";
    case "d":
      return "day";
    case "h":
      return "hour";
    case "s":
      return "second";
    default:
      return isAfterHour ? "minute" : "month";
  }
}

/** @param at milliseconds since 1970; the year must have four digits */
export function formatDate({ pieces }: DateMask, at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  const texts: Readonly<Record<Part, string>> = {
    year,
    shortYear: year.slice(-2),
    month: two(date.getUTCMonth() + 1),
    day: two(date.getUTCDate()),
    hour: two(date.getUTCHours()),
    minute: two(date.getUTCMinutes()),
    second: two(date.getUTCSeconds()),
    monthName: MONTH_NAMES[date.getUTCMonth()] ?? "",
  };
  return pieces.map((piece) => (typeof piece === "string" ? texts[piece] : piece.text)).join("");
}

const WIDTH: Readonly<Partial<Record<Part, number>>> = { year: 4, shortYear: 2, month: 2, day: 2, hour: 2, minute: 2, second: 2 };

/** Parses a date to milliseconds since 1970; undefined if the text does not match the mask. */
export function parseDate({ pieces }: DateMask, text: string): number | undefined {
  const read: Partial<Record<Part, number>> = {};
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece !== "string") {
      if (!text.startsWith(piece.text, at)) return undefined;
      at += piece.text.length;
      continue;
    }
    const month = piece === "monthName" ? MONTH_NAMES.findIndex((name) => text.startsWith(name, at)) : -1;
    const width = WIDTH[piece] ?? MONTH_NAMES[month]?.length ?? 0;
    const digits = text.slice(at, at + width);
    if (month < 0 && !/^\d+$/u.test(digits)) return undefined;
    read[piece] = month < 0 ? Number(digits) : month + 1;
    at += width;
  }
  if (at !== text.length) return undefined;
  const year = read.year ?? (read.shortYear === undefined ? 1970 : 2000 + read.shortYear);
  return Date.UTC(year, (read.month ?? read.monthName ?? 1) - 1, read.day ?? 1, read.hour ?? 0, read.minute ?? 0, read.second ?? 0);
}
