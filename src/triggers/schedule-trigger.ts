/** The trigger `schedule`: wakes an agent at times of the day. */
import { MAX_AHEAD_MS } from "../session/inbox-events.ts";
import { MAX_PROMPT_CHARS } from "./prompt-limits.ts";
import { checkZone, createSchedule, type Schedule, type ScheduleRule } from "./schedule.ts";
import type { Trigger, TriggerContext } from "./trigger.ts";

/** Settings of a trigger of the type `schedule`: a prompt, and exactly one rule. */
export interface ScheduleSettings extends ScheduleRule {
  /** The message that wakes the agent. */
  readonly prompt: string;
  /** Whether to send one message for the times that passed while no agent ran. @default false */
  readonly catchUp?: boolean;
}

/** Maximum wait, so that a clock that was changed, or a computer that slept, is noticed within a minute. */
const MAX_WAIT_MS = 60_000;

export const scheduleTrigger: Trigger<ScheduleSettings> = {
  name: "schedule",
  description:
    "Wakes you at times of the clock, with the prompt that you give it. Say exactly one of everyMinutes, dailyAt, hourlyAt and cron.",
  universal: true,
  settingsSchema: {
    type: "object",
    properties: {
      everyMinutes: { type: "integer", minimum: 1, maximum: 1_440, description: "Every so many minutes, counted from midnight." },
      dailyAt: { type: "string", description: "Once a day at this time, HH:MM." },
      hourlyAt: { type: "integer", minimum: 0, maximum: 59, description: "Once an hour at this minute." },
      cron: { type: "string", description: "A cron expression: minute, hour, day of the month, month, day of the week." },
      zone: { type: "string", description: "A time zone such as Europe/Berlin. That of the computer by default." },
      prompt: { type: "string", minLength: 1, maxLength: MAX_PROMPT_CHARS, description: "The message that wakes you." },
      catchUp: { type: "boolean", description: "Wake me once for times that passed while nothing ran. False by default." },
    },
    required: ["prompt"],
    additionalProperties: false,
  },
  complete(settings) {
    createSchedule(settings);
    return { ...settings, zone: checkZone(settings.zone) };
  },
  nextAt: (settings, at) => createSchedule(settings).next(at),
  start(context) {
    run(context, createSchedule(context.settings)).catch((thrown: unknown) => context.fail(thrown));
  },
};

async function run(context: TriggerContext<ScheduleSettings>, schedule: Schedule): Promise<void> {
  const { settings, ports, addedAt, lastTick } = context;
  const { clock } = ports;
  /** Times up to and including this one were handled, or are not to be caught up. */
  let seen = settings.catchUp === true ? (lastTick ?? addedAt) : clock.wallTime();
  for (;;) {
    if (seen > clock.wallTime() + MAX_AHEAD_MS) seen = clock.wallTime();
    const tick = dueTick(schedule, seen, clock.wallTime());
    if (tick !== undefined) {
      if (context.waiting > 0) context.wake();
      else if (!(await context.fire(settings.prompt, { tick }))) return;
      seen = tick;
    }
    const next = schedule.next(Math.max(seen, clock.wallTime()));
    if (next === undefined) return;
    if (!(await context.sleep(Math.min(Math.max(1, next - clock.wallTime()), MAX_WAIT_MS)))) return;
  }
}

/** Returns the latest time of the schedule after `seen`; earlier ones were missed. Undefined if there is none. */
function dueTick(schedule: Schedule, seen: number, now: number): number | undefined {
  const tick = schedule.latest(now);
  return tick !== undefined && tick > seen ? tick : undefined;
}
