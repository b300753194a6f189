/** The promises that every run is held to, by their numbers in the list of invariants, and how one is said to be broken. */
export const INVARIANTS = {
  1: "every accepted call is open or has ended",
  2: "a call ends once",
  3: "a result never changes",
  4: "what was acknowledged is durable",
  5: "a session's log gives its state",
  6: "a simulation leaves nothing",
  7: "a result reaches only whoever asked for it",
  8: "no more runs at a time than the limits allow",
  9: "no call is attempted more often than it may be, and retries keep to their budget",
  10: "a cached answer is one that an equal call would be given now",
  11: "an idempotency key has one committed effect at most",
  12: "only the newest owner of a session writes to it",
  14: "nothing is left when all is over",
  15: "every error is of the public list",
  16: "what was called in a call of a voided message is void as well",
  17: "a background job ends once, right behind its call, and is not started again and again where it ends its process",
  18: "each tick and each message of a channel is heard at most once, none of a trigger that is not there, and triggers outlive their process",
  19: "what a node has is taken from it only after it was silent for a lease, or by an operator",
  20: "of two that hold a lease at the same time, one is refused by its fence",
} as const;
export type Invariant = keyof typeof INVARIANTS;

export class Broken extends Error {
  override readonly name = "Broken";
  readonly invariant: Invariant;

  constructor(invariant: Invariant, details: string) {
    super(`Invariant ${invariant} does not hold (${INVARIANTS[invariant]}): ${details}`);
    this.invariant = invariant;
  }
}
