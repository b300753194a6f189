import { CallRun } from "../call-run.ts";
import { findCallerOrParent } from "./composite.ts";

/** Returns the call and the calls around it, the outermost last. */
export function callStack(run: CallRun): readonly CallRun[] {
  const calls: CallRun[] = [];
  for (let outer: unknown = run; outer instanceof CallRun; outer = findCallerOrParent(outer)) calls.push(outer);
  return calls;
}
