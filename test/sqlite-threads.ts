/**
 * Whether a SQLite store has its thread: in the tests of stores, in CI in those of the runtime, whose races depend on when a write is durable, and in
 * those that ask for it. To start one takes longer than most tests, and the command line has it anyway where it runs as a process.
 */
import { expect } from "vitest";
import { inCI } from "./ci.ts";
import { useNoSqliteThreads, useSqliteThreads } from "./bundled-threads.ts";

const path = expect.getState().testPath ?? "";
if (path.includes("/test/store/") || (inCI && path.includes("/test/runtime/"))) useSqliteThreads();
else useNoSqliteThreads();
