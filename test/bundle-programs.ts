/** Bundles the package before the tests begin: hundreds of processes and threads start from it in a third of the time. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TestProject } from "vitest/node";
import { bundle } from "../scripts/bundle.ts";
import { BUNDLE, INLINED, PROGRAMS } from "./bundled-program.ts";

export default async function setup(project: TestProject): Promise<void> {
  await bundlePackage();
  project.onTestsRerun(bundlePackage);
}

/** Replaces only files that differ, each at once, so that another run of these tests goes on undisturbed. */
async function bundlePackage(): Promise<void> {
  const made = `${BUNDLE}.${process.pid}`;
  try {
    await bundle({
      dir: join(made, "dist"),
      fewFiles: true,
      inlined: INLINED,
      programs: Object.fromEntries(PROGRAMS.map((name) => [`tests/${name}`, `./test/${name}.ts`])),
    });
    for (const file of ["package.json", "haft.schema.json"]) copyFileSync(file, join(made, file));
    for (const entry of readdirSync(made, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const from = join(entry.parentPath, entry.name);
      const to = join(BUNDLE, from.slice(made.length));
      if (existsSync(to) && readFileSync(to).equals(readFileSync(from))) continue;
      mkdirSync(dirname(to), { recursive: true });
      renameSync(from, to);
    }
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}
