/** Reads tables of entries that become tools by name, such as the chains of a toolset. */
import { checkName } from "../../core/call.ts";
import { describeThrown } from "../../core/error.ts";
import type { TableReader } from "../table-reader.ts";

/** Returns the entries by name; undefined if the table is missing, which is reported. Invalid names of tools are reported too. */
export function readNamed<Entry>(
  table: TableReader,
  key: string,
  readOne: (entry: TableReader, name: string) => Entry | undefined,
): ReadonlyMap<string, Entry> | undefined {
  const list = table.table(key);
  if (list === undefined) {
    if (!table.has(key)) table.report(undefined, `"${key}" is missing: the ${key} by their names.`);
    return undefined;
  }
  const entries = list.mapEntries((name) => {
    try {
      checkName(name, "tool");
    } catch (thrown: unknown) {
      list.report(name, describeThrown(thrown));
    }
    return list.section(name, (own) => readOne(own, name));
  });
  return new Map(entries);
}
