/** Ways to break the world on purpose, so that every checker is known to see what it is for. */
export const SABOTAGES = [
  /** A crash takes results with it that somebody was told of. */
  "lose what was acknowledged",
  /** The bank books some payments twice. */
  "commit twice",
  /** Two callers are each given what the other asked for. */
  "swap results",
  /** A simulation is a real turn. */
  "simulate for real",
  /** The store takes writes from an owner that lost its claim. */
  "write after the claim is lost",
  /** Documents change behind the back of the cache. */
  "write unseen",
  /** More handlers run than the checker is told may. */
  "forget a limit",
  /** A tool may be attempted more often than the checker is told. */
  "forget the attempts",
  /** A submission that is sent again comes to something else. */
  "change a result",
  /** A batch that is sent again is sent under another key. */
  "send under another key",
  /** A listener hears of one end twice. */
  "end twice",
  /** The ends of some jobs are not written. */
  "leave out the end of a job",
  /** The removals of triggers are not written. */
  "leave out a removal",
  /** An agent says each message of its inbox twice. */
  "hear twice",
] as const;
export type Sabotage = (typeof SABOTAGES)[number];
