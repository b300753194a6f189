/** The calls that have begun and not ended, by call id. */

interface Wait {
  readonly awaited: Set<string>;
  readonly resolve: () => void;
}

export class RunningCalls<Run> {
  readonly byId = new Map<string, Run>();
  /** Somebody waits for calls to end. */
  isAwaited = false;
  readonly #waits = new Set<Wait>();

  /** Resolves when every call that runs now, or of those the ones that are meant, has ended, whatever begins after it. */
  whenEnded(isMeant: (run: Run) => boolean = () => true): Promise<void> {
    const awaited = new Set<string>();
    for (const [callId, run] of this.byId) if (isMeant(run)) awaited.add(callId);
    if (awaited.size === 0) return Promise.resolve();
    this.isAwaited = true;
    return new Promise((resolve) => this.#waits.add({ awaited, resolve }));
  }

  /** To be told of each call that has ended while somebody waits. */
  noteEnd(callId: string): void {
    for (const wait of this.#waits) {
      if (!wait.awaited.delete(callId) || wait.awaited.size > 0) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
    this.isAwaited = this.#waits.size > 0;
  }
}
