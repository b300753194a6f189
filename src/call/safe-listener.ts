/** The program's own log and listener, whose errors do not end a call. */
import { describeThrown } from "../core/error.ts";
import type { EventListener, RuntimeEvent } from "../core/event.ts";
import type { JobStatus } from "../core/job-status.ts";
import type { Log } from "../core/ports.ts";
import type { ProgressListener } from "./execute-options.ts";
import type { ToolExecutionError } from "./tool-execution-error.ts";
import { isPromiseLike } from "../policy/deadline.ts";

/** The same log, which never throws. */
export function safeLog(log: Log): Log {
  return {
    debug: (message, fields) => quietly(() => log.debug(message, fields)),
    warn: (message, fields) => quietly(() => log.warn(message, fields)),
  };
}

function quietly(tell: () => unknown): void {
  try {
    const told = tell();
    if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, () => {});
  } catch {
    // There is nowhere left to say it.
  }
}

/** The same listener, which never throws. */
export function safeProgressListener(listener: ProgressListener, log: Log): ProgressListener {
  return (update, call) => {
    try {
      const told: unknown = listener(update, call);
      if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, (thrown: unknown) => failed(thrown));
    } catch (thrown: unknown) {
      failed(thrown);
    }
  };

  function failed(thrown: unknown): void {
    log.warn(`A progress listener threw: ${describeThrown(thrown)}`);
  }
}

/** The same listener, which never throws. */
export function safeJobListener(listener: (job: JobStatus) => void, log: Log): (job: JobStatus) => void {
  return (job) => {
    try {
      listener(job);
    } catch (thrown: unknown) {
      log.warn(`A listener of jobs threw: ${describeThrown(thrown)}`);
    }
  };
}

/** Says that a batch failed and was taken back: to the program's listener, else to the log. Never throws. */
export function safeAlert(onAlert: ((error: ToolExecutionError) => unknown) | undefined, log: Log): (error: ToolExecutionError) => void {
  return (failure) => {
    if (onAlert === undefined) return log.warn(`A batch was rolled back: ${failure.message}`);
    try {
      const told: unknown = onAlert(failure);
      if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, (thrown: unknown) => failed(thrown));
    } catch (thrown: unknown) {
      failed(thrown);
    }
  };

  function failed(thrown: unknown): void {
    log.warn(`onAlert threw: ${describeThrown(thrown)}`);
  }
}

/** The same listener, which never throws; one that throws or rejects is logged. */
export function safeListener(listener: EventListener, log: Log): EventListener {
  return (event) => {
    try {
      const told: unknown = listener(event);
      if (isPromiseLike(told)) void Promise.resolve(told).then(undefined, (thrown: unknown) => listenerFailed(log, event, thrown));
    } catch (thrown: unknown) {
      listenerFailed(log, event, thrown);
    }
  };
}

function listenerFailed(log: Log, event: RuntimeEvent, thrown: unknown): void {
  log.warn(`An event listener threw on ${event.type}: ${describeThrown(thrown)}`);
}
