/** Reads and writes the dates in examples, in the spellings used there. */
import type { JsonValue } from "../../core/base/json.ts";

interface ParsedDate {
  /** Milliseconds since 1970; for a time of day, since midnight. */
  readonly at: number;
  /** Whether it is a time of day, without a date. */
  readonly isTime: boolean;
  /** Whether it is more precise than a day. */
  readonly hasTime: boolean;
}

const DATE = /^(\d{4}-\d\d-\d\d)(?:([T ])(\d\d:\d\d)(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)?)?$/u;
const TIME = /^(\d\d):(\d\d)(:\d\d)?(Z)?$/u;
const DAY = 86_400_000;
/** Length of an ISO date with a year up to 9999. */
const MAX_ISO_LENGTH = 24;

/** Parses a date or time of day in ISO 8601; undefined for anything else. */
export function parseIsoDate(value: JsonValue | undefined): ParsedDate | undefined {
  if (typeof value !== "string" || value.length > 40) return undefined;
  const time = TIME.exec(value);
  if (time !== null) return { at: (Number(time[1]) * 60 + Number(time[2])) * 60_000, isTime: true, hasTime: true };
  const date = DATE.exec(value);
  if (date === null) return undefined;
  const at = Date.parse(`${date[1] ?? ""}T${date[3] ?? "00:00"}${date[4] ?? ":00"}${date[6] ?? "Z"}`);
  return Number.isNaN(at) ? undefined : { at, isTime: false, hasTime: date[3] !== undefined };
}

/** Writes a moment in the spelling of another date. */
export function formatDateLike(model: JsonValue | undefined, at: number): string {
  const text = String(model);
  const time = TIME.exec(text);
  if (time !== null) {
    const clock = new Date(((at % DAY) + DAY) % DAY).toISOString().slice(11, 16);
    return `${clock}${time[3] === undefined ? "" : ":00"}${time[4] ?? ""}`;
  }
  const found = DATE.exec(text);
  const zone = found?.[6];
  const shift =
    zone === undefined || zone === "Z"
      ? 0
      : Number(`${zone.slice(0, 1)}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))) * 60_000;
  const iso = new Date(at + shift).toISOString();
  if (iso.length > MAX_ISO_LENGTH) return text;
  if (found?.[3] === undefined) return iso.slice(0, 10);
  return `${iso.slice(0, 10)}${found[2] ?? "T"}${iso.slice(11, 16)}${found[4] === undefined ? "" : ":00"}${zone ?? ""}`;
}

/** Returns the day of a date; undefined for a time of day and for anything else. */
export function isoDayOf(value: JsonValue | undefined): string | undefined {
  const date = parseIsoDate(value);
  return date === undefined || date.isTime ? undefined : String(value).slice(0, 10);
}

/** Moves a date to a day from `from` to `to`, keeping its time and spelling. */
export function moveToDays(text: string, { from, to }: { readonly from: string; readonly to: string }): string {
  const date = parseIsoDate(text);
  const [first, last] = [Date.parse(from), Date.parse(to)];
  if (date === undefined || date.isTime || Number.isNaN(first) || Number.isNaN(last)) return text;
  const days = Math.max(0, Math.floor((last - first) / DAY));
  const shift = Math.floor(Math.max(0, date.at) / DAY) % (days + 1);
  return `${new Date(first + shift * DAY).toISOString().slice(0, 10)}${text.slice(10)}`;
}
