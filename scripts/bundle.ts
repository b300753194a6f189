/** Writes the JavaScript of the package, in few files: see build.mjs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Started as threads of their own, by their files. */
const WORKERS = [
  "./dist/store/sqlite-worker.js",
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
  /** Programs that are bundled with it: what they are called in `dir`, and their files. */
  readonly programs?: Readonly<Record<string, string>>;
}

export async function bundle({ dir, inlined = [], programs = {} }: BundleOptions): Promise<void> {
  const { exports, bin } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Manifest; // written by us
  const entries = Object.values(exports).flatMap((entry) => (typeof entry === "object" ? [entry.default] : []));
  const names = [...entries, ...Object.values(bin), ...WORKERS].map((file) => /^(?:\.\/)?dist\/(.*)\.js$/u.exec(file)?.[1] ?? file);
  const built = await rolldown({
    cwd: root,
    input: { ...Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`])), ...programs },
    platform: "node",
    // Nothing is left out: the command line is run for what it does, and not for what it exports.
    treeshake: false,
    external: (id) => /^(?![./]|[A-Za-z]:)/u.test(id) && !inlined.includes(id),
  });
  // What is documented stands in the declarations.
  await built.write({
    dir,
    format: "esm",
    // Packages that are put in may call it; ours is left as it is, so that a bundler of the program finds the package behind it.
    polyfillRequire: inlined.length > 0,
    comments: { jsdoc: false },
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
  });
  await built.close();
}
