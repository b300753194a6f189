/** Formats schedules as text. */
import type { AnswerOf } from "../../client/client.ts";

export type Schedule = AnswerOf<"listSchedules">["schedules"][number];

/** Formats the rule of a schedule. */
export function formatRule({ settings }: Schedule): string {
  const { everyMinutes, dailyAt, hourlyAt, cron, zone } = settings;
  const formatRecurrence = (): string => {
    if (everyMinutes !== undefined) return everyMinutes === 1 ? "every minute" : `every ${String(everyMinutes)} minutes`;
    if (dailyAt !== undefined) return `daily at ${String(dailyAt)}`;
    if (hourlyAt !== undefined) return `hourly at minute ${String(hourlyAt)}`;
    return `cron ${String(cron)}`;
  };
  return `${formatRecurrence()}, ${String(zone)}`;
}

/** Says when the schedule is due if it has no next time. */
export function formatNoNextTime({ paused }: Schedule): string {
  return paused === true ? "when it is resumed" : "never";
}

export function readPrompt({ settings }: Schedule): string {
  return String(settings["prompt"] ?? "");
}
