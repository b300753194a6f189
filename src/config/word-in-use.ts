/** Several words for one key, of which a file may use any one. */
import type { TableReader } from "./table-reader.ts";

/** The first of the words that is there, or else the first of all; every other one that is there is reported. */
export function wordInUse(table: TableReader, [first, ...others]: readonly [string, ...string[]]): string {
  const used = [first, ...others].filter((word) => table.value(word) !== undefined);
  for (const word of used.slice(1)) table.report(word, `is another word for ${used[0] ?? first}; keep one of them.`);
  return used[0] ?? first;
}
