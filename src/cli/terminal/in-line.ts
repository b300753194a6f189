/** Keeps what is asked at one terminal in line: questions of calls that run side by side are put one after another. */
import { setImmediate } from "node:timers/promises";
import type { Ask } from "../command.ts";

const ends = new WeakMap<Ask, Promise<unknown>>();

/** Does `work` when everything asked before is answered. */
export function inLine<T>(ask: Ask, work: () => Promise<T>): Promise<T> {
  const answer = (ends.get(ask) ?? Promise.resolve()).then(work);
  // The turn in between lets an "always" withdraw the questions it answers as well.
  const end = answer
    .catch(() => {})
    .then(() => setImmediate())
    .finally(() => {
      if (ends.get(ask) === end) ends.delete(ask);
    });
  ends.set(ask, end);
  return answer;
}

/** Whether something is asked there now. */
export function isAsking(ask: Ask): boolean {
  return ends.has(ask);
}
