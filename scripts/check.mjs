/** Runs every check that is not a test, a few at a time; one line each, the output of those that failed, and a count. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * In the order they start, so that no long one is left to the end, which it would have to itself; a check `after` another waits for it, and runs only
 * when that one passed. The compiler has one thread: more would take the processor from the checks beside it.
 */
const CHECKS = [
  { name: "build", run: () => command("node", "scripts/build.mjs") },
  { name: "types", run: () => command("tsc", "--singleThreaded", "-p", ".") },
  { name: "exports", after: "build", run: () => command("attw", "--pack", ".", "--profile", "esm-only") },
  { name: "lint", run: () => command("oxlint") },
  { name: "api", after: "build", run: () => command("node", "scripts/api-reference.mjs", "--check") },
  { name: "bare types", after: "build", run: () => command("node", "scripts/type-package.mjs") },
  { name: "dead code", run: () => command("knip") },
  { name: "page types", run: () => command("tsc", "--singleThreaded", "-p", "src/dashboard") },
  { name: "package", after: "build", run: () => command("publint", "--strict") },
  { name: "size", after: "build", run: () => command("node", "scripts/package-size.mjs") },
  { name: "use", after: "build", run: () => command("node", "scripts/try-package.mjs") },
  { name: "docs", run: () => command("vitest", "run", "test/house/docs.test.ts") },
  { name: "format", run: () => command("oxfmt", "--check") },
  { name: "lockfiles", run: checkLockfile },
];
const AT_ONCE = 2;

const outcomes = new Map();
const queue = [...CHECKS];
await Promise.all(Array.from({ length: AT_ONCE }, runQueue));
const passed = await Promise.all(outcomes.values());
const failed = passed.filter((one) => !one).length;
console.log(`${passed.length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function runQueue() {
  for (let check = queue.shift(); check !== undefined; check = queue.shift()) {
    const outcome = runCheck(check);
    outcomes.set(check.name, outcome);
    await outcome;
  }
}

async function runCheck({ name, after, run }) {
  const mayRun = after === undefined || (await outcomes.get(after));
  const startedAt = performance.now();
  const { passed, output } = mayRun ? await run() : { passed: false, output: `not run, because ${after} failed` };
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${passed ? "ok  " : "FAIL"}  ${name.padEnd(10)} ${seconds.padStart(5)} s`);
  if (!passed) console.log(output.replaceAll(/^/gmu, "      "));
  return passed;
}

function command(name, ...args) {
  return new Promise((resolve) => {
    // `npm pack` would build dist/ anew while other checks read it.
    const env = { ...process.env, npm_config_ignore_scripts: "true" };
    const child = spawn(name, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], shell: process.platform === "win32" });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
    child.on("error", (error) => resolve({ passed: false, output: error.message }));
    child.on("close", (code) => resolve({ passed: code === 0, output: output.trim() }));
  });
}

/**
 * The lockfiles must install from any registry and on any platform: no addresses, a version for each package, and an entry for
 * each optional one. npm leaves those out that the registry did not offer when it ran last.
 */
function checkLockfile() {
  const problems = ["package-lock.json", "bench/package-lock.json"].flatMap((file) => {
    const { packages } = JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"));
    return Object.entries(packages).flatMap(([path, entry]) =>
      lockProblems(path, entry, packages).map((problem) => `${file}: ${path} ${problem}`),
    );
  });
  return { passed: problems.length === 0, output: problems.join("\n") };
}

function lockProblems(path, entry, packages) {
  const optional = Object.keys(entry.optionalDependencies ?? {});
  const missing = optional.filter(
    (name) => packages[`${path}/node_modules/${name}`] === undefined && packages[`node_modules/${name}`] === undefined,
  );
  return [
    ...(entry.resolved === undefined ? [] : [`has the address ${entry.resolved}`]),
    ...(entry.version === undefined && path !== "" ? ["has no version"] : []),
    ...missing.map((name) => `lacks its optional dependency ${name}`),
  ];
}
