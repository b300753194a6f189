/** The first of several sources that has what is wanted, where one that hangs must not keep it from the caller. */
import type { Clock } from "../../core/ports.ts";

/** One place to look for something. */
export interface Search<T> {
  /** Resolves to undefined where it is not there. Never rejects. */
  readonly found: Promise<T | undefined>;
  /** It did not answer in time when it was last asked: a find elsewhere does not wait for it. */
  readonly isLate: boolean;
}

/** How long a find waits for a place that is to be preferred, and a caller for one place before the next is asked as well. */
const GRACE_MS = 1_000;

/**
 * Returns the find of the earliest place. Places that are late, and those that have not answered within a second, do not hold up a find of a
 * later one.
 *
 * @param options.isBrief gives up once the second is over. @default false: it waits for all that are not late
 */
export function firstFound<T>(
  searches: readonly Search<T>[],
  { clock, isBrief = false }: { readonly clock: Clock; readonly isBrief?: boolean },
): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<T | undefined>();
  const pending = new Set(searches);
  const finds = new Map<Search<T>, T>();
  let isOverdue = false;
  const look = (): void => {
    for (const search of searches) {
      const find = finds.get(search);
      if (find !== undefined) return resolve(find);
      if (pending.has(search) && !search.isLate && !isOverdue) return;
    }
    const isDone = isOverdue && (isBrief || [...pending].every((search) => search.isLate));
    if (pending.size === 0 || isDone) resolve(undefined);
  };
  const follow = async (search: Search<T>): Promise<void> => {
    const find = await search.found;
    pending.delete(search);
    if (find !== undefined) finds.set(search, find);
    look();
  };
  for (const search of searches) void follow(search);
  if (searches.length === 0) resolve(undefined);
  const cancel = clock.timer(() => {
    isOverdue = true;
    look();
  }, GRACE_MS);
  return promise.finally(cancel);
}

/**
 * Asks one after the other until one answers: the next when one has failed, or besides one that has not answered within a second.
 *
 * @throws AggregateError of all errors, in the order of the candidates
 */
export function firstAnswer<C, T>(candidates: readonly C[], ask: (candidate: C) => Promise<T>, clock: Clock): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const errors = new Map<number, unknown>();
  let begun = 0;
  let isOver = false;
  let cancel = (): void => {};
  const askOne = async (candidate: C, index: number): Promise<void> => {
    try {
      resolve(await ask(candidate));
    } catch (error: unknown) {
      errors.set(index, error);
      next();
    }
  };
  const next = (): void => {
    cancel();
    if (isOver) return;
    if (errors.size === candidates.length) return reject(new AggregateError(candidates.map((_, index) => errors.get(index))));
    const index = begun;
    const [candidate] = candidates.slice(index, index + 1);
    if (candidate === undefined) return;
    begun++;
    void askOne(candidate, index);
    cancel = clock.timer(next, GRACE_MS);
  };
  next();
  return promise.finally(() => {
    isOver = true;
    cancel();
  });
}
