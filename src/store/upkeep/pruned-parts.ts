/** The parts of a store that can be pruned, in the order in which they are. */
import type { UpkeepOptions } from "./upkeep-options.ts";

export const PRUNED_PARTS = ["jobs", "sessions", "artifacts", "answers", "calls", "cache"] as const;

export type PrunedPart = (typeof PRUNED_PARTS)[number];

export interface PruneOptions extends UpkeepOptions {
  /** Items last changed before this time are deleted. Milliseconds since the epoch. */
  readonly before: number;
  readonly now: number;
  /** @default all */
  readonly parts?: readonly PrunedPart[];
  /** Whether to count without deleting. @default false */
  readonly dryRun?: boolean;
}
