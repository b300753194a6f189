/**
 * Compiles what was built as a program does that reads all declarations (`skipLibCheck: false`) and whose `lib` is no newer than ES2022: each entry
 * with the types of Node, and those that need none also with the types of browsers in their place.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
/** The entries whose declarations name modules of Node. */
const NEED_NODE = ["./mcp-server"];

const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(exports).filter((entry) => typeof exports[entry] === "object");
const folder = mkdtempSync(join(tmpdir(), "haft-types-"));
try {
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules", "haft"), "junction");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const types = { typeRoots: [join(root, "node_modules/@types")] };
  compile("node", entries, { ...types, lib: ["es2022"], types: ["node"] });
  compile(
    "browser",
    entries.filter((entry) => !NEED_NODE.includes(entry)),
    { lib: ["es2022", "dom"], types: [] },
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Prints what does not compile, and lets this script fail by it. What is wrong in the declarations of other packages is theirs. */
function compile(name, imported, options) {
  const compilerOptions = {
    target: "es2022",
    module: "nodenext",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    ...options,
  };
  writeFileSync(join(folder, `${name}.ts`), imported.map((entry, at) => `export * as e${at} from "haft${entry.slice(1)}";`).join("\n"));
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }));
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler, "--singleThreaded", "-p", `${name}.json`, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  const faults = stdout.split("\n").filter((line) => line.includes("error TS") && !/node_modules\/(?!haft\/)/u.test(line));
  for (const fault of faults) console.error(`${name}: ${fault}`);
  if (faults.length > 0) process.exitCode = 1;
}
