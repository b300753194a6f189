/** Starts a server as a child process with little of our environment, and ends it with everything it started. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { systemCode } from "../core/base/system-code.ts";
import type { Clock } from "../core/ports.ts";
import { commandFile } from "./command-file.ts";
import { cannotLoad } from "../core/late-package.ts";
import { systemPorts } from "../core/system-ports.ts";
import { HAS_PROCESS_GROUPS, guardGroup, releaseGroup, signalGroup } from "./process-guard.ts";
import { isTreeAlive, killTree, signalTree } from "./process-tree.ts";
import { pause } from "./pause.ts";
import type { ServerCommand } from "./server-command.ts";

const INHERITED = HAS_PROCESS_GROUPS
  ? ["PATH", "HOME", "USER", "LANG", "TMPDIR"]
  : `PATH PATHEXT SYSTEMROOT SYSTEMDRIVE COMSPEC TEMP TMP APPDATA LOCALAPPDATA PROGRAMDATA PROGRAMFILES USERPROFILE USERNAME HOMEDRIVE HOMEPATH
      PROCESSOR_ARCHITECTURE`.split(/\s+/u);

/** How long a server may take to end by itself, and again after SIGTERM, before it is killed. */
const GRACE_MS = 1_000;
/** The same while a person waits for the end of the program. */
const SHORT_GRACE_MS = 200;
const POLL_MS = 20;
const MARK = "HAFT_SERVER";

/** By server, what it and all that it starts have in their environment. */
const marks = new WeakMap<ChildProcessWithoutNullStreams, string>();

/** Starts a program, as the function of `node:child_process` does. */
export type Spawn = typeof spawn;

/**
 * The function that starts the server on this system. On Windows `npx` and the like are batch files, which Node does not start by itself:
 * `cross-spawn` quotes their arguments. Programs do not need it.
 *
 * @throws ToolError `unavailable`, by rejecting, where it cannot be loaded, as in a bundle of ES modules
 */
export async function spawnHere({ command, env = {} }: ServerCommand): Promise<Spawn> {
  if (HAS_PROCESS_GROUPS || isProgram(command, serverEnvironment(env))) return spawn;
  try {
    return (await import("cross-spawn")).default as Spawn;
  } catch (error: unknown) {
    throw cannotLoad({ name: "cross-spawn", need: "servers are started with it on Windows" }, error);
  }
}

/**
 * Starts the server in a process group of its own, under guard, and with a mark in its environment. Failure comes as the child's `error` event,
 * or is thrown.
 *
 * @param start of `spawnHere`, where the command may be a batch file
 */
export function startServer(server: ServerCommand, start: Spawn = spawn): ChildProcessWithoutNullStreams {
  const id = systemPorts.ids.next("server");
  const mark = `${MARK}=${id}`;
  const environment = serverEnvironment(server.env ?? {});
  const child = start(commandFile(server.command, { environment }), server.args ?? [], {
    env: { ...environment, [MARK]: id },
    stdio: ["pipe", "pipe", "pipe"],
    shell: false,
    detached: HAS_PROCESS_GROUPS,
    windowsHide: true,
    ...(server.cwd === undefined ? {} : { cwd: server.cwd }),
  });
  marks.set(child, mark);
  if (child.pid !== undefined) guardUntilExit(child, child.pid, mark);
  return child;
}

/** A group is guarded until `endServer`, as processes may be left in it. Windows gives the number of a process that has ended to another. */
function guardUntilExit(child: ChildProcessWithoutNullStreams, pid: number, mark: string): void {
  guardGroup(pid, mark);
  if (!HAS_PROCESS_GROUPS) child.once("exit", () => releaseGroup(pid));
}

/** Also of a command that is not there: the error of starting it says so. */
function isProgram(command: string, environment: Readonly<Record<string, string>>): boolean {
  try {
    return /\.(?:exe|com)$/iu.test(commandFile(command, { environment }));
  } catch {
    return true;
  }
}

let graceMs = GRACE_MS;

/**
 * Gives servers 200 ms instead of a second for each step of their end, those that are ending already as well. For a program
 * that a person has interrupted and that ends with them: it holds for all of this process, and cannot be taken back.
 */
export function endServersQuickly(): void {
  graceMs = SHORT_GRACE_MS;
}

/**
 * Ends a server and all it started, on Linux also what has left its process group: closes its input, then SIGTERM, then SIGKILL to all of them, with a
 * second between, or less after `endServersQuickly`. Resolves when they are gone, or have been killed.
 */
export async function endServer(child: ChildProcessWithoutNullStreams, clock: Clock): Promise<void> {
  const group = child.pid;
  if (group === undefined) return; // it never started
  child.stdin.end();
  await waitFor(() => !isRunning(child), clock);
  const root = { pid: group, mark: marks.get(child) ?? MARK };
  // The group is known by its number where the processes cannot be listed: without a file descriptor left, or without /proc.
  const isLeft = HAS_PROCESS_GROUPS || isRunning(child);
  const isTold = isLeft && (signalTree(root, "SIGTERM") > 0 || signalGroup(group, "SIGTERM"));
  if (isTold) {
    await waitFor(() => !signalGroup(group, 0) && !isTreeAlive(root), clock);
    await killTree(root, clock);
    await waitFor(() => !isRunning(child), clock);
  }
  releaseGroup(group);
  child.stdin.destroy();
  child.stdout.destroy(); // a process that left the group may still hold the other end
  child.stderr.destroy();
}

/** The reason why the program could not be started, as text. */
export function startProblem(server: ServerCommand, error: unknown): string {
  const code = systemCode(error);
  if (server.cwd !== undefined && !isFolder(server.cwd)) return `its folder ${JSON.stringify(server.cwd)} does not exist`;
  if (code === "ENOENT") return `the command ${JSON.stringify(server.command)} was not found${splitHint(server)}`;
  if (code === "ERR_ACCESS_DENIED") return "this process may not start programs (node --permission: --allow-child-process)";
  if (code === "EACCES") return `the command ${JSON.stringify(server.command)} may not be executed`;
  return `the command ${JSON.stringify(server.command)} could not be run (${code ?? String(error)})`;
}

/** A command with its arguments in one string, as a shell takes it, is looked for as one program. A path may have spaces itself. */
function splitHint({ command, args = [], cwd = "" }: ServerCommand): string {
  const [program = "", ...words] = command.trim().split(/\s+/u);
  if (words.length === 0 || args.length > 0 || (/[/\\]/u.test(program) && !existsSync(resolve(cwd, program)))) return "";
  return `; its arguments are an array of their own: { command: ${JSON.stringify(program)}, args: ${JSON.stringify(words)} }`;
}

function isRunning(child: ChildProcessWithoutNullStreams): boolean {
  return child.exitCode === null && child.signalCode === null;
}

async function waitFor(done: () => boolean, clock: Clock): Promise<void> {
  for (let waitedMs = 0; waitedMs < graceMs && !done(); waitedMs += POLL_MS) await pause(clock, POLL_MS);
}

/** The few variables that programs inherit, and those that are declared. */
export function serverEnvironment(declared: Readonly<Record<string, string>>): Record<string, string> {
  const environment: Record<string, string> = {};
  const isDeclared = namesOf(declared);
  const inherited = HAS_PROCESS_GROUPS ? process.env : inCapitals(process.env);
  for (const name of INHERITED) {
    const value = inherited[name];
    if (value !== undefined && !isDeclared(name)) environment[name] = value;
  }
  if (!HAS_PROCESS_GROUPS && !isDeclared(NO_CURRENT_FOLDER.toUpperCase())) environment[NO_CURRENT_FOLDER] = "1";
  return Object.assign(environment, declared);
}

/**
 * With this variable, `cmd.exe` does not look for the commands of a batch file in the current folder first, which is where a model may write.
 *
 * @see https://learn.microsoft.com/windows/win32/api/processenv/nf-processenv-needcurrentdirectoryforexepathw
 */
const NO_CURRENT_FOLDER = "NoDefaultCurrentDirectoryInExePath";

/** By the names as `INHERITED` has them: Windows writes `Path` and `SystemRoot`, and in a worker thread Node finds them only so. */
export function inCapitals(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name.toUpperCase(), value]));
}

/** Windows takes `Path` and `PATH` for one variable, and of two the inherited one. */
function namesOf(declared: Readonly<Record<string, string>>): (name: string) => boolean {
  if (HAS_PROCESS_GROUPS) return (name) => Object.hasOwn(declared, name);
  const names = new Set(Object.keys(declared).map((name) => name.toUpperCase()));
  return (name) => names.has(name);
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
