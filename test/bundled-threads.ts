/** Lets what is tested start its threads from the bundled package: from the source, each one reads and strips a hundred files. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Plugin } from "vite";
import { BUNDLE } from "./bundled-program.ts";

const THREAD_FILE = /(?<=new URL\(here\.endsWith\("\.ts"\) \? )"[^"]+\.ts"(?= : "\.\.\/([^"]+\.js)", here\))/u;

export const bundledThreads: Plugin = {
  name: "bundled-threads",
  enforce: "pre",
  transform: (code, id) =>
    id.includes("/src/") && THREAD_FILE.test(code)
      ? code.replace(THREAD_FILE, (_, file: string) => JSON.stringify(pathToFileURL(join(BUNDLE, "dist", file)).href))
      : undefined,
};
