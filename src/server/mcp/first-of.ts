/** Picks the first of several sources that has something, without waiting for a source that hangs. */
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";

/** A search in one source. */
export interface Search<T> {
  /** Resolves to undefined if the source does not have it. Never rejects. */
  readonly found: Promise<T | undefined>;
  /** Whether the source did not answer in time when it was last asked: results of other sources do not wait for it. */
  readonly isLate: boolean;
}

/** How long to wait for one source before the next is asked too, in milliseconds. */
const GRACE_MS = 1_000;

/**
 * Returns the result of the first source in order. A later result waits for all earlier searches, however long they take, because each may have a
 * preferred result; only late sources are not waited for.
 */
export function firstFound<T>(searches: readonly Search<T>[]): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<T | undefined>();
  const pending = new Set(searches);
  const finds = new Map<Search<T>, T>();
  const look = (): void => {
    for (const search of searches) {
      const find = finds.get(search);
      if (find !== undefined) return resolve(find);
      if (pending.has(search) && !search.isLate) return;
    }
    if ([...pending].every((search) => search.isLate)) resolve(undefined);
  };
  const follow = async (search: Search<T>): Promise<void> => {
    const find = await search.found;
    pending.delete(search);
    if (find !== undefined) finds.set(search, find);
    look();
  };
  for (const search of searches) void follow(search);
  if (searches.length === 0) resolve(undefined);
  return promise;
}

/**
 * Asks one candidate after the other until one answers: the next when one has failed, or in addition to one that has not answered within a second.
 * The signal of the others is then aborted, and all are aborted when `outer` aborts.
 *
 * @throws AggregateError of all errors, in the order of the candidates
 */
export function firstAnswer<C, T>(
  candidates: readonly C[],
  ask: (candidate: C, signal: AbortSignal) => Promise<T>,
  { clock, outer }: { readonly clock: Clock; readonly outer: AbortSignal },
): Promise<T> {
  const end = new AbortController();
  const signal = AbortSignal.any([outer, end.signal]);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const errors = new Map<number, unknown>();
  let startedCount = 0;
  let isOver = false;
  let cancel = (): void => {};
  const askOne = async (candidate: C, index: number): Promise<void> => {
    try {
      resolve(await ask(candidate, signal));
    } catch (error: unknown) {
      errors.set(index, error);
      next();
    }
  };
  const next = (): void => {
    cancel();
    if (isOver) return;
    if (errors.size === candidates.length) return reject(new AggregateError(candidates.map((_, index) => errors.get(index))));
    const index = startedCount;
    const [candidate] = candidates.slice(index, index + 1);
    if (candidate === undefined) return;
    startedCount++;
    void askOne(candidate, index);
    cancel = clock.timer(next, GRACE_MS);
  };
  next();
  return promise.finally(() => {
    isOver = true;
    cancel();
    end.abort(new ToolError("cancelled", "Another server answered first."));
  });
}
