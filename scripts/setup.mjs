/**
 * Installs what is missing, so that `npm start` and `npm test` work straight after a clone.
 *
 * The only script that runs on whatever Node the machine has: the install brings Node 24 into node_modules/.bin, where npm
 * scripts look first. Says nothing and takes a few milliseconds when what is installed is what package-lock.json asks for.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const bundledNode = join(root, "node_modules", "node", "bin", process.platform === "win32" ? "node.exe" : "node");

if (!isInstalled()) await install();

/** Compares the lockfile with the record npm keeps of what it installed; that record is missing after an install that broke off. */
function isInstalled() {
  const wanted = readPackages("package-lock.json");
  const present = readPackages(join("node_modules", ".package-lock.json"));
  if (wanted === undefined || present === undefined || !existsSync(bundledNode)) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === "") return true; // the project itself
    const installed = present[path];
    if (installed === undefined) return entry.optional === true || entry.devOptional === true;
    return installed.version === entry.version && installed.integrity === entry.integrity;
  });
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages;
  } catch {
    return undefined; // absent or half written: install
  }
}

async function install() {
  const startedAt = Date.now();
  console.log("Installing what is missing: Node 24 and the development tools (once, about half a minute) …");
  const { code, interruptedBy, output } = await runNpm(["ci", "--include=dev", "--no-audit", "--no-fund", "--loglevel=error"]);
  if (interruptedBy !== undefined) process.exit(128 + constants.signals[interruptedBy]);
  if (code !== 0)
    fail(`${output}\nnpm ci failed with exit code ${code}. Its messages are above; the network or a proxy is the usual cause.`);
  if (!existsSync(bundledNode)) {
    fail(
      "npm ci ran, but did not bring Node 24: the install script of the package `node` was not allowed to run.\nTry: npm rebuild node --ignore-scripts=false",
    );
  }
  console.log(`Installed in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
}

/** Runs the npm that runs this script, quietly; its output is kept for the case of failure. Signals are passed on to it. */
function runNpm(args) {
  const npm = process.env.npm_execpath;
  const isNpm = npm !== undefined && basename(npm) === "npm-cli.js";
  const [command, commandArgs] = isNpm ? [process.execPath, [npm, ...args]] : ["npm", args];
  const child = spawn(command, commandArgs, {
    cwd: root,
    env: { ...process.env, HAFT_PREPARE: "no" }, // tests and the demo run from src/
    stdio: ["ignore", "pipe", "pipe"],
    shell: !isNpm && process.platform === "win32",
  });
  let output = "";
  let interruptedBy;
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (output += text));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      interruptedBy = signal;
      child.kill(signal);
    });
  }
  return new Promise((resolve) => {
    child.on("error", (error) => resolve({ code: 1, interruptedBy, output: error.message }));
    child.on("close", (code) => resolve({ code, interruptedBy, output: output.trim() }));
  });
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
