/** Ways to break a fleet on purpose, so that every checker is known to see what it is for. */
export const FLEET_SABOTAGES = [
  /** A node writes although another has claimed the session since. */
  "write after the claim is lost",
  /** The claims and leases of a node that is gone are its own for ever. */
  "never take what a dead node had",
  /** Whether another node still lives is judged by the own clock. */
  "take over by the clock of the node",
  /** Results are acknowledged, and written later or never. */
  "acknowledge before the commit",
  /** The database answers some commits, and does not make them. */
  "answer commits that are not made",
  /** A service that compares fences sees no difference between holders. */
  "give every lease the same fence",
  /** A payment is said to be safe to repeat, and is not. */
  "repeat what may not be repeated",
  /** A request that is sent again is taken for another one. */
  "forget the keys of requests",
  /** The ends of jobs are not written. */
  "leave out the end of a job",
  /** A node that lost a session answers for it as before. */
  "keep a lost session open",
] as const;
export type FleetSabotage = (typeof FLEET_SABOTAGES)[number];
