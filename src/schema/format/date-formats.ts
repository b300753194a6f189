/** Dates and times as RFC 3339 writes them. */

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/u;
const TIME = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:z|([+-])(\d\d):(\d\d))$/iu;
/** The parts follow each other without a gap: years and days need months between them. */
const DURATION_DATE = "(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)";
const DURATION_TIME = "(?:T(?:\\d+S|\\d+M(?:\\d+S)?|\\d+H(?:\\d+M(?:\\d+S)?)?))";
const DURATION = new RegExp(`^P(?:\\d+W|${DURATION_DATE}${DURATION_TIME}?|${DURATION_TIME})$`, "u");
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
const DATE_LENGTH = 10;
const DAY_MINUTES = 1_440;

/** `2026-02-28`, a day that the calendar has. */
export function isDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day >= 1 && day <= (DAYS[month - 1] ?? 0) + (isLeap ? 1 : 0);
}

/** `12:30:00Z`, `12:30:00.5+02:00`. A leap second is the last of a day in UTC. */
export function isTime(text: string): boolean {
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
export function isDateTime(text: string): boolean {
  return /^[Tt]$/u.test(text.charAt(DATE_LENGTH)) && isDate(text.slice(0, DATE_LENGTH)) && isTime(text.slice(DATE_LENGTH + 1));
}

/** `P1Y2M3DT4H5M6S`, `P2W`. */
export function isDuration(text: string): boolean {
  return DURATION.test(text);
}
