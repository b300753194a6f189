import { CallRun } from "../call-run.ts";
import { callOutside } from "./composite.ts";

/** Returns the call and the calls around it, the outermost last. */
export function callsAround(run: CallRun): readonly CallRun[] {
  const calls: CallRun[] = [];
  for (let around: unknown = run; around instanceof CallRun; around = callOutside(around)) calls.push(around);
  return calls;
}
