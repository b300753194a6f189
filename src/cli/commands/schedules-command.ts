/** `haft schedules`: the times at which agents are woken, in any process. */
import type { GroupBody } from "../command.ts";
import { listSchedules } from "./schedules/list-schedules.ts";
import { pauseSchedule, resumeSchedule } from "./schedules/pause-schedule.ts";

export const schedulesCommand: GroupBody = {
  details: [
    "A schedule wakes the agent of its session at times of the clock. It is kept in",
    "the session's log, in the store that --store names, or that the configuration",
    "names in a [store] table, and runs while an agent of the session does.",
  ],
  commands: [listSchedules, pauseSchedule, resumeSchedule],
};
