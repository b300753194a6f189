/** Removes the declarations in a folder that no entry of the package reaches: no program can see what they declare. */
import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Module names in a declaration file: `from "…"`, `import("…")`, `import "…"`, and a reference by path. */
const NAMED = /(?:from|import)\s*\(?\s*["'](\.[^"']+)["']|<reference path="([^"]+)"/gu;

/** @param {string} root the folder of package.json @param {string} folder that of the declarations */
export function dropDeclarations(root, folder) {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const entries = Object.values(exports).flatMap((entry) =>
    typeof entry === "object" && "types" in entry ? [join(root, entry.types)] : [],
  );
  const reached = new Set(entries);
  for (const file of reached) {
    for (const [, imported, referenced] of readFileSync(file, "utf8").matchAll(NAMED)) {
      const path = resolve(dirname(file), imported ?? referenced);
      const found = [path.replace(/\.[jt]s$/u, ".d.ts"), path].find((candidate) => candidate.endsWith(".d.ts") && existsSync(candidate));
      if (found === undefined) throw new Error(`${file} names ${imported ?? referenced}, which has no declarations.`);
      reached.add(found);
    }
  }
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    const file = join(folder, path);
    if (file.endsWith(".d.ts") && !reached.has(file)) rmSync(file);
  }
}
