import { ROOT_CONTEXT, context, diag, type Context } from "@opentelemetry/api";
import { CALL_ID } from "./context-keys.ts";

/** Runs code of the SDK: an error of the program's provider, processor or sampler must not fail a call or a run. Returns undefined if it throws. */
export function runSafely<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown: unknown) {
    logError(thrown);
    return undefined;
  }
}

/** Logs an error. The logger belongs to the program too, and may throw. */
function logError(thrown: unknown): void {
  try {
    diag.error("haft: telemetry threw", thrown);
  } catch {
    // there is nothing left to report it to
  }
}

/** The caller's context; the root context if the program's context manager throws or returns something else. */
export function getActiveContext(): Context {
  return runSafely(readActiveContext) ?? ROOT_CONTEXT;
}

function readActiveContext(): Context {
  const active = context.active();
  active.getValue(CALL_ID); // throws here, and not at its first use
  return active;
}

/** Runs work exactly once, within a context if the program's context manager works. Throws only the errors of the work. */
export function runInTraceContext<T>(inner: Context | undefined, work: () => T): T {
  if (inner === undefined) return work();
  const outcomes: (() => T)[] = [];
  const once = (): void => {
    if (outcomes.length === 0) outcomes.push(captureOutcome(work));
  };
  runSafely(() => context.with(inner, once));
  once(); // if the manager did not call it
  const [outcome = work] = outcomes;
  return outcome();
}

function captureOutcome<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (thrown: unknown) {
    return () => {
      throw thrown;
    };
  }
}
