/** Work that a leader does and any number of followers wait for. */
export class SingleFlight<T> {
  /** Whether the work is done and its outcome is about to be passed on. */
  isSettling = false;
  /** The versions that the resources of the work had in the store before it began; undefined if they are not known, or kept in no store. */
  versions: readonly number[] | undefined;
  /** Their versions after its end, once a follower has asked for them. */
  laterVersions: Promise<readonly number[] | undefined> | undefined;
  readonly leader: object;
  #ended = false;
  #value: T | undefined;
  #promise: Promise<T | undefined> | undefined;
  #resolve: ((value: T | undefined) => void) | undefined;

  constructor(leader: object) {
    this.leader = leader;
  }

  get hasEnded(): boolean {
    return this.#ended;
  }

  /** Resolves to the leader's value, or to undefined if it had none. Never rejects. */
  whenEnded(): Promise<T | undefined> {
    if (this.#ended) return Promise.resolve(this.#value);
    this.#promise ??= new Promise((resolve) => {
      this.#resolve = resolve;
    });
    return this.#promise;
  }

  /** Resolves the followers. Later calls have no effect. */
  end(value?: T): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#value = value;
    this.#resolve?.(value);
  }
}
