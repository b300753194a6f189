/** Hints with which the processes of a store notify each other of writes. */

export type ChangedPart = (typeof CHANGED_PARTS)[number];

/** The parts of a store for whose changes processes wait. */
export const CHANGED_PARTS = ["events", "approvals", "jobs", "queue", "channels"] as const;

/** A hint that another process may have written something. */
export interface StoreChange {
  readonly parts: readonly ChangedPart[];
  /** The sessions whose logs changed; undefined: possibly any. */
  readonly sessionIds: readonly string[] | undefined;
  /** For the part `channels`, the names of the changed channels; undefined: possibly any. */
  readonly channels?: readonly string[] | undefined;
}

/** A listener of changes. */
export interface StoreFollower {
  /** Whether hints arrive immediately at present. Readers then poll less often, but still poll, because a hint may be lost. */
  readonly isLive: boolean;
  stop(): void;
}

/** The follower for a store whose processes do not notify each other. */
export const NO_FOLLOWER: StoreFollower = Object.freeze({ isLive: false, stop() {} });

/** Sends hints about writes to other processes of the same store, and receives theirs. */
export interface StoreNotifier {
  /** Called when the write is durable. */
  notify(change: StoreChange): void;
  follow(listener: (change: StoreChange) => void): StoreFollower;
  close(): Promise<void>;
}
