/** Ids of tasks, and the ids of the sessions that they run in. */
import { hash } from "node:crypto";
import { createSecret } from "../../../net/secret.ts";

/** Prefix of the ids of tasks' sessions. */
export const TASK_SESSION_PREFIX = "mcp-task-";

const ID = /^[\w-]{43}$/u;

/** Makes an id that cannot be guessed. */
export function newTaskId(): string {
  return createSecret();
}

/**
 * The session that a task runs in. It is derived from the task id and the caller together: for another caller that knows the id, and for a guessed
 * id, the session does not exist. The task id cannot be derived from the session id.
 */
export function taskSessionId(taskId: string, callerId: string): string | undefined {
  return ID.test(taskId) ? `${TASK_SESSION_PREFIX}${hash("sha256", `${taskId}\0${callerId}`).slice(0, 40)}` : undefined;
}
