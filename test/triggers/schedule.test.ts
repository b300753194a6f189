/** When schedules fire: midnight, daylight saving time, and rules that cannot be. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSchedule, type ScheduleRule } from "../../src/triggers/schedule.ts";

function times(rule: ScheduleRule, from: string, count: number): readonly string[] {
  const schedule = createSchedule(rule);
  const found: string[] = [];
  for (let at: number | undefined = Date.parse(from); at !== undefined && found.length < count;) {
    at = schedule.next(at);
    if (at !== undefined) found.push(new Date(at).toISOString().slice(0, 16));
  }
  return found;
}

describe("F1.60 the times of a schedule", () => {
  const cases: readonly (readonly [string, ScheduleRule, string, readonly string[]])[] = [
    [
      "across midnight",
      { everyMinutes: 30, zone: "UTC" },
      "2026-05-01T23:10:00Z",
      ["2026-05-01T23:30", "2026-05-02T00:00", "2026-05-02T00:30"],
    ],
    [
      "anew at each midnight",
      { everyMinutes: 420, zone: "UTC" },
      "2026-05-01T13:00:00Z",
      ["2026-05-01T14:00", "2026-05-01T21:00", "2026-05-02T00:00"],
    ],
    [
      "from the midnight of its zone",
      { everyMinutes: 1_440, zone: "Asia/Kolkata" },
      "2026-05-01T13:00:00Z",
      ["2026-05-01T18:30", "2026-05-02T18:30"],
    ],
    ["once a day", { dailyAt: "09:05", zone: "America/New_York" }, "2026-05-01T13:05:00Z", ["2026-05-02T13:05", "2026-05-03T13:05"]],
    ["once an hour", { hourlyAt: 15, zone: "UTC" }, "2026-05-01T23:15:00Z", ["2026-05-02T00:15", "2026-05-02T01:15"]],
    ["a cron expression", { cron: "0 9 * * 1-5", zone: "UTC" }, "2026-05-01T09:00:00Z", ["2026-05-04T09:00", "2026-05-05T09:00"]],
    [
      "a time that the clocks skip comes when they have",
      { dailyAt: "02:30", zone: "Europe/Berlin" },
      "2026-03-28T12:00:00Z",
      ["2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "a time that the clocks have twice comes once",
      { dailyAt: "02:30", zone: "Europe/Berlin" },
      "2026-10-24T12:00:00Z",
      ["2026-10-25T00:30", "2026-10-26T01:30"],
    ],
    [
      "the same time of day in winter and summer",
      { dailyAt: "12:00", zone: "Europe/Berlin" },
      "2026-03-28T00:00:00Z",
      ["2026-03-28T11:00", "2026-03-29T10:00"],
    ],
    [
      "each hour of a day of 25",
      { hourlyAt: 0, zone: "Europe/Berlin" },
      "2026-10-24T23:30:00Z",
      ["2026-10-25T00:00", "2026-10-25T01:00", "2026-10-25T02:00"],
    ],
    [
      "equal intervals on a day of 23 hours",
      { everyMinutes: 60, zone: "Europe/Berlin" },
      "2026-03-28T23:30:00Z",
      ["2026-03-29T00:00", "2026-03-29T01:00", "2026-03-29T02:00"],
    ],
    [
      "noon and midnight of a day of 23 hours, if it fires every 720 minutes",
      { everyMinutes: 720, zone: "Europe/Berlin" },
      "2026-03-28T23:00:00Z",
      ["2026-03-29T10:00", "2026-03-29T22:00"],
    ],
    [
      "twice on a day of 25 hours, if it fires every 720 minutes",
      { everyMinutes: 720, zone: "Europe/Berlin" },
      "2026-10-24T21:00:00Z",
      ["2026-10-24T22:00", "2026-10-25T11:00", "2026-10-25T23:00", "2026-10-26T11:00"],
    ],
    [
      "once each time of an interval of more than an hour that the clocks have twice",
      { everyMinutes: 150, zone: "Europe/Berlin" },
      "2026-10-24T22:00:00Z",
      ["2026-10-25T00:30", "2026-10-25T04:00", "2026-10-25T06:30"],
    ],
    [
      "right after the change, a time of an interval of more than an hour that the clocks skip",
      { everyMinutes: 150, zone: "Europe/Berlin" },
      "2026-03-28T23:00:00Z",
      ["2026-03-29T01:00", "2026-03-29T03:00", "2026-03-29T05:30"],
    ],
    [
      "the next midnight after a day of 23 hours",
      { everyMinutes: 50, zone: "Europe/Berlin" },
      "2026-03-29T21:00:00Z",
      ["2026-03-29T21:30", "2026-03-29T22:00", "2026-03-29T22:50"],
    ],
    [
      "once on a day of 25 hours, if it fires every 1,440 minutes",
      { everyMinutes: 1_440, zone: "Europe/Berlin" },
      "2026-10-24T20:00:00Z",
      ["2026-10-24T22:00", "2026-10-25T23:00", "2026-10-26T23:00"],
    ],
    [
      "once on a day with two midnights, if it fires every 1,440 minutes",
      { everyMinutes: 1_440, zone: "America/Havana" },
      "2026-10-31T05:00:00Z",
      ["2026-11-01T04:00", "2026-11-02T05:00"],
    ],
    [
      "each of several times of a day that the clocks skip",
      { cron: "30 2,14 * * *", zone: "Europe/Berlin" },
      "2026-03-28T23:00:00Z",
      ["2026-03-29T01:00", "2026-03-29T12:30"],
    ],
    [
      "each of several times of a day that the clocks have twice, once",
      { cron: "15,45 2 * * *", zone: "Europe/Berlin" },
      "2026-10-24T22:00:00Z",
      ["2026-10-25T00:15", "2026-10-25T00:45", "2026-10-26T01:15"],
    ],
    [
      "each of several times that the clocks skip, of an expression with seconds",
      { cron: "0 30 2,14 * * *", zone: "Europe/Berlin" },
      "2026-03-28T23:00:00Z",
      ["2026-03-29T01:00", "2026-03-29T12:30"],
    ],
    [
      "each of several times that the clocks have twice, once, of an expression with seconds",
      { cron: "0,30 15 2 * * *", zone: "Europe/Berlin" },
      "2026-10-24T22:00:00Z",
      ["2026-10-25T00:15", "2026-10-25T00:15", "2026-10-26T01:15"],
    ],
    [
      "a time that the clocks skip up to midnight",
      { dailyAt: "23:30", zone: "America/Nuuk" },
      "2026-03-28T12:00:00Z",
      ["2026-03-29T01:00", "2026-03-30T00:30"],
    ],
    [
      "the last time of a month or week that the clocks skip up to midnight",
      { cron: "30 23 * * 6", zone: "America/Nuuk" },
      "2026-03-28T12:00:00Z",
      ["2026-03-29T01:00", "2026-04-05T00:30"],
    ],
    ["a leap day", { cron: "0 0 29 2 *", zone: "UTC" }, "2026-05-01T00:00:00Z", ["2028-02-29T00:00"]],
  ];
  test.each(cases)("%s", (_name, rule, from, expected) => {
    expect(times(rule, from, expected.length)).toEqual(expected);
  });

  test("next and latest agree: the latest time is directly before the next one, in any zone", () => {
    const zone = fc.constantFrom("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Nuuk");
    const rule = fc.oneof(
      fc.integer({ min: 1, max: 1_440 }).map((everyMinutes) => ({ everyMinutes })),
      fc.integer({ min: 0, max: 59 }).map((hourlyAt) => ({ hourlyAt })),
      fc
        .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
        .map(([hour, minute]) => ({ dailyAt: `${hour}:${String(minute).padStart(2, "0")}` })),
    );
    const at = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 0, 1) });
    fc.assert(
      fc.property(rule, zone, at, (one, where, time) => {
        const schedule = createSchedule({ ...one, zone: where });
        const latest = schedule.latest(time) ?? NaN;
        const next = schedule.next(time) ?? NaN;
        expect(latest).toBeLessThanOrEqual(time);
        expect(next).toBeGreaterThan(time);
        expect(schedule.next(latest)).toBe(next);
        expect(schedule.latest(next)).toBe(next);
        expect(schedule.latest(next - 1)).toBe(latest);
      }),
      { numRuns: 150 },
    );
  });

  test.each([
    [{}, undefined, "exactly one of everyMinutes, dailyAt, hourlyAt, cron; this one has none of them"],
    [{ everyMinutes: 5, dailyAt: "09:00" }, "dailyAt", "this one has everyMinutes and dailyAt"],
    [{ everyMinutes: 0 }, "everyMinutes", "0 is not a number of minutes"],
    [{ everyMinutes: 1_441 }, "everyMinutes", "1441 is not a number of minutes"],
    [{ dailyAt: "24:00" }, "dailyAt", '"24:00" is not a time of day'],
    [{ dailyAt: "9" }, "dailyAt", '"9" is not a time of day'],
    [{ hourlyAt: 60 }, "hourlyAt", "60 is not a minute"],
    [{ cron: "61 * * * *" }, "cron", "is not a cron expression: Invalid value for minute: 61"],
    [{ cron: "0 0 32 * *" }, "cron", "Invalid value for day: 32."],
    [{ cron: "0 0 1 13 *" }, "cron", "Invalid value for month: 13."],
    [{ cron: "2026-03-28T12:00:00" }, "cron", "is not a cron expression"],
    [{ cron: "0 0 30 2 *" }, "cron", "never occurs"],
    [{ cron: `${"1,".repeat(500)}1 * * * *` }, "cron", "is not a cron expression"],
    [{ cron: "" }, "cron", "is not a cron expression"],
    [{ dailyAt: "09:00", zone: "Mars/Olympus" }, "zone", '"Mars/Olympus" is not a time zone'],
    [{ dailyAt: "09:00", zone: "" }, "zone", '"" is not a time zone'],
  ])("%j is rejected", (rule, key, message) => {
    expect(() => createSchedule(rule)).toThrow(
      expect.objectContaining({ code: "invalid_argument", key, message: expect.stringContaining(message) }),
    );
  });
});
