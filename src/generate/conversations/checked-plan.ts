/** Options of every plan. */
export interface CheckedPlan {
  /**
   * Decides about a conversation in which the check finds a dangling id, an unresolved reference, an answer that no result gives, or no
   * last answer. `mark`: its line says so in `problems`. `remake`: it is generated again with other draws, up to three times in all, then marked.
   * Conversations that are the same as an earlier one are generated again either way, those with a model only with `remake`.
   *
   * @default "mark"
   */
  readonly onProblems?: "mark" | "remake";
}
