/** Queues the questions at one terminal: those of parallel calls are asked one after another. */
import { setImmediate } from "node:timers/promises";
import type { Ask } from "../command.ts";

const queueTails = new WeakMap<Ask, Promise<unknown>>();

/** Runs `work` when all earlier questions are answered. */
export function enqueueQuestion<T>(ask: Ask, work: () => Promise<T>): Promise<T> {
  const answer = (queueTails.get(ask) ?? Promise.resolve()).then(work);
  // The turn of the event loop in between lets an "always" withdraw the other questions that it answers.
  const end = answer
    .catch(() => {})
    .then(() => setImmediate())
    .finally(() => {
      if (queueTails.get(ask) === end) queueTails.delete(ask);
    });
  queueTails.set(ask, end);
  return answer;
}

/** Whether a question is open. */
export function hasOpenQuestion(ask: Ask): boolean {
  return queueTails.has(ask);
}
