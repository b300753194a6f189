/** How reliably an answer shows what the real tool would have answered. */

/**
 * How reliable an answer is that is not live. `observed`: it gave this answer to an equal call; `similar`: to another
 * one; `schema-valid`: generated, and of the promised shape; `unchecked`: generated, without a schema to check it, or it is
 * an error; `scripted`: it was written beforehand.
 */
export const FIDELITIES = ["observed", "similar", "schema-valid", "unchecked", "scripted"] as const;
/** How true a result is to what the tool itself would have answered. */
export type Fidelity = (typeof FIDELITIES)[number];
