/** The time while something runs; it moves on gently, and less often for those who want less motion. */
import { useNow } from "../server/now.ts";

const EVERY_MS = 120;
const CALM_MS = 1_000;
/** With more calls each drawing takes a noticeable time. */
const MANY = 20_000;

export function useRunningNow(isRunning: boolean, calls: number): number {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return useNow(isRunning ? (calm || calls > MANY ? CALM_MS : EVERY_MS) : undefined);
}
