/** The nested calls of handlers: if a call is taken back, so are its nested calls. */
import { CallRun } from "../call-run.ts";
import type { CallJob } from "../jobs/job.ts";
import { callsAround } from "./calls-around.ts";
import { callAround, currentPlace, placeOfNoTurn, withinCall, type TurnCall } from "../../session/turn-queue.ts";
import { Turn } from "../../session/turn.ts";
import { addTo } from "../../core/base/add-to.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";

/** The nested calls of each turn that they joined, in the order in which they began. */
const NESTED = new WeakMap<Turn, CallRun[]>();
const NONE: readonly CallRun[] = Object.freeze([]);

/** Whether the handler's calls must be linked to this call by an async context, because nothing else identifies their caller. */
export function isTracked(run: CallRun): boolean {
  const { turn } = run;
  return turn.tracksCallers || run.beside !== undefined || ((run.ticket !== undefined || run.slots !== undefined) && !isFound(run));
}

/** Whether the handler is found by its turn, as the only call in it. */
function isFound({ turn }: CallRun): boolean {
  return turn.running !== undefined && turn.sole !== undefined;
}

/** Runs code of a call, such as a hook, so that the calls it makes are nested in this one. */
export function withinRun<T>(run: CallRun, work: () => T): T {
  return isTracked(run) ? runInCall(run, work) : work();
}

/** Runs code that makes calls for a handler, from anywhere, so that they are nested in its call. */
export function runInCall<T>(run: CallRun, work: () => T): T {
  return withinCall(run.beside ?? run.turn.running ?? placeOfNoTurn(run.turn), run, work);
}

/** The call whose handler makes the calls of this turn. */
export function callerOf({ madeIn }: Turn): CallRun | undefined {
  const caller = callAround(soleOf) ?? madeIn;
  return caller instanceof CallRun ? caller : undefined;
}

/** The only running call of the turn; undefined if there are several. */
function lastOf({ turn, parts }: CallRun): CallRun | undefined {
  const [last, ...others] = parts.running.all().filter((run) => run.turn === turn);
  return others.length === 0 ? last : undefined;
}

/** The only call of a turn that does not track callers. */
export function soleOf(held: object | undefined): TurnCall | undefined {
  return held instanceof Turn ? held.sole : undefined;
}

/** Whether the running code belongs to this call: to its handler, or to that of a nested call. */
export function isWithin(callId: string): boolean {
  const { call: here, held } = currentPlace();
  let call = here ?? soleOf(held);
  while (call !== undefined && call.callId !== callId) call = call.turn instanceof Turn ? call.turn.madeIn : undefined;
  return call !== undefined;
}

/** A running call, in the form of `Runtime.running`. */
export function runningCall(run: CallRun): {
  readonly callId: string;
  readonly name: string;
  readonly input: unknown;
  readonly jobId?: string;
} {
  const { callId, toolName: name, input, call } = run;
  return { callId, name, input: input ?? call.input, ...omitUndefined({ jobId: jobAround(run)?.id }) };
}

/** The background job that a call is, or is nested in; undefined if there is none or it has ended. */
function jobAround(run: CallRun): CallJob | undefined {
  return callsAround(run).find(({ job }) => job?.isOver === false)?.job;
}

/**
 * Whether a call is this one or nested in it.
 *
 * @param call undefined if its turn does not know it: it then counts as this call if no other call of the turn runs
 */
export function isPartOf(call: TurnCall | undefined, outer: CallRun): boolean {
  let part = call ?? soleOf(outer.turn.running?.held) ?? lastOf(outer);
  while (part !== undefined && part !== outer) part = part.turn instanceof Turn ? part.turn.madeIn : undefined;
  return part !== undefined;
}

/** Notes a call that joined a running turn, or is nested in another call. */
export function noteNested(run: CallRun): void {
  const { turn } = run;
  const root = turn.joins ?? turn;
  addTo(NESTED, root, run);
}

/** The calls nested in these, at any depth, in the order in which they began. @param callers calls; a turn for the calls that joined it */
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

/** Called when these calls have ended or continue in the background. Forgets those that can no longer be taken back, with their nested calls. */
export function settle(turn: Turn, runs: readonly CallRun[], callers: readonly (CallRun | Turn)[] = runs): void {
  const { madeIn } = turn;
  if (madeIn?.isSettled === false) return;
  const gone = new Set<CallRun>(nestedIn(turn, callers));
  for (const run of runs) {
    run.isSettled = true;
    if (madeIn !== undefined) gone.add(run);
  }
  if (gone.size > 0) forget(turn, gone);
}

function forget(turn: Turn, gone: ReadonlySet<CallRun>): void {
  const root = turn.joins ?? turn;
  const left = NESTED.get(root)?.filter((run) => !gone.has(run)) ?? [];
  if (left.length > 0) NESTED.set(root, left);
  else NESTED.delete(root);
}
