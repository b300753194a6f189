/** Options of every plan. */
export interface CheckedPlan {
  /**
   * Decides about a conversation in which the check finds a dangling id, an unresolved reference, an ungrounded answer, or no last answer. `mark`:
   * the problems are listed in `problems` of its line. `remake`: it is generated again with other draws, up to three times in all, and then marked.
   * Duplicates of earlier conversations are generated again in both cases, but with a model only with `remake`.
   *
   * @default "mark"
   */
  readonly onProblems?: "mark" | "remake";
}
