/** How often a growing log is drawn. */

const SMALL = 15_000;
const LONGEST_MS = 1_000;

/** The pause between drawings, in milliseconds: small logs each frame, large ones so seldom that drawing takes a small part of the time. */
export function drawingPauseMs(events: number): number {
  return events < SMALL ? 0 : Math.min(LONGEST_MS, events / 300);
}
