/** Writes the JavaScript of the package, in few files: see build.mjs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown, type OutputOptions, type Plugin } from "rolldown";
import { chunksByEntries } from "./chunks.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Started as threads of their own, by their files. */
const WORKERS = [
  "./dist/store/sqlite/sqlite-worker.js",
  "./dist/toolsets/convert/convert-worker.js",
  "./dist/processes/program/program-worker.js",
];

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
}

export interface BundleOptions {
  /** Where it goes, in the layout of dist/. */
  readonly dir: string;
  /** Dependencies that are put in, so that a process reads few files; the package itself leaves all of them outside. */
  readonly inlined?: readonly string[];
  /**
   * Puts what most entries share into one file, and each thread into a file of its own: a process starts sooner, and has more loaded than
   * it needs. Programs share nothing with the package.
   */
  readonly fewFiles?: boolean;
  /** Programs that are bundled with it: what they are called in `dir`, and their files. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** Of `fewFiles`: how many entries share what is put into one file. */
const SHARED_BY = 8;

export async function bundle(options: BundleOptions): Promise<void> {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest; // written by us
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === "object" ? [entry.default] : []));
  const names = (paths: readonly string[]): readonly string[] => paths.map((path) => /^(?:\.\/)?dist\/(.*)\.js$/u.exec(path)?.[1] ?? path);
  const files = (paths: readonly string[]): Readonly<Record<string, string>> =>
    Object.fromEntries(names(paths).map((name) => [name, `./src/${name}.ts`]));
  const { programs = {}, fewFiles = false } = options;
  if (!fewFiles) {
    const input = { ...files([...entries, ...Object.values(bin), ...WORKERS]), ...programs };
    return write(input, options, { codeSplitting: chunksByEntries(root, names(entries)) });
  }
  const shared = { codeSplitting: { groups: [{ name: "shared", minShareCount: SHARED_BY }] } };
  await write(files([...entries, ...Object.values(bin)]), options, shared);
  await write(programs, options, { chunkFileNames: "program-chunks/[name].js" });
  for (const worker of WORKERS) await write(files([worker]), options, { codeSplitting: false });
}

async function write(
  input: Readonly<Record<string, string>>,
  { dir, inlined = [] }: BundleOptions,
  output: Pick<OutputOptions, "chunkFileNames" | "codeSplitting">,
): Promise<void> {
  const built = await rolldown({
    cwd: root,
    input,
    platform: "node",
    // Entries keep their exports; the file of one that others import may have more, which nobody reads.
    preserveEntrySignatures: "allow-extension",
    // Nothing is left out: the command line is run for what it does, and not for what it exports.
    treeshake: false,
    external: (id) => /^(?![./]|[A-Za-z]:)/u.test(id) && !inlined.includes(id),
    plugins: inlined.length > 0 ? [] : [withoutNodeImport, asciiOnly],
  });
  // What is documented stands in the declarations.
  await built.write({
    dir,
    format: "esm",
    comments: { jsdoc: false },
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    ...output,
  });
  await built.close();
}

/** Removes the import of `node:module` from the runtime of rolldown. Only packages that are put in use it, and browsers could not load `haft/client`. */
const withoutNodeImport: Plugin = {
  name: "without-node-import",
  transform: (code, id) => (id === "\0rolldown/runtime.js" ? code.replace(/^import .*["']node:module["'];?$/mu, "") : undefined),
};

/** Writes other characters as escapes: with one of them, V8 keeps all of a file with two bytes for a character, and takes longer to read it. */
const asciiOnly: Plugin = {
  name: "ascii-only",
  generateBundle(_options, output) {
    for (const file of Object.values(output)) if (file.type === "chunk") file.code = escapeNonAscii(file.code);
  },
};

function escapeNonAscii(code: string): string {
  const unescapable = /(?:(?<!\\)(?:\\\\)*\\|\braw`[^`]*)[^\x00-\x7f]/u.exec(code)?.[0];
  if (unescapable !== undefined) throw new Error(`Write this character as an escape, or without the backslash or raw: ${unescapable}`);
  return code.replaceAll(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
