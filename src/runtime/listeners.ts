/** A program's listeners, wrapped so that an error of theirs does not end a call. */
import { ToolError, describeThrown } from "../core/error.ts";
import type { EventListener, RuntimeEvent } from "../core/event.ts";
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { Log } from "../core/ports.ts";
import { notifySafely } from "../policy/notify-safely.ts";
import type { ProgressListener } from "../call/execute-options.ts";
import type { ToolExecutionError } from "../call/tool-execution-error.ts";

/** The listeners of the events of a runtime. */
export class Listeners {
  readonly #log: Log;
  /** Replaced, never mutated: an event goes to the listeners that were registered when it happened. */
  #listeners: readonly EventListener[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  get hasAny(): boolean {
    return this.#listeners.length > 0;
  }

  /** The returned function removes the listener. @throws ToolError `invalid_argument` if it is not a function */
  add(listener: EventListener): () => void {
    if (typeof listener !== "function") throw new ToolError("invalid_argument", "A listener of events must be a function.");
    const safe = safeListener(listener, this.#log);
    this.#listeners = [...this.#listeners, safe];
    return () => {
      this.#listeners = this.#listeners.filter((other) => other !== safe);
    };
  }

  emit(event: RuntimeEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

export function safeProgressListener(listener: ProgressListener, log: Log): ProgressListener {
  return (update, call) =>
    notifySafely(
      () => listener(update, call),
      (thrown) => warn(log, "A progress listener threw", thrown),
    );
}

export function safeJobListener(listener: (job: JobStatus) => void, log: Log): (job: JobStatus) => void {
  return (job) =>
    notifySafely(
      () => listener(job),
      (thrown) => warn(log, "A listener of jobs threw", thrown),
    );
}

/** Reports that a batch failed and was rolled back: to the program's listener, else to the log. Never throws. */
export function safeAlert(onAlert: ((error: ToolExecutionError) => unknown) | undefined, log: Log): (error: ToolExecutionError) => void {
  return (failure) => {
    if (onAlert === undefined) return log.warn(`A batch was rolled back: ${failure.message}`);
    notifySafely(
      () => onAlert(failure),
      (thrown) => warn(log, "onAlert threw", thrown),
    );
  };
}

/** Wraps a listener so that it never throws; if it throws or rejects, that is logged. */
function safeListener(listener: EventListener, log: Log): EventListener {
  return (event) =>
    notifySafely(
      () => listener(event),
      (thrown) => warn(log, `An event listener threw on ${event.type}`, thrown),
    );
}

function warn(log: Log, what: string, thrown: unknown): void {
  log.warn(`${what}: ${describeThrown(thrown)}`);
}
