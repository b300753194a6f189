const SMALL_LOG_EVENTS = 15_000;
const LARGE_LOG_PAUSE_MS = 250;

/** Returns the pause between renderings of a growing log, in milliseconds: large logs are rendered rarely enough to cost little time. */
export function renderPauseMs(events: number): number {
  return events < SMALL_LOG_EVENTS ? 0 : LARGE_LOG_PAUSE_MS;
}
