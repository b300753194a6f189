/** Formats times, durations and counts for a person, in the reader's time zone. */

const TIME = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
const COUNT = new Intl.NumberFormat("en");

export function formatTime(at: number): string {
  return TIME.format(at);
}

/** Formats a moment of today as a time, and of another day with its date. */
export function formatShortTime(at: number, now: number): string {
  return new Date(at).toDateString() === new Date(now).toDateString() ? TIME.format(at) : DAY.format(at);
}

/** Formats a moment with its day and time zone. */
export function formatFullTime(at: number): string {
  return FULL.format(at);
}

/** Formats a duration. Each bound is where the smaller unit would be rounded up to one of the larger unit. */
export function formatDuration(ms: number): string {
  if (ms < 1) return "0 ms";
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** Maximum number of characters of a search that are sent. */
export const MAX_SEARCH_CHARS = 1_000;

/** Whether a text contains all the words, in any order and case. */
export function containsWords(text: string, words: string): boolean {
  const lower = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/u)
    .every((word) => lower.includes(word));
}

export function formatAgo(at: number, now: number): string {
  const ms = now - at;
  if (ms < 5_000) return "now";
  if (ms < 60_000) return `${Math.floor(ms / 1_000)} s ago`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ago`;
  return ms < 86_400_000 ? `${Math.floor(ms / 3_600_000)} h ago` : `${Math.floor(ms / 86_400_000)} d ago`;
}

export function formatCount(value: number): string {
  return COUNT.format(value);
}

export function formatPlural(value: number, one: string): string {
  return `${formatCount(value)} ${one}${value === 1 ? "" : "s"}`;
}
