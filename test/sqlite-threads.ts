/**
 * Whether a SQLite store has its thread: in the tests of stores and in those that ask for it, and in CI in all others but those of the
 * command line, which has it where it runs as a process.
 */
import { expect } from "vitest";
import { useNoSqliteThreads, useSqliteThreads } from "./bundled-threads.ts";
import { inCI } from "./ci.ts";

const path = expect.getState().testPath ?? "";
if (path.includes("/test/store/") || (inCI && !path.includes("/test/cli/"))) useSqliteThreads();
else useNoSqliteThreads();
