/** A program that opens a SQLite store and prints why it cannot: arguments are its file, and what is missing in a bundle. */
import fs from "node:fs";
import { registerHooks, syncBuiltinESMExports } from "node:module";
import { errorInfo, ToolError } from "../../src/core/error.ts";
import { createRuntime } from "../../src/index.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";

const [, , path = "", mode] = process.argv;
const SOURCES: Readonly<Record<string, string>> = {
  "no-module": 'throw new Error("No such built-in module: node:sqlite");',
  // A SQLite that is refused: it makes its file when it is opened, as every one.
  old: `import { writeFileSync } from "node:fs";
export class DatabaseSync {
  constructor(path) { if (path !== ":memory:") writeFileSync(path, ""); }
  prepare() { return { get: () => ({ version: "3.47.2" }) }; }
  exec() {}
  close() {}
}`,
  illegal: 'export class DatabaseSync { constructor() { throw new TypeError("Illegal constructor"); } }',
};
const source = mode === undefined ? undefined : SOURCES[mode];
if (source !== undefined) {
  const url = `data:text/javascript,${encodeURIComponent(source)}`;
  registerHooks({
    resolve: (specifier, context, next) => (specifier === "node:sqlite" ? { url, shortCircuit: true } : next(specifier, context)),
  });
  // A bundle has no file of the thread.
  const { existsSync } = fs;
  fs.existsSync = (file) => !String(file).endsWith("sqlite-worker.ts") && existsSync(file);
  syncBuiltinESMExports();
}

const runtime = createRuntime({ tools: [], store: sqliteStore({ path }) });
try {
  await runtime.open();
  await runtime.resume("a", { create: true });
  console.log('"opened"');
} catch (thrown: unknown) {
  console.log(JSON.stringify(errorInfo(ToolError.fromUnknown(thrown))));
}
await runtime.close();
