/** When a schedule fires: local times in a time zone, across changes to and from daylight saving time. */
import { Cron } from "croner";
import { describeThrown } from "../core/error.ts";
import { SettingsError } from "./settings-error.ts";
import { WallClock } from "./wall-clock.ts";

/** The rule of a schedule: exactly one of the first four fields. */
export interface ScheduleRule {
  /**
   * Fires every so many minutes, counted from each midnight. More than 60 are times of the day, such as 0:00 and 12:00 for 720, each of which fires once
   * also on a day of 23 or 25 hours.
   */
  readonly everyMinutes?: number;
  /** Fires once a day at this time, `HH:MM`. */
  readonly dailyAt?: string;
  /** Fires once an hour at this minute, 0 to 59. */
  readonly hourlyAt?: number;
  /** A cron expression of five fields, or of six with the seconds first. */
  readonly cron?: string;
  /** An IANA time zone such as `Europe/Berlin`. @default the time zone of the process, which is stored with the trigger */
  readonly zone?: string;
}

const RULES = ["everyMinutes", "dailyAt", "hourlyAt", "cron"] as const satisfies readonly (keyof ScheduleRule)[];

/** The times at which a schedule fires. */
export interface Schedule {
  /** The first time after `at`; undefined if there is none. Both in wall-clock milliseconds since the epoch. */
  next(at: number): number | undefined;
  /** The latest time that is not after `at`; undefined if there is none. */
  latest(at: number): number | undefined;
}

/** The length of a day without a change of the clock; a day with one may be longer. */
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const MAX_CRON_LENGTH = 200;
const CRON = /^(?:@[a-z]+|\S+(?:[ \t]+\S+){4,5})$/u;
const TIME = /^([01]?\d|2[0-3]):([0-5]\d)$/u;

/** @throws SettingsError (`invalid_argument`) unless exactly one rule is given, and for an invalid rule */
export function createSchedule(rule: ScheduleRule): Schedule {
  const given = RULES.filter((name) => rule[name] !== undefined);
  const [only, ...more] = given;
  if (only === undefined || more.length > 0) {
    const has = only === undefined ? "none of them" : given.join(" and ");
    throw new SettingsError(more[0], `A schedule must have exactly one of ${RULES.join(", ")}; this one has ${has}.`, {
      hint: "Set one of them, and omit the others.",
    });
  }
  const zone = checkZone(rule.zone);
  const { everyMinutes, dailyAt, hourlyAt, cron = "" } = rule;
  if (everyMinutes !== undefined) return midnightAlignedSchedule(everyMinutes, zone);
  if (dailyAt !== undefined) return timeOfDaySchedule("dailyAt", dailyCron(dailyAt), zone);
  if (hourlyAt !== undefined) return cronSchedule("hourlyAt", hourlyCron(hourlyAt), zone);
  if (cron.length > MAX_CRON_LENGTH || !CRON.test(cron.trim()))
    throw new SettingsError("cron", `${JSON.stringify(cron.slice(0, 100))} is not a cron expression.`, { hint: CRON_HINT });
  const whole = cronSchedule("cron", cron.trim(), zone);
  const times = splitTimesOfDay(cron.trim());
  return times.length === 0 ? whole : mergeSchedules(times.map((one) => timeOfDaySchedule("cron", one, zone)));
}

/** Maximum number of times a day that are separate schedules. An expression with more describes intervals, which follow the local clock. */
const MAX_TIMES = 24;

/** Splits an expression that lists times of the day into one expression for each, so that a change of the clock skips or repeats each on its own. */
function splitTimesOfDay(expression: string): readonly string[] {
  const fields = expression.split(/[ \t]+/u);
  const [second = "", minute = "", hour = "", ...days] = fields.length === 5 ? ["0", ...fields] : fields;
  const [seconds, minutes, hours] = [parseNumberList(second), parseNumberList(minute), parseNumberList(hour)];
  if (seconds.length * minutes.length * hours.length > MAX_TIMES) return [];
  return hours.flatMap((h) => minutes.flatMap((m) => seconds.map((s) => [s, m, h, ...days].join(" "))));
}

/** The numbers of a field that is a comma-separated list of numbers and ranges; none for any other field. */
function parseNumberList(field: string): readonly number[] {
  if (!/^\d{1,2}(?:-\d{1,2})?(?:,\d{1,2}(?:-\d{1,2})?)*$/u.test(field)) return [];
  const numbers = field.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return [...new Set(numbers)];
}

function mergeSchedules(schedules: readonly Schedule[]): Schedule {
  const all = (times: readonly (number | undefined)[]): readonly number[] => times.filter((time) => time !== undefined);
  return {
    next: (at) => all(schedules.map((one) => one.next(at))).toSorted((a, b) => a - b)[0],
    latest: (at) => all(schedules.map((one) => one.latest(at))).toSorted((a, b) => b - a)[0],
  };
}

const CRON_HINT = "Five fields: minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5.";

/** Returns the canonical name of the zone, or the zone of the process if none is given. @throws SettingsError */
export function checkZone(zone: string | undefined): string {
  if (zone === undefined) return new Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC"; // undefined if TZ names an unknown zone
  try {
    return new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw new SettingsError("zone", `${JSON.stringify(zone.slice(0, 100))} is not a time zone.`, {
      hint: "For example Europe/Berlin, America/New_York, UTC.",
    });
  }
}

function dailyCron(time: string): string {
  const [, hour, minute] = TIME.exec(time) ?? [];
  if (hour === undefined || minute === undefined)
    throw new SettingsError("dailyAt", `${JSON.stringify(time.slice(0, 100))} is not a time of day.`, {
      hint: "It is HH:MM, from 00:00 to 23:59.",
    });
  return `${Number(minute)} ${Number(hour)} * * *`;
}

function hourlyCron(minute: number): string {
  if (!Number.isSafeInteger(minute) || minute < 0 || minute > 59)
    throw new SettingsError("hourlyAt", `${String(minute)} is not a minute of an hour.`, { hint: "It is an integer from 0 to 59." });
  return `${minute} * * * *`;
}

/**
 * Makes a schedule that follows the local clock: a local time that the clock skips is left out, and one that it shows twice fires twice. Expressions
 * with a single time of the day use `timeOfDaySchedule` instead.
 */
function cronSchedule(key: keyof ScheduleRule, expression: string, zone: string): Schedule {
  const cron = parseCron(key, expression, zone);
  const schedule: Schedule = {
    next: (at) => cron.nextRun(new Date(at))?.getTime(),
    latest: (at) =>
      cron
        .previousRuns(2, new Date(at + 1_000))
        .find((time) => time.getTime() <= at)
        ?.getTime(),
  };
  if (schedule.next(Date.UTC(2000, 0, 1)) === undefined)
    throw new SettingsError(key, `${JSON.stringify(expression)} never occurs.`, { hint: "Choose a day that exists in its month." });
  return schedule;
}

/** Number of neighbouring local times to look at: some may coincide or be too early, because the clocks were changed between them. */
const NEAR_TIMES = 3;

/** Makes a schedule for an expression with one time of the day. Fires exactly once on each of its days, even if the clocks change. */
function timeOfDaySchedule(key: keyof ScheduleRule, expression: string, zone: string): Schedule {
  cronSchedule(key, expression, zone); // throws if the expression is invalid
  return localTimeSchedule(parseCron(key, expression, "UTC"), new WallClock(zone));
}

/** @param shown the local times as times of UTC */
function localTimeSchedule(shown: Cron, wall: WallClock): Schedule {
  const times = (days: readonly Date[]): readonly number[] => days.map((day) => wall.fromLocalTime(day.getTime()));
  return {
    next: (at) => times(shown.nextRuns(NEAR_TIMES, new Date(wall.toLocalTime(at) - DAY_MS))).find((time) => time > at),
    latest: (at) => times(shown.previousRuns(NEAR_TIMES, new Date(wall.toLocalTime(at) + DAY_MS))).find((time) => time <= at),
  };
}

function parseCron(key: keyof ScheduleRule, expression: string, zone: string): Cron {
  try {
    return new Cron(expression, { timezone: zone, mode: "5-or-6-parts" });
  } catch (thrown: unknown) {
    const why = describeThrown(thrown)
      .replace(/^CronPattern: /u, "")
      .replace(/(?<=value for (?:day|month): )-?\d+$/u, (value) => String(Number(value) + 1)); // the package counts them from 0
    throw new SettingsError(key, `${JSON.stringify(expression)} is not a cron expression: ${/[.!]$/u.test(why) ? why : `${why}.`}`, {
      hint: CRON_HINT,
    });
  }
}

const MIDNIGHT = "0 0 * * *";

/** The expression of a time of each day in UTC. */
function dayCron(minuteOfDay: number): Cron {
  return parseCron("everyMinutes", `${minuteOfDay % HOUR_MINUTES} ${Math.floor(minuteOfDay / HOUR_MINUTES)} * * *`, "UTC");
}

const HOUR_MINUTES = 60;
const DAY_MINUTES = DAY_MS / MINUTE_MS;

/**
 * Makes a schedule that counts minutes from each midnight. Intervals of more than an hour are times of the day, each of which fires once also on a day
 * on which the clocks change. Shorter intervals are of equal length on such a day too: it has an hour more or less of them.
 */
function midnightAlignedSchedule(minutes: number, zone: string): Schedule {
  if (!Number.isSafeInteger(minutes) || minutes < 1 || minutes > DAY_MINUTES)
    throw new SettingsError("everyMinutes", `${String(minutes)} is not a number of minutes.`, { hint: "It is an integer from 1 to 1440." });
  if (minutes > HOUR_MINUTES) {
    const times = Array.from({ length: Math.ceil(DAY_MINUTES / minutes) }, (_, index) => index * minutes);
    const wall = new WallClock(zone);
    return mergeSchedules(times.map((time) => localTimeSchedule(dayCron(time), wall)));
  }
  const midnights = cronSchedule("everyMinutes", MIDNIGHT, zone);
  const intervalMs = minutes * MINUTE_MS;
  const latest = (at: number): number => {
    const midnight = midnights.latest(at) ?? Math.floor(at / DAY_MS) * DAY_MS;
    return midnight + Math.floor((at - midnight) / intervalMs) * intervalMs;
  };
  return { latest, next: (at) => Math.min(latest(at) + intervalMs, midnights.next(at) ?? Infinity) };
}
