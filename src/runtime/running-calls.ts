/** The calls that have begun and not ended, by call id. */

export class RunningCalls<Run> extends Map<string, Run> {
  /** Calls that somebody waits for. */
  #awaited: Set<string> | undefined;
  readonly #ended = Promise.withResolvers<void>();

  override delete(callId: string): boolean {
    const known = super.delete(callId);
    if (this.#awaited?.delete(callId) === true && this.#awaited.size === 0) this.#ended.resolve();
    return known;
  }

  /** Resolves when every call that runs at the first time of asking has ended, whatever begins after it. */
  whenEnded(): Promise<void> {
    this.#awaited ??= new Set(this.keys());
    if (this.#awaited.size === 0) this.#ended.resolve();
    return this.#ended.promise;
  }
}
