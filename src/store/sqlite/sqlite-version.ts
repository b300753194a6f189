/** The SQLite that Node.js brings, in a file that does not load it: before version 24, Node warns when that is done. */
import { ToolError } from "../../core/error.ts";

/** Earlier versions may lose commits when several processes write. @see https://sqlite.org/wal.html#walresetbug */
const LEAST_VERSION = [3, 51, 3] as const;

/** @throws ToolError `store_failed` for a SQLite that cannot be trusted with several processes */
export function requireVersion(version: string): void {
  const parts = version.split(".").map(Number);
  const differing = LEAST_VERSION.findIndex((least, index) => parts[index] !== least);
  if (differing < 0 || (parts[differing] ?? Number.NaN) > (LEAST_VERSION[differing] ?? 0)) return;
  throw new ToolError(
    "store_failed",
    `This Node.js brings SQLite ${version}, which can lose commits; ${LEAST_VERSION.join(".")} is the least.`,
    {
      hint: "Use Node.js 24.21, 22.23.3, or a newer one.",
    },
  );
}
