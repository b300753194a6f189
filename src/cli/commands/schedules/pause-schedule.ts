/** `haft schedules pause`: keeps a schedule quiet. */
import type { Command } from "../../command.ts";
import { setPaused } from "./set-paused.ts";

export const pauseSchedule: Command = {
  name: "schedules pause",
  usage: "<id>",
  summary: "Keep a schedule quiet until it is resumed.",
  details: [
    "Where no process has its session open, the pause is written to the store. A",
    "server that has it open is asked for it, with the key in HAFT_TOKEN. A restart",
    "keeps the pause. One that is paused stays so. With --json the schedule as it is",
    "then.",
  ],
  args: [1, 1],
  options: ["store", "config", "session"],
  examples: ["haft schedules pause morning", "haft schedules pause morning --session travel"],
  run: (context) => setPaused(context, true),
};
