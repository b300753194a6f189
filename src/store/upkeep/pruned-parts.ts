/** The parts of a store that can be forgotten, in the order in which it is done. */
import type { UpkeepOptions } from "./upkeep-work.ts";

export const PRUNED_PARTS = ["jobs", "sessions", "artifacts", "answers", "calls", "cache"] as const;

export type PrunedPart = (typeof PRUNED_PARTS)[number];

export interface PruneOptions extends UpkeepOptions {
  /** Everything that was last changed before this time is forgotten. Milliseconds since the epoch. */
  readonly before: number;
  readonly now: number;
  /** @default all */
  readonly parts?: readonly PrunedPart[];
  /** Counts, and forgets nothing. @default false */
  readonly dryRun?: boolean;
}
