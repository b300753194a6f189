/** Queues the questions at one terminal: those of parallel calls are asked one after another. */
import { setImmediate } from "node:timers/promises";
import type { Ask } from "../command.ts";

const ends = new WeakMap<Ask, Promise<unknown>>();

/** Runs `work` when all earlier questions are answered. */
export function inLine<T>(ask: Ask, work: () => Promise<T>): Promise<T> {
  const answer = (ends.get(ask) ?? Promise.resolve()).then(work);
  // The turn of the event loop in between lets an "always" withdraw the other questions that it answers.
  const end = answer
    .catch(() => {})
    .then(() => setImmediate())
    .finally(() => {
      if (ends.get(ask) === end) ends.delete(ask);
    });
  ends.set(ask, end);
  return answer;
}

/** Whether a question is open. */
export function isAsking(ask: Ask): boolean {
  return ends.has(ask);
}
