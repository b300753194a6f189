/** Several names of one key, of which a file may use any one. */
import type { TableReader } from "./table-reader.ts";

/** The first name that the table has, or else the first of all; every further one that it has is reported. */
export function firstPresentKey(table: TableReader, [first, ...others]: readonly [string, ...string[]]): string {
  const used = [first, ...others].filter((key) => table.value(key) !== undefined);
  for (const key of used.slice(1)) table.report(key, `duplicates ${used[0] ?? first}; remove one of them.`);
  return used[0] ?? first;
}
