/** The calls that handlers make in the session of the call they answer: what becomes of that call becomes of them. */
import type { CallRun } from "./call-run.ts";
import { withinCall } from "../session/turn-queue.ts";
import type { Turn } from "../session/turn.ts";

/** By the turn that they joined, in the order they began. */
const NESTED = new WeakMap<Turn, CallRun[]>();
const NONE: readonly CallRun[] = Object.freeze([]);

/** Runs code of a call, such as a hook, so that what it calls is known to be made in it. */
export function withinRun<T>(run: CallRun, work: () => T): T {
  const { running, tracksCallers } = run.turn;
  return running === undefined || !tracksCallers ? work() : withinCall(running, run, work);
}

/** Notes a call that joined a running turn, or was made in another call. */
export function noteNested(run: CallRun): void {
  const { turn } = run;
  const root = turn.joins ?? turn;
  const runs = NESTED.get(root);
  if (runs === undefined) NESTED.set(root, [run]);
  else runs.push(run);
}

/** The calls that were made in these, and in those, in the order they began. @param callers calls; a turn for what joined it beside its calls */
export function nestedIn(turn: Turn, callers: readonly (CallRun | Turn)[]): readonly CallRun[] {
  const known = NESTED.get(turn.joins ?? turn);
  if (known === undefined) return NONE;
  const within = new Set<object>(callers);
  return known.filter((run) => {
    const caller = run.turn.madeIn ?? run.turn.joins;
    const isNested = caller !== undefined && within.has(caller);
    if (isNested) within.add(run);
    return isNested;
  });
}

/** Forgets the calls that were made in these: what they did stays. */
export function forgetNested(turn: Turn, callers: readonly (CallRun | Turn)[]): void {
  const gone = new Set(nestedIn(turn, callers));
  if (gone.size === 0) return;
  const root = turn.joins ?? turn;
  NESTED.set(root, NESTED.get(root)?.filter((run) => !gone.has(run)) ?? []);
}
