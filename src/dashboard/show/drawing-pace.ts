/** How often a growing log is drawn. */

const SMALL = 15_000;
const LARGE_MS = 250;

/** The pause between drawings, in milliseconds: small logs each frame, large ones so seldom that drawing takes a small part of the time. */
export function drawingPauseMs(events: number): number {
  return events < SMALL ? 0 : LARGE_MS;
}
