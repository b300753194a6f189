/** Whether a SQLite store has its thread: in all tests in CI, elsewhere in the tests of stores and in those that ask for it. */
import { expect } from "vitest";
import { useNoSqliteThreads, useSqliteThreads } from "./bundled-threads.ts";
import { inCI } from "./ci.ts";

const isOfStores = expect.getState().testPath?.includes("/test/store/") ?? true;
if (inCI || isOfStores) useSqliteThreads();
else useNoSqliteThreads();
