/** How reliably an answer shows what the real tool would have answered. */

/**
 * How reliable an answer is that is not live. `observed`: the tool gave this answer to an equal call; `similar`: to another call; `schema-valid`:
 * generated, and matches the schema; `unchecked`: generated, without a schema to check it, or an error; `scripted`: prepared beforehand.
 */
export const FIDELITIES = ["observed", "similar", "schema-valid", "unchecked", "scripted"] as const;
/** The fidelity of a result: one of `FIDELITIES`. */
export type Fidelity = (typeof FIDELITIES)[number];
