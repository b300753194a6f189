/** The declarations of the package, made once for test files that run at the same time. */
import { execFile } from "node:child_process";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { BUNDLE } from "../bundled-program.ts";
import { linkDeclarations } from "../../scripts/link-declarations.ts";
import { builtOnce, isAsNewAs } from "../built-once.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const DIST = join(BUNDLE, "dist");

/** Puts them beside the bundled package, where they are older than the source. */
export function builtDeclarations(): Promise<void> {
  return builtOnce({
    name: "declarations-build",
    isBuilt: () => isAsNewAs(join(DIST, "index.d.ts"), [join(root, "src")]),
    async build() {
      const compiler = join(root, "node_modules/.bin/tsc");
      await promisify(execFile)(
        compiler,
        ["--singleThreaded", "-p", "tsconfig.build.json", "--outDir", DIST, "--declarationMap", "false"],
        {
          cwd: root,
          shell: process.platform === "win32",
        },
      );
      linkDeclarations(root, DIST);
      utimesSync(join(DIST, "index.d.ts"), new Date(), new Date()); // it is left alone where it is the same
    },
  });
}
