/** The calls that have begun and not ended, by call id. */

interface Wait {
  readonly awaited: Set<string>;
  readonly resolve: () => void;
}

export class RunningCalls<Run> extends Map<string, Run> {
  readonly #waits = new Set<Wait>();

  override delete(callId: string): boolean {
    const known = super.delete(callId);
    if (this.#waits.size > 0) this.#noteEnd(callId);
    return known;
  }

  /** Resolves when every call that runs now, or of those the ones that are meant, has ended, whatever begins after it. */
  whenEnded(isMeant: (run: Run) => boolean = () => true): Promise<void> {
    const awaited = new Set<string>();
    for (const [callId, run] of this) if (isMeant(run)) awaited.add(callId);
    if (awaited.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waits.add({ awaited, resolve }));
  }

  #noteEnd(callId: string): void {
    for (const wait of this.#waits) {
      if (!wait.awaited.delete(callId) || wait.awaited.size > 0) continue;
      this.#waits.delete(wait);
      wait.resolve();
    }
  }
}
