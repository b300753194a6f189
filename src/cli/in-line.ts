/** Keeps what is asked at one terminal in line: questions of calls that run side by side are put one after another. */
import { setImmediate } from "node:timers/promises";
import type { Ask } from "./command.ts";

const ends = new WeakMap<Ask, Promise<unknown>>();

/** Does `work` when everything asked before is answered. */
export function inLine<T>(ask: Ask, work: () => Promise<T>): Promise<T> {
  const answer = (ends.get(ask) ?? Promise.resolve()).then(work);
  // The turn in between lets an "always" withdraw the questions it answers as well.
  ends.set(
    ask,
    answer.catch(() => {}).then(() => setImmediate()),
  );
  return answer;
}
