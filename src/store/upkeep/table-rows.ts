/** Reads the rows of any table of a store in pieces of bounded size, and computes a sum to compare two tables. */
import { hash } from "node:crypto";
import { sql, type Kysely } from "kysely";
import type { SchemaShape } from "../sql/schema-shape.ts";
import type { Tables } from "../sql/tables.ts";
import { yieldBetweenSteps, type UpkeepOptions } from "./upkeep-options.ts";

export type Value = string | number | null;
export type Row = Readonly<Record<string, Value>>;

/** Tables whose names are known only at run time. */
type AnyTables = Record<string, Record<string, Value>>;

/** Maximum number of rows in one statement of every database. */
const MAX_ROWS = 500;
/** Maximum size of the texts in a piece, in bytes; a larger row is a piece of its own. */
const MAX_BYTES = 4 * 1024 * 1024;
const SIZE_BATCH_SIZE = 1_000;

export interface TableLayout {
  readonly name: string;
  /** Columns that identify a row, in whose order the rows are read. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  readonly texts: readonly string[];
}

/** @throws Error if the shape has no such table */
export function toTableLayout({ tables }: SchemaShape, { name, key }: Pick<TableLayout, "name" | "key">): TableLayout {
  const table = tables.get(name);
  if (table === undefined) throw new Error(`The shape of a store has no ${name}.`);
  const columns = [...table.columns.keys()];
  return { name, key, columns, texts: columns.filter((column) => table.columns.get(column)?.kind === "text") };
}

export function toUntypedTables(tables: Kysely<Tables>): Kysely<AnyTables> {
  return tables as unknown as Kysely<AnyTables>; // the names come from the shape of the tables
}

/** Reads the rows in the order of the key. Sizes are read first, so that rows of many megabytes are not read together. */
export async function* readRowBatches(
  tables: Kysely<Tables>,
  layout: TableLayout,
  options: UpkeepOptions,
): AsyncGenerator<readonly Row[], void, undefined> {
  let last: Row | undefined;
  for (;;) {
    const ends = findBatchEnds(await readSizesAfter(tables, layout, last));
    if (ends.length === 0) return;
    for (const end of ends) {
      await yieldBetweenSteps(options);
      const rows = selectAfter(tables, layout, last)
        .where(isUpTo(layout.key, end))
        .select([...layout.columns]);
      yield await orderByKey(rows, layout).execute();
      last = end;
    }
  }
}

interface SizedRow extends Row {
  readonly bytes: number;
}

async function readSizesAfter(tables: Kysely<Tables>, layout: TableLayout, last: Row | undefined): Promise<readonly SizedRow[]> {
  const sizes = layout.texts.map((column) => sql`coalesce(octet_length(${sql.ref(column)}), 0)`);
  const bytes = sizes.length === 0 ? sql<number>`0` : sql<number>`${sql.join(sizes, sql` + `)}`;
  const rows = selectAfter(tables, layout, last)
    .select([...layout.key])
    .select(bytes.as("bytes"))
    .limit(SIZE_BATCH_SIZE);
  return orderByKey(rows, layout).execute();
}

function selectAfter(tables: Kysely<Tables>, { name, key }: TableLayout, last: Row | undefined) {
  const all = toUntypedTables(tables).selectFrom(name);
  return last === undefined ? all : all.where(sql<boolean>`(${columnsOf(key)}) > (${valuesOf(key, last)})`);
}

function isUpTo(key: readonly string[], end: Row) {
  return sql<boolean>`(${columnsOf(key)}) <= (${valuesOf(key, end)})`;
}

function columnsOf(key: readonly string[]) {
  return sql.join(key.map((column) => sql.ref(column)));
}

function valuesOf(key: readonly string[], row: Row) {
  return sql.join(key.map((column) => row[column]));
}

function orderByKey<Query extends { orderBy(column: string): Query }>(query: Query, { key }: TableLayout): Query {
  return key.reduce((ordered, column) => ordered.orderBy(column), query);
}

/** Returns the last row of each piece. */
function findBatchEnds(sizes: readonly SizedRow[]): readonly Row[] {
  const ends: Row[] = [];
  let [rows, bytes] = [0, 0];
  for (const [index, row] of sizes.entries()) {
    rows++;
    bytes += row.bytes;
    const next = sizes[index + 1];
    if (next !== undefined && rows < MAX_ROWS && bytes + next.bytes <= MAX_BYTES) continue;
    ends.push(row);
    [rows, bytes] = [0, 0];
  }
  return ends;
}

const MODULUS = 2n ** 128n;

/** Counts rows, and sums their digests, which does not depend on the order in which a database sorts texts. */
export class TableSum {
  rows = 0;
  #sum = 0n;

  add(rows: readonly Row[], { columns }: TableLayout): void {
    for (const row of rows) {
      const text = JSON.stringify(columns.map((column) => row[column] ?? null));
      this.#sum = (this.#sum + BigInt(`0x${hash("sha256", text).slice(0, 32)}`)) % MODULUS;
    }
    this.rows += rows.length;
  }

  get checksum(): string {
    return this.#sum.toString(16).padStart(32, "0");
  }
}
