/** The chain of causes of an error. */

const MAX_CAUSES = 8;

/** Yields the value itself, then its cause, the cause of that and so on: at most eight, since the chain may be circular. */
export function* causesOf(thrown: unknown): Generator<unknown, void, undefined> {
  let each = thrown;
  for (let depth = 0; depth < MAX_CAUSES && each !== undefined; depth++) {
    yield each;
    each = each instanceof Error ? each.cause : undefined;
  }
}
