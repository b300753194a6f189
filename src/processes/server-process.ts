/** Starts a server as a child process with a minimal environment, and ends it with all its descendants. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { systemErrorCode } from "../core/base/system-error-code.ts";
import type { Clock } from "../core/ports.ts";
import { findCommandFile } from "./find-command-file.ts";
import { loadPackage } from "../core/system/lazy-package.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import { HAS_PROCESS_GROUPS, guardGroup, releaseGroup, signalGroup } from "./process-guard.ts";
import { killTree, signalTree, treeCheck, treeRoot, type TreeRoot } from "./process-tree.ts";
import { sleep } from "./sleep.ts";
import type { ServerCommand } from "./server-command.ts";

const INHERITED = HAS_PROCESS_GROUPS
  ? ["PATH", "HOME", "USER", "LANG", "TMPDIR"]
  : `PATH PATHEXT SYSTEMROOT SYSTEMDRIVE COMSPEC TEMP TMP APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH
      PROCESSOR_ARCHITECTURE`.split(/\s+/u);

/** How long a server may take to end by itself, and again after SIGTERM, before it is killed; in milliseconds. */
const GRACE_MS = 1_000;
/** The same after `shortenServerGrace`, while a person waits for the program to end. */
const SHORT_GRACE_MS = 200;
const POLL_MS = 20;
const MARK = "HAFT_SERVER";

/** The process of each server, with the mark that is in its environment and in that of all its descendants. */
const roots = new WeakMap<ChildProcessWithoutNullStreams, TreeRoot>();

/** The type of `spawn` of `node:child_process`. */
export type Spawn = typeof spawn;

/**
 * Returns the function that starts the server on this system. On Windows, `npx` and others are batch files, which Node does not start by
 * itself: `cross-spawn` quotes their arguments. Programs do not need it.
 *
 * @throws ToolError `unavailable`, as a rejection, if it cannot be loaded, as in a bundle of ES modules
 */
export async function loadSpawn({ command, env = {} }: ServerCommand): Promise<Spawn> {
  if (HAS_PROCESS_GROUPS || isProgram(command, serverEnvironment(env))) return spawn;
  const wanted = { name: "cross-spawn", need: "servers are started with it on Windows" };
  return (await loadPackage(() => import("cross-spawn"), wanted)).default as Spawn;
}

/**
 * Starts the server in its own process group, guarded, and with a mark in its environment. A failure is emitted as the child's `error` event,
 * or thrown.
 *
 * @param start the result of `loadSpawn`, if the command may be a batch file
 */
export function startServer(server: ServerCommand, start: Spawn = spawn): ChildProcessWithoutNullStreams {
  const id = systemPorts.ids.next("server");
  const mark = `${MARK}=${id}`;
  const environment = serverEnvironment(server.env ?? {});
  const child = start(findCommandFile(server.command, { environment }), server.args ?? [], {
    env: { ...environment, [MARK]: id },
    stdio: ["pipe", "pipe", "pipe"],
    shell: false,
    detached: HAS_PROCESS_GROUPS,
    windowsHide: true,
    ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
  });
  if (child.pid === undefined) return child;
  roots.set(child, treeRoot(child.pid, mark));
  guardUntilExit(child, child.pid, mark);
  return child;
}

/** Guards the group until `endServer`, since processes may be left in it. On Windows only until the server exits, since process ids are reused. */
function guardUntilExit(child: ChildProcessWithoutNullStreams, pid: number, mark: string): void {
  guardGroup(pid, mark);
  if (!HAS_PROCESS_GROUPS) child.once("exit", () => releaseGroup(pid));
}

/** Also true for a command that does not exist: starting it then fails with the right error. */
function isProgram(command: string, environment: Readonly<Record<string, string>>): boolean {
  try {
    return /\.(?:exe|com)$/iu.test(findCommandFile(command, { environment }));
  } catch {
    return true;
  }
}

let graceMs = GRACE_MS;

/**
 * Gives servers 200 ms instead of a second for each step of their shutdown, including those that are already shutting down. For a program that
 * a person has interrupted and that ends with its servers: applies to the whole process and cannot be reverted.
 */
export function shortenServerGrace(): void {
  graceMs = SHORT_GRACE_MS;
}

/**
 * Ends a server and all its descendants, on Linux including those that left its process group: closes its input, then sends SIGTERM, then
 * SIGKILL to all of them, a second apart, or less after `shortenServerGrace`. Resolves when they have ended or have been killed.
 */
export async function endServer(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  const group = child.pid;
  if (group === undefined) return; // it was never started
  child.stdin.end();
  await pollUntil(() => !isRunning(child), clock);
  const root = roots.get(child) ?? { pid: group, mark: MARK, startedAt: 0 };
  // the group is signalled by its number if processes cannot be listed: without a free file descriptor, or without /proc
  const isLeft = HAS_PROCESS_GROUPS || isRunning(child);
  const isTold = isLeft && ((await signalTree(root, "SIGTERM")) > 0 || signalGroup(group, "SIGTERM"));
  if (isTold) {
    const isAlive = treeCheck(root);
    await pollUntil(async () => !signalGroup(group, 0) && !(await isAlive()), clock);
    await killTree(root, clock);
    await pollUntil(() => !isRunning(child), clock);
  }
  releaseGroup(group);
  child.stdin.destroy();
  child.stdout.destroy(); // a process that left the group may still hold the other end of the pipe
  child.stderr.destroy();
}

/** Returns why the program could not be started, as text. */
export function describeStartError(server: ServerCommand, error: unknown): string {
  const code = systemErrorCode(error);
  if (server.cwd !== undefined && !isFolder(server.cwd)) return `its folder ${JSON.stringify(server.cwd)} does not exist`;
  if (code === "ENOENT") return `the command ${JSON.stringify(server.command)} was not found${splitArgumentsHint(server)}`;
  if (code === "ERR_ACCESS_DENIED") return "this process may not start programs (node --permission: --allow-child-process)";
  if (code === "EACCES") return `the command ${JSON.stringify(server.command)} may not be executed`;
  return `the command ${JSON.stringify(server.command)} could not be run (${code ?? String(error)})`;
}

/** Returns a hint if the command contains its arguments, as for a shell: it is looked up as one program. A path may itself contain spaces. */
function splitArgumentsHint({ command, args = [], cwd = "" }: ServerCommand): string {
  const [program = "", ...words] = command.trim().split(/\s+/u);
  if (words.length === 0 || args.length > 0 || (/[/\\]/u.test(program) && !existsSync(resolve(cwd, program)))) return "";
  return `; pass its arguments as a separate array: { command: ${JSON.stringify(program)}, args: ${JSON.stringify(words)} }`;
}

function isRunning(child: ChildProcessWithoutNullStreams): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function pollUntil(done: () => boolean | Promise<boolean>, clock: Clock): Promise<void> {
  const startedAt = clock.now();
  while (clock.now() < startedAt + graceMs && !(await done())) await sleep(clock, POLL_MS); // by the clock, as `done` may read all processes of the machine
}

/** Returns the few inherited variables and the declared ones. */
export function serverEnvironment(declared: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  const isDeclared = createDeclaredCheck(declared);
  const inherited = HAS_PROCESS_GROUPS ? process.env : withUpperCaseNames(process.env);
  for (const name of INHERITED) {
    const value = inherited[name];
    if (value !== undefined && !isDeclared(name)) environment[name] = value;
  }
  if (!HAS_PROCESS_GROUPS && !isDeclared(NO_CURRENT_FOLDER.toUpperCase())) environment[NO_CURRENT_FOLDER] = "1";
  return Object.assign(environment, declared);
}

/**
 * If set, `cmd.exe` does not search the current folder, where a model may write, first for the commands of a batch file.
 *
 * @see https://learn.microsoft.com/windows/win32/api/processenv/nf-processenv-needcurrentdirectoryforexepathw
 */
const NO_CURRENT_FOLDER = "NoDefaultCurrentDirectoryInExePath";

/** Returns the variables in upper case, as in `INHERITED`: Windows writes `Path`, and in a worker thread Node's look-up is case-sensitive. */
export function withUpperCaseNames(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name.toUpperCase(), value]));
}

/** Returns whether a variable is declared. On Windows, `Path` and `PATH` are the same, and if both were given, the inherited one would win. */
function createDeclaredCheck(declared: Readonly<Record<string, string>>): (name: string) => boolean {
  if (HAS_PROCESS_GROUPS) return (name) => Object.hasOwn(declared, name);
  const names = new Set(Object.keys(declared).map((name) => name.toUpperCase()));
  return (name) => names.has(name);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
