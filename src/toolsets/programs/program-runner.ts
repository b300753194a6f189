/** Runs the programs of a toolset, in its sandbox or without, and turns their ends into answers. */
import { delimiter, resolve } from "node:path";
import { ToolOutput } from "../../core/content.ts";
import type { ToolContext } from "../../core/context.ts";
import type { Effects } from "../../core/resources/effects.ts";
import type { EngineContext } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import { findBubblewrap, findProgram, type Bubblewrap } from "../../processes/bubblewrap.ts";
import { runProgram, type ProgramEnd, type ProgramLimits, type ProgramStop } from "../../processes/run-program.ts";
import type { ProgramSettings } from "./program-options.ts";
import { limitTime } from "./program-time.ts";
import { openExceptions, findSensitivePaths, formatPaths, type SensitivePath, type ProtectedWorkspace } from "./protected-paths.ts";

export interface ProgramCall extends ProgramStart {
  /** A noun for messages: `command`, `program`. */
  readonly what: string;
}

/** A program to run. */
export interface ProgramStart {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin?: string;
  /** Where it starts, relative to the root. @default the root */
  readonly folder?: string;
  /** Variables besides those of the toolset, which they override. @default none */
  readonly environment?: Readonly<Record<string, string>>;
  /** The timeout that the call asks for. */
  readonly timeoutMs: number | undefined;
}

/** The end of a program, with the limits that applied. */
export interface RunEnd extends ProgramEnd {
  readonly limits: ProgramLimits;
  /** Sentences about changes that affect later programs: files that are now protected, folders that are closed. */
  readonly notes: readonly string[];
}

const SYSTEM_PATH = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/** Variables that keep programs from prompting, paging and colouring. */
const NON_INTERACTIVE_ENV = {
  TERM: "dumb",
  NO_COLOR: "1",
  PAGER: "cat",
  GIT_PAGER: "cat",
  GIT_TERMINAL_PROMPT: "0",
  GIT_EDITOR: "false",
  EDITOR: "false",
  DEBIAN_FRONTEND: "noninteractive",
};
const INHERITED_VARIABLES = ["LANG", "LC_ALL", "TZ", "USER", "LOGNAME"];
const MAX_FILE_BYTES = 1024 ** 3;
const MAX_OUTPUT_BYTES = 64 * 1024 ** 2;
const TEMPORARY_SHARE = 8;
/** How much longer the runtime's timeout of the call is than that of its program, in milliseconds. */
export const TIMEOUT_MARGIN_MS = 15_000;

export class ProgramRunner {
  readonly #settings: ProgramSettings;
  #clock: Clock | undefined;
  #bubblewrap: Bubblewrap | undefined;
  #readable: readonly string[];
  #closing = new AbortController();
  readonly #running = new Set<Promise<RunEnd>>();

  constructor(settings: ProgramSettings) {
    this.#settings = settings;
    this.#readable = settings.readable;
  }

  /** @throws ToolError `unavailable` if the sandbox cannot be set up, by rejecting */
  async open({ clock, signal }: EngineContext): Promise<void> {
    this.#clock = clock;
    this.#closing = new AbortController();
    if (process.platform === "win32")
      throw new ToolError("unavailable", "Programs started by a model are not supported on Windows.", {
        retryable: false,
        operatorHint: "Run Haft in the Windows Subsystem for Linux, or remove the toolset.",
      });
    if (this.#settings.sandbox === "bubblewrap") this.#bubblewrap = await findBubblewrap(signal);
  }

  /** Ends programs that still run although their calls were abandoned. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    this.#clock = undefined;
    this.#bubblewrap = undefined;
  }

  /** Lets programs in the sandbox read more folders, such as that of an interpreter. */
  allowReading(folders: readonly string[]): void {
    this.#readable = [...new Set([...this.#settings.readable, ...folders])];
  }

  /** Returns the path of a program that the toolset itself runs. */
  find(name: string): string | undefined {
    return findProgram(name, this.environment().PATH ?? "");
  }

  environment(): Readonly<Record<string, string>> & { readonly PATH?: string } {
    const sandboxed = this.#settings.sandbox === "bubblewrap";
    const inherited = INHERITED_VARIABLES.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]] as const]));
    return {
      ...Object.fromEntries(inherited),
      ...NON_INTERACTIVE_ENV,
      PATH: sandboxed ? this.#sandboxPath() : (process.env["PATH"] ?? SYSTEM_PATH.join(delimiter)),
      HOME: sandboxed ? "/tmp" : (process.env["HOME"] ?? "/"),
      TMPDIR: "/tmp",
      ...this.#settings.env,
    };
  }

  async run(call: ProgramCall, context: ToolContext): Promise<ToolOutput> {
    return toProgramOutput(await this.runToEnd(call, { context, merged: true }), call.what);
  }

  /** Runs a program until it ends. @param place if `merged`, standard error is part of the output */
  async runToEnd(
    start: ProgramStart,
    place: { readonly context: Pick<ToolContext, "deadline" | "signal" | "output" | "partial">; readonly merged: boolean },
  ): Promise<RunEnd> {
    const running = this.#run(start, place);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #run(start: ProgramStart, { context, merged: mergesStderr }: Parameters<ProgramRunner["runToEnd"]>[1]): Promise<RunEnd> {
    const clock = this.#clock;
    if (clock === undefined) throw new ToolError("unavailable", "The toolset is not open.");
    const { root, sandbox } = this.#settings;
    const found = sandbox === "bubblewrap" ? await findSensitivePaths(this.#settings) : undefined;
    const opened = found === undefined ? undefined : openExceptions(this.#settings, found);
    const limits = this.#limits(start.timeoutMs, context.deadline - clock.now());
    try {
      const end = await runProgram({
        ...start,
        folder: resolve(root, start.folder ?? "."),
        environment: { ...this.environment(), ...start.environment },
        ownVariables: { ...this.#settings.env, ...start.environment },
        limits,
        mergesStderr,
        clock,
        signal: AbortSignal.any([context.signal, this.#closing.signal]),
        onOutput: context.output,
        onPartial: context.partial,
        ...(this.#bubblewrap === undefined || opened === undefined
          ? {}
          : { sandbox: { bubblewrap: this.#bubblewrap, policy: this.#policy(), exceptions: opened.exceptions } }),
      });
      return { ...end, limits, notes: found === undefined ? [] : await describeNewSensitivePaths(found, this.#settings) };
    } finally {
      opened?.close();
    }
  }

  #policy() {
    const { root, writable, network, maxMemoryBytes } = this.#settings;
    const temporaryBytes = Math.ceil(maxMemoryBytes / TEMPORARY_SHARE);
    return { workspace: root, readable: this.#readable, writable, network, temporaryBytes };
  }

  #limits(askedMs: number | undefined, leftMs: number): ProgramLimits {
    const { timeoutMs, maxTimeoutMs, maxMemoryBytes, maxProcesses } = this.#settings;
    return {
      ...limitTime(Math.min(askedMs ?? timeoutMs, maxTimeoutMs), leftMs),
      maxMemoryBytes,
      maxProcesses,
      maxFileBytes: MAX_FILE_BYTES,
      maxOutputBytes: MAX_OUTPUT_BYTES,
    };
  }

  /** Returns the folders of `PATH` that exist in the sandbox. */
  #sandboxPath(): string {
    const seen = [this.#settings.root, ...this.#readable, ...this.#settings.writable];
    const own = (process.env["PATH"] ?? "")
      .split(delimiter)
      .filter((folder) => seen.some((path) => folder === path || folder.startsWith(`${path}/`)));
    const folders = this.#readable.map((folder) => `${folder}/bin`);
    return [...new Set([...own, ...folders, ...SYSTEM_PATH])].join(delimiter);
  }
}

/** Returns notes on sensitive paths that were created, and folders that were closed, since `found` was read. */
async function describeNewSensitivePaths(
  found: readonly SensitivePath[],
  workspace: Pick<ProtectedWorkspace, "root" | "allowed">,
): Promise<readonly string[]> {
  const nameOf = ({ path, isUnreadable = false }: SensitivePath): string => `${isUnreadable} ${path}`;
  const before = new Set(found.map(nameOf));
  try {
    const since = (await findSensitivePaths(workspace)).filter((one) => !before.has(nameOf(one)));
    const named = (isUnreadable: boolean): readonly string[] => {
      const paths = since.filter((one) => (one.isUnreadable ?? false) === isUnreadable).map(({ path }) => path);
      return paths.length === 0 ? [] : [`${isUnreadable ? UNREADABLE_NOTE : CREATED_NOTE}: ${formatPaths(workspace.root, paths)}`];
    };
    return [...named(false), ...named(true)];
  } catch (thrown: unknown) {
    const { message, hint = "" } = ToolError.fromUnknown(thrown); // the program has run, so its answer is still returned
    return [`${message} ${hint}`.trimEnd()];
  }
}

const CREATED_NOTE = "Files were created that other programs run or take instructions from, or where credentials are kept";
const UNREADABLE_NOTE = "Folders were made unreadable, which later commands cannot open until the user makes them readable again";

/** Returns the effects of a program. In the sandbox it only changes the writable folders; without one they are undeclared. */
export function programEffects({ sandbox, root, readable, writable, network, overlap }: ProgramSettings): Effects {
  const more = { destructive: true, ...(overlap ? { commutative: true } : {}) };
  if (sandbox === "none") return { external: true, ...more };
  const keys = (paths: readonly string[]): readonly string[] => paths.map((path) => `file:${path}`.replaceAll(/[{}]/gu, "$&$&"));
  return { reads: keys([root, ...readable]), writes: keys([root, ...writable]), external: network, ...more };
}

/** Returns the answer. A program that was stopped has the exit code -1, and its output so far. */
function toProgramOutput({ exitCode, stop, output: written, errorOutput, limits, notes }: RunEnd, what: string): ToolOutput {
  const output = written + errorOutput + notes.map((note) => `\n[${note}]`).join("");
  if (stop !== undefined)
    return new ToolOutput({ output, exitCode: -1, error: `The ${what} was stopped: ${STOP_DESCRIPTIONS[stop](limits)}.` });
  if (exitCode === 0) return new ToolOutput({ output, exitCode });
  return new ToolOutput({ output, exitCode: exitCode ?? -1, error: `The ${what} exited with code ${exitCode}.` });
}

const STOP_DESCRIPTIONS: Readonly<Record<ProgramStop, (limits: ProgramLimits) => string>> = {
  time: ({ timeoutMs }) => `it took more than ${Math.round(timeoutMs / 100) / 10} s`,
  memory: ({ maxMemoryBytes }) => `it used more than ${Math.round(maxMemoryBytes / 1024 ** 2)} MiB of memory`,
  processes: ({ maxProcesses }) => `it had more than ${maxProcesses} processes at a time`,
  output: ({ maxOutputBytes }) => `it wrote more than ${Math.round(maxOutputBytes / 1024 ** 2)} MiB`,
  cancelled: () => "the call was cancelled",
};
