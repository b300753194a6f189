/** The program's own log and listener, whose errors do not end a call. */
import { describeThrown } from "../core/error.ts";
import type { EventListener } from "../core/event.ts";
import type { JobStatus } from "../core/job-status.ts";
import type { Log } from "../core/ports.ts";
import { tellSafely } from "../policy/tell-safely.ts";
import type { ProgressListener } from "../call/execute-options.ts";
import type { ToolExecutionError } from "../call/tool-execution-error.ts";

/** The same log, which never throws. */
export function safeLog(log: Log): Log {
  const nowhere = (): void => {}; // There is nowhere left to say it.
  return {
    debug: (message, fields) => tellSafely(() => log.debug(message, fields), nowhere),
    warn: (message, fields) => tellSafely(() => log.warn(message, fields), nowhere),
  };
}

/** The same listener, which never throws. */
export function safeProgressListener(listener: ProgressListener, log: Log): ProgressListener {
  return (update, call) =>
    tellSafely(
      () => listener(update, call),
      (thrown) => warn(log, "A progress listener threw", thrown),
    );
}

/** The same listener, which never throws. */
export function safeJobListener(listener: (job: JobStatus) => void, log: Log): (job: JobStatus) => void {
  return (job) =>
    tellSafely(
      () => listener(job),
      (thrown) => warn(log, "A listener of jobs threw", thrown),
    );
}

/** Says that a batch failed and was taken back: to the program's listener, else to the log. Never throws. */
export function safeAlert(onAlert: ((error: ToolExecutionError) => unknown) | undefined, log: Log): (error: ToolExecutionError) => void {
  return (failure) => {
    if (onAlert === undefined) return log.warn(`A batch was rolled back: ${failure.message}`);
    tellSafely(
      () => onAlert(failure),
      (thrown) => warn(log, "onAlert threw", thrown),
    );
  };
}

/** The same listener, which never throws; one that throws or rejects is logged. */
export function safeListener(listener: EventListener, log: Log): EventListener {
  return (event) =>
    tellSafely(
      () => listener(event),
      (thrown) => warn(log, `An event listener threw on ${event.type}`, thrown),
    );
}

function warn(log: Log, what: string, thrown: unknown): void {
  log.warn(`${what}: ${describeThrown(thrown)}`);
}
