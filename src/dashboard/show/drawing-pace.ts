const SMALL = 15_000;
const LARGE_MS = 250;

/** Returns the pause between renderings of a growing log, in milliseconds: large logs are rendered rarely enough to cost little time. */
export function drawingPauseMs(events: number): number {
  return events < SMALL ? 0 : LARGE_MS;
}
