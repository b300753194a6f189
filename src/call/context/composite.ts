/** How deep composite tools may be nested, and which calls and sessions are around a nested call. */
import { AsyncLocalStorage } from "node:async_hooks";
import { ToolError } from "../../core/error.ts";
import type { Session } from "../../session/session.ts";
import type { CallRun } from "../call-run.ts";

/** Maximum number of composite tools inside one another. */
const MAX_DEPTH = 3;
const DEPTH = new AsyncLocalStorage<number>();

/** The nesting depth of sessions that a composite call began. */
const SESSION_DEPTHS = new WeakMap<Session, number>();

/** The composite call that began each session. */
const CALLERS = new WeakMap<Session, CallRun>();

/** The next session whose rule applies to calls in this one: the session that it branched from, else that of the call that began it. */
export function outerRuleSession(session: Session): Session | undefined {
  return session.parent ?? CALLERS.get(session)?.turn.session;
}

/** The call whose handler made this one, or began its session. */
export function findCallerOrParent({ callerRun, turn }: CallRun): object | undefined {
  return callerRun ?? turn.parentCall ?? CALLERS.get(turn.session);
}

/** Begins a session whose calls count as nested in this composite call. */
export async function startNestedSession(
  run: CallRun,
  start: (onStarted: (session: Session) => void) => Promise<Session>,
): Promise<Session> {
  const depth = nestingDepth(run.turn.session) + 1;
  const markNested = (session: Session): void => {
    SESSION_DEPTHS.set(session, depth);
    CALLERS.set(session, run);
  };
  const session = await DEPTH.run(depth, () => start(markNested));
  markNested(session);
  return session;
}

/** Runs code that makes calls for a handler; they count as one composite level deeper. */
export function runOneLevelDeeper<T>({ turn }: CallRun, work: () => T): T {
  return DEPTH.run(nestingDepth(turn.session) + 1, work);
}

/** How many composite calls the running code is nested in, as a call of this session. */
function nestingDepth(session: Session): number {
  let sessionDepth: number | undefined;
  for (let one: Session | undefined = session; sessionDepth === undefined && one !== undefined; one = one.parent)
    sessionDepth = SESSION_DEPTHS.get(one);
  return Math.max(DEPTH.getStore() ?? 0, sessionDepth ?? 0);
}

/** Refuses a composite tool that is nested too deep in others. */
export function tooDeepError({ toolName, turn }: CallRun): ToolError | undefined {
  if (nestingDepth(turn.session) < MAX_DEPTH) return undefined;
  return new ToolError(
    "limit_exceeded",
    `${toolName} was not run: it is called inside ${MAX_DEPTH} composite tools, and that is the limit.`,
    {
      outcome: "not_started",
      hint: "Call the tools that it is made of.",
    },
  );
}
