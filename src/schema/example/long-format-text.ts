/** Strings of a format that are longer than usual: a string with letters at its end is mostly not of its format any more. */
import { digitsText, formatText, hexText } from "./format-text.ts";
import type { RandomStream } from "./random-stream.ts";
import { NOUNS } from "./words.ts";

/** Maximum lengths of the part of an email address before its `@`, and of a host name. */
const MAX_LOCAL = 64;
const MAX_HOST = 253;
const IPV6_GROUPS = 8;
const IPV6_START = "2001:0db8:";

/** Takes a usual string of the format, and its minimum length. */
type TextStretcher = (text: string, minLength: number, random: RandomStream) => string;

function longHost(text: string, minLength: number, random: RandomStream): string {
  return minLength > MAX_HOST ? text : labelsText(minLength - text.length, random) + text;
}

function longEmail(text: string, minLength: number, random: RandomStream): string {
  const at = text.indexOf("@");
  const missing = minLength - text.length;
  const before = Math.min(missing, MAX_LOCAL - at);
  const domain = text.slice(at + 1);
  const local = labelsText(before, random) + text.slice(0, at);
  return `${local}@${longHost(domain, domain.length + missing - before, random.branch("domain"))}`;
}

/** Puts fractions of a second before the time zone. */
function withFraction(text: string, minLength: number, random: RandomStream): string {
  const digits = Math.max(1, minLength - text.length - 1);
  return text.replace(/Z$/u, `.${digitsText(random, digits)}Z`);
}

function longIpv6(_text: string, _minLength: number, random: RandomStream): string {
  const groups = Array.from({ length: IPV6_GROUPS - 2 }, () => hexText(random, 4));
  return IPV6_START + groups.join(":");
}

function longDuration(_text: string, minLength: number, random: RandomStream): string {
  const time = `DT${random.integer(1, 12)}H${random.integer(10, 59)}M`;
  return `P${digitsText(random, Math.max(1, minLength - time.length - 1))}${time}`;
}

/** Returns words of this length in all, in labels: a prefix for a host name or a local part. */
function labelsText(length: number, random: RandomStream): string {
  let text = "";
  for (let words = 1; text.length < length; words++) text += random.pick(NOUNS) + (words % 4 === 0 ? "." : "-");
  const cut = text.slice(0, Math.max(0, length));
  return /[.-].$/u.test(cut) ? cut.replace(/[.-]$/u, "x") : cut.replace(/[.-]$/u, "s");
}

const STRETCHERS: ReadonlyMap<string, TextStretcher> = new Map<string, TextStretcher>([
  ["email", longEmail],
  ["idn-email", longEmail],
  ["hostname", longHost],
  ["idn-hostname", longHost],
  ["date-time", withFraction],
  ["time", withFraction],
  ["ipv6", longIpv6],
  ["duration", longDuration],
]);

/** Returns a string of this format with at least this many UTF-16 units; undefined if none is known. */
export function longFormatText(format: string, minLength: number, random: RandomStream): string | undefined {
  const stretch = STRETCHERS.get(format.toLowerCase());
  const text = stretch === undefined ? undefined : formatText(format, random);
  if (stretch === undefined || text === undefined || text.length >= minLength) return text;
  const long = stretch(text, minLength, random.branch("long"));
  return long.length >= minLength ? long : undefined;
}
