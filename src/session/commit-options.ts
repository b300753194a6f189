/** The options of a commit. */

/** Options for committing a branch. */
export interface CommitOptions {
  /**
   * Ends the wait for running calls of the branch or its session. The commit then rejects with `cancelled`, and has changed nothing; once it has
   * begun to write, the signal has no effect.
   */
  readonly signal?: AbortSignal;
}
