/** The SQLite store in a program that a bundler made one file of. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { describe, expect, test } from "vitest";
import { storeContract } from "../../src/testing/store-contract.ts";
import { DatabaseStore } from "../../src/store/database/database-store.ts";
import { InThreadDatabase } from "../../src/store/database/in-thread-database.ts";
import { openSqliteDatabase } from "../../src/store/sqlite/sqlite-database.ts";
import { findWorkerFile } from "../../src/store/sqlite/worker-database.ts";
import { BUNDLE } from "../bundled-program.ts";
import { localStore } from "./local-store.ts";
import { temporaryFile } from "./temporary-file.ts";
import { inCI } from "../ci.ts";

const ENTRY = fileURLToPath(new URL("bundle-entry.ts", import.meta.url));

const FORMATS = [
  ["esm", ".mjs"],
  ["cjs", ".cjs"],
] as const;

describe("the store in a bundle", { timeout: 240_000 }, () => {
  test.each(inCI ? FORMATS : [FORMATS[0]])(
    "built as %s, the store writes, and another process reads and extends what it wrote",
    async (format, ending) => {
      const file = temporaryFile(`out/program${ending}`);
      const bundle = await rolldown({ input: ENTRY, platform: "node", logLevel: "silent" });
      await bundle.write({ file, format, codeSplitting: false });
      await bundle.close();
      const run = async (): Promise<string> =>
        (await promisify(execFile)(process.execPath, ["--no-warnings", file, join(file, "..", "..", "store.db")])).stdout.trim();
      expect([await run(), await run()]).toEqual(["[1,2]", "[3,4]"]);
    },
  );
});

test("no worker file is found for an unknown location or one without a worker file beside it", () => {
  const somewhere = new URL("./nowhere/a/bundle.js", import.meta.url).href;
  expect([null, "", "blob:nodedata:1", somewhere].map((here) => findWorkerFile(here)?.href ?? "none")).toEqual(Array(4).fill("none"));
  expect(findWorkerFile()?.href).toBe(pathToFileURL(`${BUNDLE}/dist/store/sqlite/sqlite-worker.js`).href); // as test/bundled-threads.ts has it
});

test.each(storeContract.filter((_, index) => inCI || index % 4 === 0))(
  "a store that runs in the caller's thread fulfils the contract: $title",
  async ({ run }) => {
    const path = temporaryFile();
    const settings = { path, readOnly: false, busyTimeoutMs: 0, synchronous: "normal", maxCacheBytes: 64e6 } as const;
    const options = { kind: "sqlite", outlivesProcess: true, place: `The store ${path}`, readOnly: false, maxBufferedBytes: 64e6 };
    await run({
      store: new DatabaseStore(
        new InThreadDatabase({ place: options.place, heartbeatMs: 5_000, connect: async () => openSqliteDatabase(settings) }),
        options,
      ),
      createSecond: () => localStore(path).store,
    });
  },
);
