/** The chain of errors behind an error. */

const MAX_CAUSES = 8;

/** The value itself, then its cause, the cause of that and so on: eight at most, since a chain may be a circle. */
export function* causesOf(thrown: unknown): Generator<unknown, void, undefined> {
  let each = thrown;
  for (let depth = 0; depth < MAX_CAUSES && each !== undefined; depth++) {
    yield each;
    each = each instanceof Error ? each.cause : undefined;
  }
}
