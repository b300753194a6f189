/** Runs one program until it ends: with limits, without a terminal, and without leaving any of its processes behind. */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { constants } from "node:os";
import { plural } from "../core/base/wording.ts";
import { describeThrown, ToolError } from "../core/error.ts";
import type { Clock } from "../core/ports.ts";
import { systemPorts } from "../core/system/system-ports.ts";
import { findCommandFile } from "./find-command-file.ts";
import { sandboxArguments, type Bubblewrap, type SandboxException, type SandboxPolicy } from "./bubblewrap.ts";
import { excludeInherited, type StdioEntry } from "./inherited-descriptors.ts";
import { OutputBuffer } from "./output-buffer.ts";
import { sleep } from "./sleep.ts";
import { HAS_PROCESS_GROUPS, guardGroup, releaseGroup } from "./process-guard.ts";
import {
  hasMoreProcessesThan,
  killTree,
  signalTree,
  countMachineTasks,
  readTreeUsage,
  treeCheck,
  treeRoot,
  type TreeRoot,
} from "./process-tree.ts";
import { describeStartError } from "./server-process.ts";
import { seccompFilter } from "./seccomp-filter.ts";
import { systemErrorCode } from "../core/base/system-error-code.ts";

export interface ProgramLimits {
  readonly timeoutMs: number;
  /** Time between SIGTERM and SIGKILL, in milliseconds. @default 3_000 */
  readonly graceMs?: number;
  /** Maximum memory of all processes together. Only enforced on Linux. */
  readonly maxMemoryBytes: number;
  /** Only enforced on Linux. */
  readonly maxProcesses: number;
  /** Maximum size of each file that it writes. */
  readonly maxFileBytes: number;
  /** Maximum size of its output, including standard error. */
  readonly maxOutputBytes: number;
}

export interface ProgramSandbox {
  readonly bubblewrap: Bubblewrap;
  readonly policy: SandboxPolicy;
  readonly exceptions: readonly SandboxException[];
}

export interface ProgramOptions {
  /** An absolute path, or a name that is looked up in `PATH` of `environment`. Never interpreted by a shell. */
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** All environment variables of the program. */
  readonly environment: Readonly<Record<string, string>>;
  /** The variables of `environment` whose credentials are struck out of the output. @default none */
  readonly ownVariables?: Readonly<Record<string, string>>;
  /** The text of its standard input. @default none: standard input is empty */
  readonly stdin?: string;
  readonly limits: ProgramLimits;
  /** If omitted, the program has all rights of this process. */
  readonly sandbox?: ProgramSandbox;
  /** Whether standard error is part of the output, in the order of the writes. */
  readonly mergesStderr: boolean;
  readonly clock: Clock;
  /** Ends the program as its timeout does. */
  readonly signal: AbortSignal;
  /** Called with the output as it arrives. */
  readonly onOutput?: (text: string) => void;
  /** Called with the whole output so far, as in the result: at once with the first of it, then at most every `PARTIAL_MS`. */
  readonly onPartial?: (output: string) => void;
}

/** Why the program was ended before it ended by itself. */
export type ProgramStop = "time" | "memory" | "processes" | "output" | "cancelled";

export interface ProgramEnd {
  /** 128 plus the number of the signal if a signal ended the program; undefined if it was stopped. */
  readonly exitCode: number | undefined;
  readonly stop: ProgramStop | undefined;
  /** The whole output, or its beginning and end with a line between them. */
  readonly output: string;
  /** Number of characters that are left out of `output`. */
  readonly leftOutChars: number;
  /** Empty if it is part of the output. */
  readonly errorOutput: string;
}

/** Default of `ProgramLimits.graceMs`. */
export const GRACE_MS = 3_000;
const POLL_MS = 50;
/** Minimum time between two checks of the program's usage, in milliseconds; at least WATCH_SHARE times the duration of a check. */
const WATCH_MS = 100;
const WATCH_SHARE = 10;
/** Milliseconds between two cheap checks of the machine's number of tasks: a program that forks without end has thousands after `WATCH_MS`. */
const GROWTH_MS = 10;
/** If the machine has this many times more new tasks than a program may have, other programs are hardly the cause: the program is checked at once. */
const FAR_BEYOND = 4;
/** Minimum time between two reports of the whole output so far, in milliseconds. */
const PARTIAL_MS = 100;
/** How long to wait for the last output, in milliseconds, if another process holds the pipe. */
const LAST_OUTPUT_MS = 250;
/** The kernel counts threads as processes. */
const THREADS_PER_PROCESS = 16;
const MAX_OPEN_FILES = 4_096;

/** Shell script that sets the kernel's limits per process and becomes the program. `-` = no limit. `$5` = whether to merge standard error. */
const LIMITS_SCRIPT = `
ulimit -c 0
ulimit -n "$1" 2>/dev/null
[ "$2" = - ] || ulimit -d "$2" 2>/dev/null
[ "$3" = - ] || ulimit -f "$3" 2>/dev/null
[ "$4" = - ] || ulimit -u "$4" 2>/dev/null || ulimit -p "$4" 2>/dev/null
[ "$5" = - ] || exec 2>&1
shift 5
exec "$@"
`;

/**
 * Resolves when the program and all its descendants have ended.
 *
 * @throws ToolError `unavailable`, as a rejection, if it could not be started
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramEnd> {
  const broken = [options.program, ...options.args, ...Object.values(options.environment)].some((text) => text.includes("\0"));
  if (broken) throw new ToolError("invalid_input", "An argument of a program cannot contain a NUL character.");
  if (options.signal.aborted) return { exitCode: undefined, stop: "cancelled", output: "", leftOutChars: 0, errorOutput: "" };
  return await new Program(options).run();
}

/** File extensions on Windows. Batch files are not started: the quoting of arguments, which a model writes, depends on what the file does. */
const PROGRAM_EXTENSIONS = [".com", ".exe"];

type StartOptions = SpawnOptions & { readonly env: Readonly<Record<string, string>> };

/** @throws ToolError `invalid_input` for arguments that are too long, else `unavailable` */
function spawnProgram(file: string, args: readonly string[], options: StartOptions, close: () => void): ChildProcess {
  try {
    return spawn(findCommandFile(file, { environment: options.env, extensions: PROGRAM_EXTENSIONS }), args, options);
  } catch (error: unknown) {
    const isTooLong = systemErrorCode(error) === "E2BIG";
    const reason = isTooLong ? describeLength(args) : describeThrown(error);
    throw new ToolError(isTooLong ? "invalid_input" : "unavailable", `The program could not be started: ${reason}.`, {
      cause: error,
      outcome: "not_started",
      ...(isTooLong ? { hint: "Send fewer or shorter values in each call, for example a part of the list at a time." } : {}),
    });
  } finally {
    close();
  }
}

/** Names both sizes, because systems limit the longest argument (131,071 bytes on Linux) and all arguments together. */
function describeLength(args: readonly string[]): string {
  let [total, longest] = [0, 0];
  for (const { length } of args) [total, longest] = [total + length, Math.max(longest, length)];
  const size = `${plural(args.length, "argument")} of ${plural(total, "character")} in all, the longest of ${plural(longest, "character")}`;
  return `its arguments are too long for this system (${size})`;
}

class Program {
  readonly #options: ProgramOptions;
  readonly #output: OutputBuffer;
  readonly #errors: OutputBuffer;
  readonly #mark = `HAFT_PROGRAM=${systemPorts.ids.next("program")}`;
  #stop: ProgramStop | undefined;
  #stopping: Promise<void> | undefined;
  /** Ends the wait for the next report of the output so far; undefined if none is due. */
  #cancelPartial: (() => void) | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#output = new OutputBuffer(options.onOutput, options.ownVariables);
    this.#errors = new OutputBuffer(undefined, options.ownVariables);
  }

  async run(): Promise<ProgramEnd> {
    const { clock, limits, signal } = this.#options;
    const child = this.#start();
    const root = await this.#whenStarted(child);
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
    const cancelTimer = clock.timer(() => this.#stopTree(root, "time"), limits.timeoutMs);
    const cancelWatch = this.#watchLimits(root);
    const aborted = (): void => this.#stopTree(root, "cancelled");
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
    this.#listen(child, root);
    try {
      await ended;
      await this.#stopping;
      if (HAS_PROCESS_GROUPS) await killTree(root, clock); // without groups, the descendants of a program that has ended cannot be found
      const done = new AbortController();
      void closed.then(() => done.abort());
      await sleep(clock, LAST_OUTPUT_MS, done.signal);
    } finally {
      cancelTimer();
      cancelWatch();
      this.#cancelPartial?.();
      signal.removeEventListener("abort", aborted);
      releaseGroup(root.pid);
      child.stdout?.destroy();
      child.stderr?.destroy();
    }
    return this.#result(child);
  }

  #start(): ChildProcess {
    const { program, args, folder, environment, stdin, sandbox, mergesStderr } = this.#options;
    const exceptions = sandbox?.exceptions ?? [];
    const filter = sandbox === undefined ? undefined : seccompFilter();
    const inherited = exceptions.filter(({ kind }) => kind !== "hidden").map(({ fd }) => fd);
    // without a sandbox no shell is put in between: it would hide the error of a program that does not exist
    const command = [...(mergesStderr || sandbox !== undefined ? this.#limitCommand() : []), program, ...args];
    const argv =
      sandbox === undefined ? command : [sandbox.bubblewrap.path, ...this.#sandboxArguments(sandbox, filter !== undefined), ...command];
    const [file = program, ...rest] = argv;
    const [name = "", value = ""] = this.#mark.split("=");
    const given: readonly StdioEntry[] = [
      stdin === undefined ? "ignore" : "pipe",
      "pipe",
      "pipe",
      filter === undefined ? "ignore" : "pipe",
      ...inherited,
    ];
    const { stdio, close } = excludeInherited(given);
    const env = { ...environment, [name]: value };
    const child = spawnProgram(
      file,
      rest,
      { env, cwd: folder, stdio, shell: false, detached: HAS_PROCESS_GROUPS, windowsHide: true },
      close,
    );
    const [, , , seccomp] = child.stdio;
    if (seccomp !== null && seccomp !== undefined && "end" in seccomp) {
      seccomp.on("error", () => undefined); // it ended before it had read the filter; its exit code says so
      seccomp.end(filter);
    }
    return child;
  }

  /** Returns the arguments for the sandbox. Descriptors of exceptions begin at 4, in their order. */
  #sandboxArguments({ bubblewrap, policy, exceptions }: ProgramSandbox, filtered: boolean): readonly string[] {
    let next = 4;
    const numbered = exceptions.map((each) => (each.kind === "hidden" ? each : { ...each, fd: next++ }));
    return sandboxArguments(bubblewrap, policy, {
      folder: this.#options.folder,
      exceptions: numbered,
      seccompFd: filtered ? 3 : undefined,
    });
  }

  /** Returns the command that sets the limits. No limit on processes without a sandbox: the kernel would count all processes of the user. */
  #limitCommand(): readonly string[] {
    const { limits, sandbox, mergesStderr } = this.#options;
    const processes = sandbox === undefined ? "-" : String(limits.maxProcesses * THREADS_PER_PROCESS);
    const numbers = [MAX_OPEN_FILES, Math.ceil(limits.maxMemoryBytes / 1024), Math.ceil(limits.maxFileBytes / 512)].map(String);
    return ["/bin/sh", "-c", LIMITS_SCRIPT, "haft", ...numbers, processes, mergesStderr ? "merged" : "-"];
  }

  #whenStarted(child: ChildProcess): Promise<TreeRoot> {
    const { program, folder } = this.#options;
    return new Promise((resolve, reject) => {
      child.once("spawn", () => {
        const { pid } = child;
        if (pid === undefined) return;
        guardGroup(pid, this.#mark);
        resolve(treeRoot(pid, this.#mark));
      });
      child.once("error", (error) => {
        const reason = describeStartError({ command: program, cwd: folder }, error);
        reject(new ToolError("unavailable", `The program could not be started: ${reason}.`, { cause: error, outcome: "not_started" }));
      });
    });
  }

  #listen({ stdin, stdout, stderr }: ChildProcess, root: TreeRoot): void {
    const take = (kept: OutputBuffer) => (chunk: Buffer) => {
      kept.push(chunk);
      if (kept === this.#output) this.#notePartial();
      if (this.#output.bytes + this.#errors.bytes > this.#options.limits.maxOutputBytes) this.#stopTree(root, "output");
    };
    stdout?.on("data", take(this.#output));
    stderr?.on("data", take(this.#errors));
    for (const stream of [stdin, stdout, stderr]) stream?.on("error", () => undefined); // the program ended without reading; its exit code counts
    stdin?.end(this.#options.stdin);
  }

  /** Reports the output so far, unless that was done a moment ago: then once the moment has passed. */
  #notePartial(): void {
    const { clock, onPartial } = this.#options;
    if (onPartial === undefined || this.#cancelPartial !== undefined) return;
    let written = this.#output.bytes;
    const look = (): void => {
      this.#cancelPartial = undefined;
      if (this.#output.bytes === written) return;
      written = this.#output.bytes;
      report();
    };
    const report = (): void => {
      onPartial(this.#output.text());
      this.#cancelPartial = clock.timer(look, PARTIAL_MS);
    };
    report();
  }

  #watchLimits(root: TreeRoot): () => void {
    const { clock, limits } = this.#options;
    if (process.platform !== "linux" || (limits.maxMemoryBytes === Infinity && limits.maxProcesses === Infinity)) return () => undefined;
    let cancel = (): void => undefined;
    let lookAt = clock.now() + WATCH_MS;
    let tasks = countMachineTasks();
    let soonest = 0;
    let isOver = false;
    const look = async (): Promise<void> => {
      const startedAt = clock.now();
      const { processes, bytes } = await readTreeUsage(root);
      if (isOver) return;
      if (bytes > limits.maxMemoryBytes) return this.#stopTree(root, "memory");
      if (processes > limits.maxProcesses) return tooMany();
      tasks = countMachineTasks();
      soonest = clock.now() + WATCH_SHARE * (clock.now() - startedAt); // on a busy machine, other programs may start as many tasks
      lookAt = Math.max(clock.now() + WATCH_MS, soonest);
      watchOn();
    };
    const tooMany = (): void => this.#stopTree(root, "processes");
    const glance = (): void => {
      const [now, count] = [clock.now(), countMachineTasks()];
      const grown = (count - tasks) / limits.maxProcesses;
      if (now >= lookAt || (now >= soonest && grown > 1))
        return grown > 1 && hasMoreProcessesThan(limits.maxProcesses, root) ? tooMany() : void look();
      if (grown <= FAR_BEYOND) return watchOn();
      if (hasMoreProcessesThan(limits.maxProcesses, root)) return tooMany();
      tasks = count; // the new tasks belong to other programs
      watchOn();
    };
    const watchOn = (): void => void (cancel = clock.timer(glance, GROWTH_MS));
    watchOn();
    return () => {
      isOver = true;
      cancel();
    };
  }

  #stopTree(root: TreeRoot, stop: ProgramStop): void {
    if (this.#stopping !== undefined) return;
    this.#stop = stop;
    this.#stopping = this.#endTree(root, stop === "time" || stop === "cancelled");
  }

  /** Ends all processes. SIGTERM is not sent to bubblewrap itself, which would end at once, with everything in the sandbox. */
  async #endTree(root: TreeRoot, gently: boolean): Promise<void> {
    const { clock, sandbox, limits } = this.#options;
    if (gently && (await signalTree(root, "SIGTERM", new Set(sandbox === undefined ? [] : [root.pid]))) > 0) {
      const killAt = clock.now() + (limits.graceMs ?? GRACE_MS);
      const isAlive = treeCheck(root);
      // compared with the clock, as a check that reads all processes of the machine may take longer than the pause between two
      while (clock.now() < killAt && (await isAlive())) await sleep(clock, Math.min(POLL_MS, killAt - clock.now()));
    }
    await killTree(root, clock);
  }

  #result(child: ChildProcess): ProgramEnd {
    const isCut = this.#stop !== undefined;
    this.#output.end(isCut);
    this.#errors.end(isCut);
    const output = this.#output.text();
    const { leftOutChars } = this.#output;
    const errorOutput = this.#errors.text();
    if (this.#stop !== undefined) return { exitCode: undefined, stop: this.#stop, output, leftOutChars, errorOutput };
    const { sandbox, mergesStderr } = this.#options;
    // matched by its prefix: before `exec 2>&1`, the shell may warn too, for example that its locale is not installed
    if (sandbox !== undefined && mergesStderr && child.exitCode !== 0 && /^bwrap: /mu.test(errorOutput))
      throw new ToolError("unavailable", `The sandbox could not be created: ${errorOutput.trim()}`, {
        outcome: "not_started",
        retryable: false,
      });
    const exitCode = child.exitCode ?? 128 + (child.signalCode === null ? 0 : constants.signals[child.signalCode]);
    return { exitCode, stop: undefined, output, leftOutChars, errorOutput };
  }
}
