/** Runs the real command line in a folder of its own: as a process where that matters, and in CI once for each command of a test file. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { HAFT } from "../bundled-program.ts";
import { inCI } from "../ci.ts";

/** Bundled, as users have it. */
export const PROGRAM = HAFT;
/** As it stands in src/, for tools that import "haft" themselves: a process is to have one copy. */
export const SOURCE = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const COMPILED = fileURLToPath(new URL("../../node_modules/.cache/haft-cli", import.meta.url));
/** Commands whose second word is a part of their name. */
const GROUPS = new Set(["approvals", "chain", "jobs", "keys", "sessions", "store"]);
/** Each process takes a third of a second to start, and longer where many tests run at a time. */
export const PATIENCE_MS = 120_000;

const root = realpathSync(mkdtempSync(join(tmpdir(), "haft-cli-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
let folders = 0;

/** A new folder with these files, removed when all tests of this process are over. */
export function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = join(root, String(++folders));
  mkdirSync(folder);
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return folder;
}

export interface RunOptions {
  /** Where it runs. */
  readonly folder: string;
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** What runs instead of the command line. */
  readonly program?: string;
  readonly onStart?: (control: Control) => void;
  /** Told of all output so far, each time there is more; may send a signal or close the output. */
  readonly onOutput?: (output: { readonly stdout: string; readonly stderr: string }, control: Control) => void;
  /** It must be a process, as for tools that end it, print past it or keep something in a module. So is one that is controlled. */
  readonly ownProcess?: true;
}

export interface Control {
  signal(name: NodeJS.Signals): void;
  /** As `head` does when it has seen enough. */
  stopReading(): void;
}

export interface Finished {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function haft(args: readonly string[], options: RunOptions): Promise<Finished> {
  const { program, onStart, onOutput, ownProcess = inCI && isNewInItsFile(args) } = options;
  return ownProcess || [program, onStart, onOutput].some((given) => given !== undefined)
    ? haftProcess(args, options)
    : inTurn(() => haftHere(args, options));
}

/** Of each test file: the commands that were run. A worker runs several files. */
const commandsOfFiles = new Map<string | undefined, Set<string>>();

/** Another run of a command starts in the same way, with other arguments. */
function isNewInItsFile(args: readonly string[]): boolean {
  const { testPath } = expect.getState();
  const commands = commandsOfFiles.get(testPath) ?? new Set();
  commandsOfFiles.set(testPath, commands);
  const [word = "", second = ""] = args;
  const command = args.includes("--help") ? "help" : GROUPS.has(word) ? `${word} ${second}` : word;
  const isNew = !commands.has(command);
  commands.add(command);
  return isNew;
}

/** A process has one working folder, so what runs in this one runs one after the other. */
let turn: Promise<unknown> = Promise.resolve();
function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const next = turn.then(run);
  turn = next.catch(() => {});
  return next;
}

/** In this process, which starts nothing and loads nothing anew: as long as twenty such take as one process. */
async function haftHere(args: readonly string[], { folder, input = "", environment = {} }: RunOptions): Promise<Finished> {
  const output = { stdout: "", stderr: "" };
  const outputOf = (name: keyof typeof output) => ({
    write: (text: string) => {
      output[name] += text;
      return true;
    },
  });
  const before = process.cwd();
  process.chdir(folder);
  try {
    const exitCode = await runCli(args, {
      stdout: outputOf("stdout"),
      stderr: outputOf("stderr"),
      stdin: pieces(input),
      ask: undefined,
      environment: { PATH: process.env["PATH"], HAFT_TRUST: "all", ...environment },
      signal: new AbortController().signal,
    });
    return { exitCode, ...output };
  } finally {
    process.chdir(before);
  }
}

async function* pieces(text: string): AsyncGenerator<Uint8Array> {
  if (text !== "") yield Buffer.from(text);
}

function haftProcess(
  args: readonly string[],
  { folder, input = "", environment = {}, program = PROGRAM, onStart, onOutput }: RunOptions,
): Promise<Finished> {
  const child = spawn(process.execPath, ["--conditions=haft-source", program, ...args], {
    cwd: folder,
    // Node keeps what it compiled, so that a process starts in a third of the time.
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: COMPILED, HAFT_TRUST: "all", ...environment },
    timeout: 2 * PATIENCE_MS,
    killSignal: "SIGKILL",
  });
  const output = { stdout: "", stderr: "" };
  const control: Control = { signal: (name) => void child.kill(name), stopReading: () => void child.stdout.destroy() };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
      onOutput?.(output, control);
    });
  }
  onStart?.(control);
  child.stdin.on("error", () => {}); // it may end without having read
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    // As shells have it for a program that ended itself by a signal: 130 for SIGINT.
    child.on("close", (exitCode, signal) => resolve({ exitCode: signal === null ? exitCode : 128 + constants.signals[signal], ...output }));
  });
}

/** Times and ids that differ from run to run, masked: `12 ms` and `1.5 s` → `# ms`. */
export function masked(text: string): string {
  return text
    .replaceAll(/ *\d+(?:\.\d)? (ms|s)\b/gu, " # ms")
    .replaceAll(/"durationMs":[\d.]+/gu, '"durationMs":0')
    .replaceAll(/"call_[\w-]+"/gu, '"call_#"');
}

/** Local functions of every kind, a workspace of files, and a toolset that is switched off. */
export const PROJECT = {
  "haft.toml": `[runtime]
timeoutMs = 5000

[toolsets.math]
type = "module"
path = "./math.mjs"

[toolsets.files]
type = "files"
root = "notes"

[toolsets.old]
type = "module"
path = "./gone.mjs"
enabled = false
`,
  "math.mjs": `
export const add = {
  name: "add",
  description: "Adds two whole numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "integer", description: "The first." }, b: { type: "integer", default: 1 } },
    required: ["a"],
    additionalProperties: false,
  },
  outputSchema: { type: "object", properties: { sum: { type: "integer" } }, required: ["sum"] },
  effects: { reads: [], writes: [] },
  tags: ["numbers", "sums"],
  execute: ({ a, b }) => ({ sum: a + b }),
};
export const fail = {
  name: "fail",
  description: "Always fails.\\u001b[31m\\u202e",
  inputSchema: { type: "object" },
  effects: { reads: ["luck:all"], writes: [] },
  tags: ["numbers"],
  execute: () => { throw new Error("no luck \\u001b[2J\\u200b"); },
};
export const forget = {
  name: "forget",
  description: "Forgets everything.",
  inputSchema: { type: "object" },
  effects: { writes: ["memory:all"], destructive: true },
  execute: () => "forgotten",
};
export const hang = {
  name: "hang",
  description: "Never answers.",
  inputSchema: { type: "object" },
  effects: { reads: ["clock:all"], writes: [] },
  timeoutMs: 0,
  execute: () => {
    process.stderr.write("hanging\\n");
    return new Promise(() => setInterval(() => {}, 1000));
  },
};
`,
  "notes/plan.md": "# Plan\n\nSleep.\n",
} as const;
