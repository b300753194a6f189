/** `rename`: other names for the tools of a server or a document. */
import { renameProblems } from "../engine/renamed-tools.ts";
import type { Rename } from "../engine/renamed-tools.ts";
import type { TableReader } from "./table-reader.ts";

/** Undefined where there is none. What no source could make right is reported where it stands. */
export function readRename(table: TableReader): Rename | undefined {
  const rename = table.textTable("rename");
  if (rename === undefined) return undefined;
  const at = table.table("rename");
  for (const { from, problem } of renameProblems(rename)) at?.report(from, problem);
  return rename;
}
