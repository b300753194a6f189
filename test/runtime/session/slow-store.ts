/** A store that answers late, after a number of turns of the event loop that a seed decides. */
import type { EventLog, Store } from "../../../src/core/store/store.ts";

/** Numbers from 0 to below `below`, the same for a seed in every run. */
export function numbersOf(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0; // Numerical Recipes' generator
    return Math.floor((state / 2 ** 32) * below);
  };
}

export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
}

/** The store itself, whose answers about sessions and questions come late from now on. */
export function slowed(store: Store, number: (below: number) => number): Store {
  const late = <Args extends unknown[], T>(owner: object, work: (...args: Args) => Promise<T>): ((...args: Args) => Promise<T>) => {
    return async (...args) => {
      await turns(number(4));
      const answer = await work.apply(owner, args);
      await turns(number(4));
      return answer;
    };
  };
  const slowLog = (log: EventLog): EventLog => {
    const { whenDurable } = log;
    const durable = (): Promise<void> | undefined => {
      const waited = whenDurable.call(log);
      const count = number(4);
      return waited === undefined && count === 0 ? undefined : Promise.resolve(waited).then(() => turns(count));
    };
    return Object.assign(log, { whenDurable: durable, close: late(log, log.close) });
  };
  const { approvals, create } = store;
  const claim = late(store, store.claim);
  Object.assign(approvals, {
    put: late(approvals, approvals.put),
    rules: late(approvals, approvals.rules),
    end: late(approvals, approvals.end),
  });
  return Object.assign(store, {
    create: (...args: Parameters<Store["create"]>) => slowLog(create.apply(store, args)),
    claim: async (...args: Parameters<Store["claim"]>) => slowLog(await claim(...args)),
    remove: late(store, store.remove),
  });
}
