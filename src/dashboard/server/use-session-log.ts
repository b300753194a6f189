/** Follows a session's events into the log of a timeline. */
import { SessionLog } from "../timeline/session-log.ts";
import { useFoldedLog, type FollowedState } from "./use-folded-log.ts";

export type FollowedLog = FollowedState<SessionLog>;

export function useSessionLog(sessionId: string): FollowedLog {
  return useFoldedLog(sessionId, newLog);
}

function newLog(): SessionLog {
  return new SessionLog();
}
