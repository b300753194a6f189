/** Uses what was built as a program does that installed it: every entry, the client as a browser loads it, a store in its thread, and the command. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const { exports, version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
for (const [entry, target] of Object.entries(exports)) {
  if (typeof target !== "object") continue;
  const values = Object.keys(await import(entry.replace(".", "haft")));
  assert(values.length > 0 || entry === "./ports", `${entry} exports nothing`); // that one has types only
}

const foreign = foreignImports(new URL(`../${exports["./client"].default}`, import.meta.url));
assert.deepEqual(foreign, [], "haft/client imports what a browser does not have");

const { createRuntime } = await import("haft");
const { sqliteStore } = await import("haft/sqlite");
const folder = mkdtempSync(join(tmpdir(), "haft-package-"));
try {
  const runtime = createRuntime({
    store: sqliteStore({ path: join(folder, "haft.db") }),
    tools: [{ name: "add", description: "Adds.", inputSchema: { type: "object" }, execute: ({ a, b }) => a + b }],
  });
  const { output } = await runtime.session("one").execute({ name: "add", input: { a: 1, b: 2 } });
  await runtime.close();
  assert.equal(output, 3);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const said = execFileSync(process.execPath, [fileURLToPath(new URL("../dist/cli/main.js", import.meta.url)), "--version"], {
  encoding: "utf8",
});
assert.equal(said, `${version}\n`);

/** What a built file and the files that it imports take from elsewhere: modules of Node, and packages. */
function foreignImports(entry) {
  const files = new Set([entry.href]);
  const foreign = [];
  for (const file of files) {
    const code = readFileSync(new URL(file), "utf8");
    for (const [, name] of code.matchAll(/(?:^(?:import|export) (?:[^"\n]* from )?|\b(?:import|require)\()"([^"\n]+)"/gmu)) {
      if (name.startsWith(".")) files.add(new URL(name, file).href);
      else foreign.push(`${name} in ${file}`);
    }
  }
  return foreign;
}
