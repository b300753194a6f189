
const SMALL = 15_000;
const LARGE_MS = 250;

/**
 * Returns the pause between renderings of a growing log, in milliseconds: none for small logs, and for large ones enough that rendering takes only a
 * small
 * part of the time.
 */
export function drawingPauseMs(events: number): number {
  return events < SMALL ? 0 : LARGE_MS;
}
