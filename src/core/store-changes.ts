/** The hints with which the processes of a store tell each other that something was written. */

/** A part of a store that processes wait for each other in. */
export type ChangedPart = (typeof CHANGED_PARTS)[number];

/** The parts of a store that processes wait for each other in. */
export const CHANGED_PARTS = ["events", "approvals", "jobs", "queue", "channels"] as const;

/** A hint that another process may have written something. */
export interface StoreChange {
  readonly parts: readonly ChangedPart[];
  /** The sessions whose logs have moved; undefined: it may be any. */
  readonly sessionIds: readonly string[] | undefined;
  /** Of the part `channels`, the names of those that have moved; undefined: it may be any. */
  readonly channels?: readonly string[] | undefined;
}

/** A listener of changes. */
export interface StoreFollower {
  /** Whether hints arrive at once now. A reader looks less often meanwhile; not never, because a hint may be lost. */
  readonly isLive: boolean;
  stop(): void;
}

/** That of a store whose processes do not tell each other. */
export const NOT_FOLLOWED: StoreFollower = Object.freeze({ isLive: false, stop() {} });

/** Sends hints about what was written to other processes of the same store, and receives theirs. */
export interface StoreNotifier {
  /** To be called when it is durable. */
  note(change: StoreChange): void;
  follow(listener: (change: StoreChange) => void): StoreFollower;
  close(): Promise<void>;
}
