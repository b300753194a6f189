/**
 * Links the declarations of the entries: each entry imports that of `haft`, which imports those with the other types that the package's functions
 * return. A compiler writes the inferred type of an exported value, such as `export const files = filesToolset(…)`, only if it has read an entry that
 * exports the type; otherwise it reports TS2742 or TS2883. None of the imported entries needs an optional package.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";

/** The entries that `haft` imports. */
const TYPES = ["./tools", "./loop", "./session", "./store", "./ports", "./prompt", "./model"];

/** @param root the folder of package.json @param folder that of the declarations, which stands for `dist` */
export function linkDeclarations(root: string, folder: string): void {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  const files = new Map<string, string>();
  for (const [name, entry] of Object.entries(exports))
    if (typeof entry === "object") files.set(name, join(folder, relative("dist", entry.types)));
  for (const [name, file] of files) {
    const text = readFileSync(file, "utf8");
    const links = (name === "." ? TYPES : ["."]).map(
      (other) => `import type {} from "${moduleName(dirname(file), files.get(other) ?? "")}";\n`,
    );
    if (!text.endsWith(links.join(""))) writeFileSync(file, text + links.join(""));
  }
}

function moduleName(from: string, file: string): string {
  const path = relative(from, file)
    .split(sep)
    .join("/")
    .replace(/\.d\.ts$/u, ".js");
  return path.startsWith(".") ? path : `./${path}`;
}
