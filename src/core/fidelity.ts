/** How much an answer tells of what the real tool would have said. */

/**
 * How near an answer that is not live comes to the tool's own. `observed`: it gave this answer to an equal call; `similar`: to another
 * one; `schema-valid`: made up, and of the promised shape; `unchecked`: made up, and nothing says of what shape it should be, or it is
 * an error; `scripted`: somebody wrote it.
 */
export const FIDELITIES = ["observed", "similar", "schema-valid", "unchecked", "scripted"] as const;
/** How true a result is to what the tool itself would have answered. */
export type Fidelity = (typeof FIDELITIES)[number];
