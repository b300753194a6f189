/** Checks the SQLite bundled with Node.js. In a file that does not load `node:sqlite`, because Node prints a warning for that before version 24. */
import { ToolError } from "../../core/error.ts";

/** Earlier versions may lose commits when several processes write. @see https://sqlite.org/wal.html#walresetbug */
const MIN_VERSION = [3, 51, 3] as const;

/** @throws ToolError `store_failed` if this version of SQLite is not safe with several processes */
export function requireVersion(version: string): void {
  const parts = version.split(".").map(Number);
  const differing = MIN_VERSION.findIndex((least, index) => parts[index] !== least);
  if (differing < 0 || (parts[differing] ?? Number.NaN) > (MIN_VERSION[differing] ?? 0)) return;
  throw new ToolError(
    "store_failed",
    `This Node.js includes SQLite ${version}, which can lose commits; at least ${MIN_VERSION.join(".")} is required.`,
    {
      hint: "Use Node.js 24.21, 22.23.3, or a newer one.",
    },
  );
}
