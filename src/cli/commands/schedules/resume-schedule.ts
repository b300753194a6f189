/** `haft schedules resume`: lets a schedule that was paused wake its agent again. */
import type { Command } from "../../command.ts";
import { setPaused } from "./set-paused.ts";

export const resumeSchedule: Command = {
  name: "schedules resume",
  usage: "<id>",
  summary: "Let a schedule that was paused wake its agent again.",
  details: [
    "Times that passed are not made up for. Where no process has its session open, it",
    "is written to the store, and the schedule runs when an agent of the session",
    "does. A server that has it open is asked for it, with the key in HAFT_TOKEN.",
    "With --json the schedule as it is then.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft schedules resume morning", "haft schedules resume morning --session travel"],
  run: (context) => setPaused(context, false),
};
