/** What it costs to import a package, and how many packages come with it. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const RUNS = 7;

/** Median milliseconds of a whole process that imports `specifier`, and of one that imports nothing, in turn. */
export function importTimes(
  specifiers: readonly string[],
): readonly { readonly name: string; readonly ms: number; readonly overEmptyMs: number }[] {
  const samples = new Map<string, number[]>();
  for (let run = -1; run < RUNS; run++) {
    for (const specifier of ["", ...specifiers]) {
      const ms = timeProcess(specifier === "" ? "0" : `await import(${JSON.stringify(specifier)})`);
      if (run >= 0) samples.set(specifier, [...(samples.get(specifier) ?? []), ms]);
    }
  }
  const empty = median(samples.get("") ?? []);
  return ["", ...specifiers].map((specifier) => ({
    name: specifier === "" ? "empty process" : specifier,
    ms: median(samples.get(specifier) ?? []),
    overEmptyMs: median(samples.get(specifier) ?? []) - empty,
  }));
}

function timeProcess(code: string): number {
  const startedAt = performance.now();
  const child = spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: HERE, encoding: "utf8" });
  if (child.status !== 0) throw new Error(`import failed: ${child.stderr}`);
  return performance.now() - startedAt;
}

function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

interface Lock {
  readonly packages: Readonly<
    Record<
      string,
      {
        readonly dependencies?: Readonly<Record<string, string>>;
        readonly peerDependencies?: Readonly<Record<string, string>>;
        readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
      }
    >
  >;
}

/** How many packages an install of `name` brings, itself included, from the lock file of `folder`. "" is the folder's own package. */
export function packageCount(folder: string, name: string): number {
  const lock = JSON.parse(readFileSync(new URL(`${folder}/package-lock.json`, import.meta.url), "utf8")) as Lock;
  const seen = new Set<string>();
  const visit = (path: string): void => {
    const entry = lock.packages[path];
    if (entry === undefined || seen.has(path)) return;
    seen.add(path);
    const peers = Object.keys(entry.peerDependencies ?? {}).filter((peer) => entry.peerDependenciesMeta?.[peer]?.optional !== true);
    for (const dependency of [...Object.keys(entry.dependencies ?? {}), ...peers]) {
      for (let at = path; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
        const candidate = at === "" ? `node_modules/${dependency}` : `${at}/node_modules/${dependency}`;
        if (lock.packages[candidate] !== undefined) {
          visit(candidate);
          break;
        }
        if (at === "") break;
      }
    }
  };
  visit(name === "" ? "" : `node_modules/${name}`);
  return seen.size;
}
