/** Routes of schedules: the triggers of type `schedule`, over all sessions that the server has open. */
import { MAX_PROMPT_CHARS } from "../../../triggers/prompt-limits.ts";
import { answer, array, flag, id, integer, object, ref, text } from "../openapi/json-schema.ts";
import type { Routes } from "../requests/route.ts";

const sessionId = id("The session whose agent it wakes.");

const scheduleRoute = {
  params: { scheduleId: id("The id of a schedule.") },
  query: { sessionId: id("Its session; needed if several have a schedule of this id, or the server does not have it open.") },
  inSession: true,
  example: { params: { scheduleId: "morning" }, query: { sessionId: "travel" } },
} as const;

export const scheduleRoutes = {
  listSchedules: {
    method: "GET",
    path: "/v1/schedules",
    scope: "read",
    summary: "List the schedules of the sessions that the server has open, with the time at which each is due next.",
    query: { sessionId: id("Only schedules of this session, which is opened for this.") },
    inSession: true,
    answer: answer({ schedules: array(ref("Schedule")) }),
    example: {},
  },
  addSchedule: {
    method: "POST",
    path: "/v1/schedules",
    scope: "execute",
    summary: "Wake the agent of a session at set times.",
    description: "Takes exactly one of everyMinutes, dailyAt, hourlyAt and cron. It runs while an agent of the session does.",
    body: object(
      {
        sessionId,
        name: text("A stable id. By default a new one.", { minLength: 1, maxLength: 128 }),
        prompt: text("The message that wakes the agent.", { minLength: 1, maxLength: MAX_PROMPT_CHARS }),
        everyMinutes: integer("Every this many minutes, counted from midnight.", 1, 1_440),
        dailyAt: text("Once a day at this time, HH:MM.", { maxLength: 16 }),
        hourlyAt: integer("Once an hour at this minute.", 0, 59),
        cron: text("A cron expression: minute, hour, day of the month, month, day of the week.", { maxLength: 200 }),
        zone: text("A time zone such as Europe/Berlin. That of the server by default.", { maxLength: 200 }),
        catchUp: flag("Wake it once for times that passed while no agent ran."),
      },
      ["sessionId", "prompt"],
    ),
    status: 201,
    inSession: true,
    answer: ref("Schedule"),
    keyed: true,
    example: { body: { sessionId: "travel", name: "morning", dailyAt: "07:30", zone: "Europe/Berlin", prompt: "Look at the notes." } },
  },
  pauseSchedule: {
    method: "POST",
    path: "/v1/schedules/{scheduleId}/pause",
    scope: "execute",
    summary: "Pause a schedule: it sends no message until it is resumed, after a restart as well.",
    answer: ref("Schedule"),
    ...scheduleRoute,
  },
  resumeSchedule: {
    method: "POST",
    path: "/v1/schedules/{scheduleId}/resume",
    scope: "execute",
    summary: "Resume a schedule that was paused. Times that passed are not made up for.",
    answer: ref("Schedule"),
    ...scheduleRoute,
  },
  removeSchedule: {
    method: "DELETE",
    path: "/v1/schedules/{scheduleId}",
    scope: "execute",
    summary: "Remove a schedule. One that the program declares is added again at its next start: pause it instead.",
    status: 204,
    ...scheduleRoute,
  },
} as const satisfies Routes;
