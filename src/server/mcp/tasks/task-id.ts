/** The ids of tasks, and the session that the task of an id is kept in. */
import { hash } from "node:crypto";
import { newSecret } from "../../../net/secret.ts";

/** The sessions of tasks have names that begin so. */
export const TASK_SESSION_PREFIX = "mcp-task-";

const ID = /^[\w-]{43}$/u;

/** An id that cannot be guessed. */
export function newTaskId(): string {
  return newSecret();
}

/**
 * The session that a task runs in. It follows from the id and the caller together: another caller that has come to know the id is led to
 * a session that does not exist, as is a guess, and the id cannot be read off the name of a session.
 */
export function taskSessionId(taskId: string, callerId: string): string | undefined {
  return ID.test(taskId) ? `${TASK_SESSION_PREFIX}${hash("sha256", `${taskId}\0${callerId}`).slice(0, 40)}` : undefined;
}
