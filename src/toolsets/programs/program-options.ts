/** The options of toolsets that run programs, and their checked form. */
import { quoteValue } from "../../core/base/wording.ts";
import { statSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { COUNT, checkNumber, type Bounds } from "../../core/base/number-bounds.ts";
import { ToolError } from "../../core/error.ts";
import type { OptionNames } from "../../core/known-keys.ts";
import { expandHome } from "../../documents/home-folder.ts";
import { compileGlob, type PathMatcher } from "../files/glob-pattern.ts";
import { describeSystemError } from "../files/file-error.ts";
import { canonicalPath } from "../files/workspace-path.ts";

/** `bubblewrap`: programs run in that sandbox. `none`: programs may do all that this process may. */
export type SandboxKind = "bubblewrap" | "none";

/** Where programs run, and what they may do there. */
export interface ProgramOptions {
  /** The workspace: an existing folder, in which programs start. In the sandbox, the only folder that they may change. */
  readonly root: string;
  /** The namespace of the tools. @default "shell", "python" */
  readonly name?: string;
  /** The sandbox. Opening fails if bubblewrap is missing; only `none` runs programs without a sandbox. @default "bubblewrap" */
  readonly sandbox?: SandboxKind;
  /** Whether programs in the sandbox may use the network, including that of this machine. @default false */
  readonly network?: boolean;
  /** Paths that programs in the sandbox may read, besides the workspace and the programs of the system. `~` is the home folder. @default none */
  readonly read?: readonly string[];
  /** More folders that programs in the sandbox may change. @default none */
  readonly write?: readonly string[];
  /**
   * Environment variables of programs, in addition to the few that all have. Models can read them; the values of credentials,
   * by their names, are struck out of the output, unless a command encodes them. @default none
   */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Globs, relative to the workspace, of sensitive files that are allowed: programs in the sandbox may change those that other programs run or obey,
   * and read those that hold credentials. `**` allows all. @default none
   */
  readonly allowSensitive?: readonly string[];
  /** Paths that are never changed in the sandbox, whatever `allowSensitive` says. A configuration adds its own files. @default none */
  readonly protect?: readonly string[];
  /** Paths that are neither read nor changed in the sandbox. A configuration adds its store and the folder of its logins. @default none */
  readonly hide?: readonly string[];
  /** Timeout of a program whose call gives none, in milliseconds. @default 60_000 */
  readonly timeoutMs?: number;
  /** Longest timeout that a call may ask for, in milliseconds. @default 3_600_000 */
  readonly maxTimeoutMs?: number;
  /** Maximum memory of a program and all that it starts. Enforced on Linux. @default 2 GiB */
  readonly maxMemoryBytes?: number;
  /** Maximum number of concurrent processes of one call. Enforced on Linux. @default 256 */
  readonly maxProcesses?: number;
  /** Whether programs may run at the same time, such as a server in the background and its tests. @default false: one after the other */
  readonly overlap?: boolean;
}

export const PROGRAM_OPTIONS: OptionNames<ProgramOptions> = {
  root: true,
  name: true,
  sandbox: true,
  network: "boolean",
  read: "strings",
  write: "strings",
  env: "object",
  allowSensitive: "strings",
  protect: "strings",
  hide: "strings",
  timeoutMs: true,
  maxTimeoutMs: true,
  maxMemoryBytes: true,
  maxProcesses: true,
  overlap: "boolean",
};

/** Bounds of a program's timeout: it cannot be unlimited. */
export const TIMEOUT_BOUNDS: Bounds = { min: 1, max: 7 * 24 * 3_600_000, integer: false };

/** The checked options, with their defaults. */
export interface ProgramSettings {
  readonly root: string;
  readonly sandbox: SandboxKind;
  readonly network: boolean;
  readonly readable: readonly string[];
  readonly writable: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly allowed: readonly PathMatcher[];
  readonly protect: readonly string[];
  readonly hide: readonly string[];
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly maxMemoryBytes: number;
  readonly maxProcesses: number;
  readonly overlap: boolean;
}

/** @throws ToolError `invalid_config` for a folder that does not exist, `invalid_argument` for other options */
export function programSettings(options: ProgramOptions): ProgramSettings {
  const { sandbox = "bubblewrap", network = false, read = [], write = [], env = {}, allowSensitive = [] } = options;
  const { maxTimeoutMs = 3_600_000, maxMemoryBytes = 2 * 1024 ** 3, maxProcesses = 256, overlap = false } = options;
  checkNumber(maxTimeoutMs, "maxTimeoutMs", TIMEOUT_BOUNDS);
  const { timeoutMs = Math.min(60_000, maxTimeoutMs) } = options;
  if (sandbox !== "bubblewrap" && sandbox !== "none")
    throw new ToolError("invalid_argument", `The sandbox ${quoteValue(sandbox)} is unknown. Use "bubblewrap" or "none".`);
  checkNumber(timeoutMs, "timeoutMs", TIMEOUT_BOUNDS);
  checkNumber(maxMemoryBytes, "maxMemoryBytes", COUNT);
  checkNumber(maxProcesses, "maxProcesses", COUNT);
  for (const name of Object.keys(env))
    if (!/^[A-Za-z_]\w*$/u.test(name))
      throw new ToolError("invalid_argument", `env: ${JSON.stringify(name)} is not the name of a variable.`);
  const root = resolveExisting(options.root, "root");
  if (sandbox === "bubblewrap" && root === "/")
    throw new ToolError("invalid_config", "root: the whole file system cannot be the workspace of a sandbox.");
  return {
    root,
    sandbox,
    network,
    readable: read.map((path) => resolveExisting(path, "read")),
    writable: write.map((path) => resolveExisting(path, "write")),
    env,
    allowed: allowSensitive.map(compileGlob),
    protect: (options.protect ?? []).map(canonicalPath),
    hide: (options.hide ?? []).map(canonicalPath),
    timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
    maxTimeoutMs,
    maxMemoryBytes,
    maxProcesses,
    overlap,
  };
}

/** Returns the path with all links followed. @throws ToolError `invalid_config` */
function resolveExisting(path: string, key: "root" | "read" | "write"): string {
  if (typeof path !== "string" || path === "") throw new ToolError("invalid_config", `${key}: the path of a folder is missing.`);
  const absolute = resolve(expandHome(path));
  try {
    const real = realpathSync.native(absolute);
    if (key === "read" || statSync(real).isDirectory()) return real;
  } catch (error: unknown) {
    throw new ToolError("invalid_config", `${key}: ${JSON.stringify(absolute)} cannot be used: ${describeSystemError(error)}.`, {
      cause: error,
    });
  }
  throw new ToolError("invalid_config", `${key}: ${JSON.stringify(absolute)} is not a folder.`);
}
