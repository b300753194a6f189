/** Rows of one number each, which transactions that change it lock one after the other. */
import type { Transaction } from "kysely";
import type { CounterTable, Tables } from "./tables.ts";

/** The value, which no other transaction changes or locks until this one ends. */
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
