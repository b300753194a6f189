/** `haft sessions`: the sessions in a store. */
import type { GroupBody } from "../command.ts";
import { writeArtifact } from "./sessions/write-artifact.ts";
import { checkSessions } from "./sessions/check-sessions.ts";
import { exportSession } from "./sessions/export-session.ts";
import { importSession } from "./sessions/import-session.ts";
import { listSessions } from "./sessions/list-sessions.ts";
import { removeSession } from "./sessions/remove-session.ts";
import { resumeSession } from "./sessions/resume-session.ts";
import { showSession } from "./sessions/show-session.ts";

export const sessionsCommand: GroupBody = {
  details: [
    "haft run keeps its conversations in the store that --store names, or that the",
    'configuration names in a [store] table with path = "haft.db".',
  ],
  commands: [listSessions, showSession, resumeSession, exportSession, importSession, writeArtifact, checkSessions, removeSession],
};
