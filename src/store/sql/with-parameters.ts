/** Compiled statements, run with other parameters than they were compiled with. */
import type { CompiledQuery } from "kysely";

/** Parameters are in the order of the statement's text. */
export function withParameters<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): CompiledQuery<Row> {
  return { ...query, parameters };
}
