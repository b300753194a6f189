/** Runs compiled statements with other parameters. */
import type { CompiledQuery } from "kysely";

/** @param parameters in the order of the statement's text */
export function withParameters<Row>(query: CompiledQuery<Row>, parameters: readonly unknown[]): CompiledQuery<Row> {
  return { ...query, parameters };
}
