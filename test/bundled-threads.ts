/** Lets what is tested start its threads from the bundled package: from the source, each one reads and strips a hundred files. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "vitest/config";
import { BUNDLE } from "./bundled-program.ts";

const THREAD_FILE = /(?<=new URL\(here\.endsWith\("\.ts"\) \? )"[^"]+\.ts"(?= : "\.\.\/([^"]+\.js)", here\))/u;

/** Set where a SQLite store is to do without its thread, as in a program that was bundled. */
const WITHOUT_THREAD = "HAFT_TESTS_SQLITE_WITHOUT_THREAD";

/** To start a thread takes longer than most tests. */
export function useNoSqliteThreads(): void {
  process.env[WITHOUT_THREAD] = "1";
}

/** For a test file whose stores write to one file at the same time, each as a process of its own would. */
export function useSqliteThreads(): void {
  delete process.env[WITHOUT_THREAD];
}

export const bundledThreads: Plugin = {
  name: "bundled-threads",
  enforce: "pre",
  transform: (code, id) =>
    id.includes("/src/") && THREAD_FILE.test(code)
      ? code.replace(THREAD_FILE, (_, file: string) => {
          const bundled = JSON.stringify(pathToFileURL(join(BUNDLE, "dist", file)).href);
          return file === "store/sqlite/sqlite-worker.js" ? `process.env["${WITHOUT_THREAD}"] ? "no-thread" : ${bundled}` : bundled;
        })
      : undefined,
};
