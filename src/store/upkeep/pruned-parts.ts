/** The parts of a store that can be forgotten, in the order in which it is done. */
export const PRUNED_PARTS = ["jobs", "sessions", "artifacts", "answers", "cache"] as const;

export type PrunedPart = (typeof PRUNED_PARTS)[number];
