/** The project's own files as text, and what they import: what the house tests look at. */
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Files by their path from the project's root, with `/` between folders. */
export type SourceTree = ReadonlyMap<string, string>;

/** Reads the files that a glob pattern finds. */
export function readTree(pattern: string): SourceTree {
  const paths = globSync(pattern, { cwd: root }).map((path) => path.replaceAll("\\", "/"));
  return new Map(paths.toSorted().map((path) => [path, readFileSync(`${root}/${path}`, "utf8")]));
}

export interface Import {
  readonly specifier: string;
  /** `static` is loaded with the file, `dynamic` when reached, `type` never. */
  readonly kind: "static" | "dynamic" | "type";
}

/** Finds the imports and re-exports of a file written the way our formatter writes it: each statement begins a line. */
export function importsOf(text: string): readonly Import[] {
  const code = text.replaceAll(/\/\*.*?\*\//gsu, "").replaceAll(/^\s*\/\/.*$/gmu, "");
  const imports: Import[] = [];
  for (const [, type, specifier = ""] of code.matchAll(/^(?:import|export)\s+(type\s)?(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']/gmu)) {
    imports.push({ specifier, kind: type === undefined ? "static" : "type" });
  }
  for (const [, specifier = ""] of code.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/gu)) imports.push({ specifier, kind: "dynamic" });
  return imports;
}

/** The path a relative specifier means, seen from `from`: `("src/a/b.ts", "../c.ts")` → `"src/c.ts"`. */
export function resolvePath(from: string, specifier: string): string {
  return new URL(specifier, `file:///${from}`).pathname.slice(1);
}
