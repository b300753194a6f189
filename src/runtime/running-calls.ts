/** The calls that have begun and not ended, by call id. */

export class RunningCalls<Run> extends Map<string, Run> {
  #idle: PromiseWithResolvers<void> | undefined;

  override delete(callId: string): boolean {
    const known = super.delete(callId);
    if (this.#idle !== undefined && this.size === 0) {
      this.#idle.resolve();
      this.#idle = undefined;
    }
    return known;
  }

  /** Resolves when no call is running; at once when none is. */
  whenIdle(): Promise<void> {
    if (this.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }
}
