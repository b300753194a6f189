/** The package in the files that are published, made once for test files that run at the same time. */
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../scripts/bundle.ts";
import { builtOnce, isAsNewAs } from "./built-once.ts";
import { INLINED } from "./bundled-program.ts";

/** Unlike the bundle of the other tests, each entry loads no more than it needs. */
export const PUBLISHED = fileURLToPath(new URL("../node_modules/.cache/haft-tests/published", import.meta.url));
const SOURCE = fileURLToPath(new URL("../src", import.meta.url));

export function builtPackage(): Promise<void> {
  const last = join(PUBLISHED, "package.json");
  return builtOnce({
    name: "published-build",
    isBuilt: () => isAsNewAs(last, [SOURCE]),
    async build() {
      rmSync(PUBLISHED, { recursive: true, force: true }); // chunks of an earlier build have other names
      await bundle({ dir: join(PUBLISHED, "dist"), inlined: INLINED });
      copyFileSync(fileURLToPath(new URL("../package.json", import.meta.url)), last);
    },
  });
}
