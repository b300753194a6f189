/** Builds the dashboard, and says how large it is: see build.mjs. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "vite";

const root = fileURLToPath(new URL("../src/dashboard", import.meta.url));

/** Bytes of the first load, compressed as a browser gets it, and of all files. */
const LIMITS = { firstLoad: 180_000, all: 1_500_000 } as const;

export interface DashboardSize {
  readonly firstLoad: number;
  readonly all: number;
}

/** @param dir where the files go. @throws Error when they are too large. By rejecting */
export async function buildDashboard(dir: string): Promise<DashboardSize> {
  const mode = process.env["NODE_ENV"];
  process.env["NODE_ENV"] = "production"; // tests, which build it as well, run with another
  await build({
    root,
    configFile: false,
    logLevel: "warn",
    base: "./", // the server puts its own in: see dashboard-files.ts
    publicDir: false,
    // The page brings no inline code, and loads no polyfill for what browsers have.
    build: {
      outDir: dir,
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      target: "es2023",
      reportCompressedSize: false,
      // "use client" of packages means nothing here.
      rolldownOptions: { onwarn: (warning, warn) => warning.code !== "MODULE_LEVEL_DIRECTIVE" && warn(warning) },
    },
  });
  if (mode === undefined) delete process.env["NODE_ENV"];
  else process.env["NODE_ENV"] = mode;
  const size = sizeOf(dir);
  const line = `dashboard: ${kilobytes(size.firstLoad)} kB gzip at first, ${kilobytes(size.all)} kB in all`;
  if (size.firstLoad > LIMITS.firstLoad || size.all > LIMITS.all)
    throw new Error(`${line}; at most ${kilobytes(LIMITS.firstLoad)} and ${kilobytes(LIMITS.all)} are wanted.`);
  console.log(line);
  return size;
}

/** The page, and the files that it names. */
function sizeOf(dir: string): DashboardSize {
  const page = readFileSync(join(dir, "index.html"), "utf8");
  const assets = readdirSync(join(dir, "assets")).map((name) => ({ name, bytes: readFileSync(join(dir, "assets", name)) }));
  const first = assets.filter(({ name }) => page.includes(`/assets/${name}`));
  const gzip = (bytes: Uint8Array | string): number => gzipSync(bytes, { level: 6 }).length;
  return {
    firstLoad: first.reduce((sum, { bytes }) => sum + gzip(bytes), gzip(page)),
    all: assets.reduce((sum, { bytes }) => sum + bytes.length, Buffer.byteLength(page)),
  };
}

function kilobytes(bytes: number): string {
  return (bytes / 1_000).toFixed(1);
}
