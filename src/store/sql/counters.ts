/** Counters: rows with one number each, which a transaction locks before it changes them. */
import type { Transaction } from "kysely";
import type { CounterTable, Tables } from "./tables.ts";

/** Returns the value, and locks it until the transaction ends. */
export async function lockCounter(transaction: Transaction<Tables>, name: CounterTable["name"]): Promise<number> {
  const { value } = await transaction
    .insertInto("haft_counter")
    .values({ name, value: 0 })
    .onConflict((conflict) => conflict.column("name").doUpdateSet((update) => ({ value: update.ref("haft_counter.value") })))
    .returning("value")
    .executeTakeFirstOrThrow();
  return value;
}

export async function setCounter(transaction: Transaction<Tables>, name: CounterTable["name"], value: number): Promise<void> {
  await transaction
    .insertInto("haft_counter")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
