import { ROOT_CONTEXT, context, diag, type Context } from "@opentelemetry/api";
import { CALL_ID } from "./context-keys.ts";

/** Does work of the SDK: a provider, a processor or a sampler of the program that throws costs no run its answer. */
export function unharmed<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (thrown: unknown) {
    report(thrown);
    return undefined;
  }
}

/** The logger is the program's too. */
function report(thrown: unknown): void {
  try {
    diag.error("haft: telemetry threw", thrown);
  } catch {
    // nothing is left to report it to
  }
}

/** The context of the caller; the empty one where the manager of the program cannot tell, or gives what is no context. */
export function activeContext(): Context {
  return unharmed(readableContext) ?? ROOT_CONTEXT;
}

function readableContext(): Context {
  const active = context.active();
  active.getValue(CALL_ID); // throws here, and not where it is used
  return active;
}

/** Does work once, in a context where the manager of the program can do that. Throws what the work throws, and nothing of the manager's. */
export function within<T>(inner: Context | undefined, work: () => T): T {
  if (inner === undefined) return work();
  const outcomes: (() => T)[] = [];
  const once = (): void => {
    if (outcomes.length === 0) outcomes.push(outcomeOf(work));
  };
  unharmed(() => context.with(inner, once));
  once(); // where the manager did not come to it
  const [outcome = work] = outcomes;
  return outcome();
}

function outcomeOf<T>(work: () => T): () => T {
  try {
    const value = work();
    return () => value;
  } catch (thrown: unknown) {
    return () => {
      throw thrown;
    };
  }
}
