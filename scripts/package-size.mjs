/**
 * Checks what an install of the package brings: its size as it is packed, how many packages it is with those it depends on, how many files
 * `import "haft"` and the start of a command read, that these files are ASCII (see bundle.ts), and that no entry makes Node load its `fetch`, which a
 * top-level mention of `Response` does and takes 30 ms.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MAX_BYTES = 2_100_000;
const MAX_PACKAGES = 12;
const MAX_FILES_AT_START = 16;
const MAX_FILES_OF_COMMAND = 24;

const root = fileURLToPath(new URL("..", import.meta.url));
const [{ size, files }] = JSON.parse(
  execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"],
    shell: process.platform === "win32",
  }),
);
const installed = installedPackages();
const atStart = filesAtStart("index.js");
const ofCommand = filesAtStart("chunks/process-run.js");
const notAscii = [...atStart, ...ofCommand].filter((file) => /[^\x00-\x7f]/u.test(readFileSync(new URL(file), "utf8")));
const withFetch = entriesThatLoadFetch();
const problems = [
  ...(size > MAX_BYTES ? [`The package is ${size} bytes in ${files.length} files; at most ${MAX_BYTES} are wanted.`] : []),
  ...(installed.size > MAX_PACKAGES
    ? [`An install is ${installed.size} packages, at most ${MAX_PACKAGES} are wanted: ${[...installed].join(", ")}.`]
    : []),
  ...(atStart.size > MAX_FILES_AT_START
    ? [`\`import "haft"\` reads ${atStart.size} files, at most ${MAX_FILES_AT_START} are wanted: see scripts/chunks.ts.`]
    : []),
  ...(ofCommand.size > MAX_FILES_OF_COMMAND
    ? [`A command reads ${ofCommand.size} files before it begins, at most ${MAX_FILES_OF_COMMAND} are wanted: see scripts/chunks.ts.`]
    : []),
  ...notAscii.map((file) => `${file} has characters outside of ASCII, with which Node takes longer to load it: see scripts/bundle.ts.`),
  ...withFetch.map(
    (entry) => `Importing ${entry} loads the fetch of Node.js: name Response, Request, Headers and the like where they are used.`,
  ),
];
for (const problem of problems) console.error(problem);
console.log(
  `${size} bytes packed in ${files.length} files, ${installed.size} packages installed, ${atStart.size} files read by \`import "haft"\`, ${ofCommand.size} before a command begins`,
);
process.exitCode = problems.length === 0 ? 0 : 1;

/** The package itself and all that it depends on, as package-lock.json has them; optional peers are not installed with it. */
function installedPackages() {
  const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
  const found = new Set([""]);
  for (const path of found) {
    for (const name of Object.keys({ ...packages[path].dependencies, ...packages[path].optionalDependencies })) {
      const place = placeOf(name, path, packages);
      if (place !== undefined) found.add(place);
    }
  }
  return new Set([...found].map((path) => (path === "" ? packages[""].name : path.slice(path.lastIndexOf("node_modules/") + 13))));
}

/** A file and all of the package's own files that it imports at once. */
function filesAtStart(name) {
  const found = new Set([new URL(`../dist/${name}`, import.meta.url).href]);
  for (const file of found) {
    for (const [, path] of readFileSync(new URL(file), "utf8").matchAll(/^(?:import|export)[^;]*?"(\.[^"]+)";/gmu))
      found.add(new URL(path, file).href);
  }
  return found;
}

function entriesThatLoadFetch() {
  const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const entries = Object.values(exports).flatMap(({ default: file }) =>
    file?.endsWith(".js") ? [new URL(`../${file}`, import.meta.url).href] : [],
  );
  return entries.filter((entry) => {
    const code = `await import(${JSON.stringify(entry)}); console.log(process.moduleLoadList.some((name) => name.endsWith("undici/undici")))`;
    return execFileSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" }).trim() === "true";
  });
}

/** Where Node looks for it: beside what asks for it, then further up. */
function placeOf(name, from, packages) {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("node_modules/") - 1))) {
    const place = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
    if (packages[place] !== undefined) return place;
    if (folder === "") return undefined;
  }
}
