/** The path guard: finds the real file of a path from a model, and whether the model may touch it. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { lstat, realpath } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import type { ToolContext } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { messageOf } from "../../call/context/tool-context.ts";
import { isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { fileError, refusalError, describeSystemError } from "./file-error.ts";
import { type PathMatcher, compileGlob } from "./glob-pattern.ts";
import { type Sensitivity, sensitivityOf } from "./sensitive-paths.ts";

/**
 * The treatment of a path outside the workspace: `block` refuses it; `warn` refuses it the first time, and allows the same path if it is requested
 * again in a later message; `off` allows it.
 */
export type PathGuard = "block" | "warn" | "off";

/** The target of a path, with all links followed. */
export interface ResolvedPath {
  /** The absolute path, canonical as far as it exists. */
  readonly real: string;
  /** The path in messages: relative to the workspace, or absolute outside it; always with `/`. */
  readonly shown: string;
  /** The deepest existing folder or file of the path. */
  readonly existing: string;
  /** The names below `existing`, which do not exist yet; empty if the path exists. */
  readonly missing: readonly string[];
}

export interface WorkspaceOptions {
  readonly root: string;
  readonly guard: PathGuard;
  readonly allowSensitive: readonly string[];
  /** Absolute paths of files and folders that are never changed. */
  readonly protect?: readonly string[];
  /** Absolute paths of files and folders that are neither read nor changed. */
  readonly hide?: readonly string[];
}

const MAX_PATH_LENGTH = 4096;

export function pathSchema(description: string) {
  return { type: "string", minLength: 1, maxLength: MAX_PATH_LENGTH, description } as const;
}

export class Workspace {
  /** The canonical path of the workspace folder. */
  readonly root: string;
  readonly #givenRoot: string;
  readonly #guard: PathGuard;
  readonly #allowed: readonly PathMatcher[];
  readonly #protected: readonly string[];
  readonly #hidden: readonly string[];

  /** @throws ToolError `invalid_config` if the root is not a folder that this process can read */
  constructor(options: WorkspaceOptions) {
    this.#givenRoot = resolve(options.root);
    this.root = resolveRoot(this.#givenRoot);
    this.#guard = options.guard;
    this.#allowed = options.allowSensitive.map(compileGlob);
    // a protected or hidden folder around the whole workspace does not count
    const ownPaths = (paths: readonly string[] = []) => paths.map(canonicalPath).filter((path) => !isInsideFolder(this.root, path));
    this.#protected = ownPaths(options.protect);
    this.#hidden = ownPaths(options.hide);
  }

  /** Returns the resource key of a path: a pure function of its text, so links are not followed. */
  key(path: JsonValue | undefined): string {
    return `file:${toForwardSlashes(this.#toAbsolute(typeof path === "string" ? path : "."))}`;
  }

  /**
   * Resolves a path to its target.
   *
   * @throws ToolError `invalid_input` for a path that is not plain, `permission_denied` if it leads outside the workspace and the guard refuses,
   * `unavailable` if the workspace itself is gone
   */
  async resolve(path: string, context: ToolContext): Promise<ResolvedPath> {
    checkPathSyntax(path);
    const absolute = this.#toAbsolute(path);
    const inside = isInsideFolder(absolute, this.root);
    if (!inside && this.#guard === "block") throw this.#outsideError(path);
    const resolved = await this.#resolveLinks(absolute, inside);
    if (!isInsideFolder(resolved.real, this.root)) this.#checkOutside(path, resolved, context);
    return resolved;
  }

  /** Like `resolve`, and refuses files that hold credentials, by the given and by the resolved path. */
  async resolveForRead(path: string, context: ToolContext): Promise<ResolvedPath> {
    const resolved = await this.resolve(path, context);
    for (const shown of [this.toDisplayPath(this.#toAbsolute(path)), resolved.shown]) {
      if (this.#sensitivityOf(shown) === "credentials") throw sensitivePathError(shown, "read", "credentials");
    }
    if (isInsideOneOf(this.#hidden, resolved.real)) throw ownPathError(resolved.shown, "read");
    return resolved;
  }

  /** Like `resolveForRead`, and refuses files that other programs run or obey, by the given and by the resolved path. */
  async resolveForChange(path: string, context: ToolContext): Promise<ResolvedPath> {
    const resolved = await this.resolve(path, context);
    if (/[\\/]\.{0,2}$/u.test(path))
      throw new ToolError("invalid_input", `${JSON.stringify(path)} names a folder.`, {
        hint: "Give the path of a file, without a slash or dots at its end.",
      });
    for (const shown of [this.toDisplayPath(this.#toAbsolute(path)), resolved.shown]) {
      const sensitivity = this.#sensitivityOf(shown);
      if (sensitivity !== undefined) throw sensitivePathError(shown, "changed", sensitivity);
    }
    if (isInsideOneOf([...this.#protected, ...this.#hidden], resolved.real)) throw ownPathError(resolved.shown, "changed");
    return resolved;
  }

  /** Whether the file at a canonical path is hidden or holds credentials, so that it is neither read nor searched. */
  isUnreadable(real: string): boolean {
    return isInsideOneOf(this.#hidden, real) || this.#sensitivityOf(this.toDisplayPath(real)) === "credentials";
  }

  /** Returns a canonical path as messages show it. */
  toDisplayPath(real: string): string {
    if (!isInsideFolder(real, this.root)) return toForwardSlashes(real);
    return toForwardSlashes(relative(this.root, real)) || ".";
  }

  /** Judges a path inside the workspace only by its part below the root: a workspace in a sensitive folder was a person's choice. */
  #sensitivityOf(shown: string): Sensitivity | undefined {
    const segments = shown.split("/").filter((segment) => segment !== "" && segment !== ".");
    const sensitivity = sensitivityOf(segments, isAbsolute(shown) ? "" : basename(this.root));
    return sensitivity === undefined || this.#allowed.some((allows) => allows(segments)) ? undefined : sensitivity;
  }

  #toAbsolute(path: string): string {
    const absolute = resolve(this.root, path);
    if (this.#givenRoot === this.root || !isAbsolute(path) || !isInsideFolder(absolute, this.#givenRoot)) return absolute;
    return join(this.root, relative(this.#givenRoot, absolute));
  }

  async #resolveLinks(absolute: string, inside: boolean): Promise<ResolvedPath> {
    const missing: string[] = [];
    for (let at = absolute; ; at = dirname(at)) {
      const existing = await realPathOf(at, this.toDisplayPath(absolute));
      if (existing !== undefined) {
        if (missing.length > 0) await refuseDanglingLink(at, missing[0] ?? "", this.toDisplayPath(absolute));
        const real = join(existing, ...missing);
        return { real, shown: this.toDisplayPath(real), existing, missing };
      }
      if (inside && at === this.root) throw new ToolError("unavailable", `The workspace folder ${JSON.stringify(this.root)} is gone.`);
      if (at === dirname(at)) throw fileError(new Error("no root folder"), { verb: "find", shown: this.toDisplayPath(absolute) });
      missing.unshift(basename(at));
    }
  }

  #checkOutside(path: string, resolved: ResolvedPath, context: ToolContext): void {
    if (this.#guard === "off") return;
    if (this.#guard === "block") throw this.#outsideError(path);
    const key = `outside:${resolved.real}`;
    const warning = readWarning(context.state.get(key));
    const message = messageOf(context);
    // A call of the same message was written before the warning could be read.
    const isSameMessage = message !== undefined && warning?.message === message;
    if (warning !== undefined && !isSameMessage && (warning.callId === undefined || context.isShown(warning.callId))) return;
    context.state.update(key, () => ({ callId: context.callId, ...(message === undefined ? {} : { message }) }));
    throw new ToolError("permission_denied", `${JSON.stringify(path)} lies outside the workspace ${this.root}. Nothing was done.`, {
      hint: "If that is what the user wants, make the same call again: it will then be allowed.",
    });
  }

  #outsideError(path: string): ToolError {
    return new ToolError("permission_denied", `${JSON.stringify(path.slice(0, 200))} lies outside the workspace ${this.root}.`, {
      hint: 'Give a path inside the workspace, relative to it, such as "src/main.ts".',
    });
  }
}

/** The call that was warned, and its message. Logs of the first versions have only the call, or neither. */
interface Warning {
  readonly callId?: string;
  readonly message?: string;
}

function readWarning(mark: JsonValue | undefined): Warning | undefined {
  if (mark === true) return {};
  if (typeof mark === "string") return { callId: mark };
  if (!isJsonObject(mark) || typeof mark["callId"] !== "string") return undefined;
  const { callId, message } = mark;
  return { callId, ...(typeof message === "string" ? { message } : {}) };
}

function sensitivePathError(shown: string, what: "read" | "changed", sensitivity: Sensitivity): ToolError {
  const why =
    sensitivity === "credentials" ? "it is a place where credentials are kept" : "other programs run it or take instructions from it";
  return new ToolError("permission_denied", `${JSON.stringify(shown)} may not be ${what}: ${why}.`, {
    hint: what === "read" ? "Continue without it, or ask the user for what you need to know." : "Ask the user to change it.",
    operatorHint: "The option allowSensitive of the toolset allows the files that it names.",
  });
}

/** The error for a path of `protect` or `hide`. */
function ownPathError(shown: string, what: "read" | "changed"): ToolError {
  const why = what === "read" ? "it is kept from models" : "other programs run it or take instructions from it";
  return new ToolError("permission_denied", `${JSON.stringify(shown)} may not be ${what}: ${why}.`, {
    hint: what === "read" ? "Continue without it, or ask the user for what you need to know." : "Ask the user to change it.",
    operatorHint: "It is part of the configuration, or named by protect or hide, which allowSensitive does not affect.",
  });
}

function isInsideOneOf(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => isInsideFolder(path, folder));
}

/** Returns the path with all links followed, as far as it exists. */
export function canonicalPath(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync.native(absolute);
  } catch {
    return dirname(absolute) === absolute ? absolute : join(canonicalPath(dirname(absolute)), basename(absolute));
  }
}

function resolveRoot(root: string): string {
  try {
    const real = realpathSync.native(root);
    if (!statSync(real).isDirectory())
      throw new ToolError("invalid_config", `The workspace ${JSON.stringify(root)} is a file, not a folder.`);
    accessSync(real, constants.R_OK | constants.X_OK);
    return real;
  } catch (thrown: unknown) {
    if (thrown instanceof ToolError) throw thrown;
    throw new ToolError("invalid_config", `The workspace ${JSON.stringify(root)} cannot be used: ${describeSystemError(thrown)}.`, {
      hint: "Give the path of an existing folder that this process may read.",
      cause: thrown,
    });
  }
}

/** True for the folder itself and everything in it. Compares whole names, so that `/a/bc` is not inside `/a/b`. */
export function isInsideFolder(path: string, folder: string): boolean {
  const relativePath = relative(folder, path);
  return relativePath === "" || (relativePath !== ".." && !relativePath.startsWith(`..${sep}`) && !isAbsolute(relativePath));
}

/** Returns the names from a folder to a path in it. Only the path of a whole drive or file system ends in a separator: `/`, `D:\`. */
export function segmentsBelow(folder: string, path: string, separator: string = sep): readonly string[] {
  return path.slice(folder.endsWith(separator) ? folder.length : folder.length + 1).split(separator);
}

function toForwardSlashes(path: string): string {
  return sep === "/" ? path : path.replaceAll(sep, "/");
}

/** Refuses paths that other systems or programs would read as another place. */
function checkPathSyntax(path: string): void {
  const problem = findPathProblem(path);
  if (problem === undefined) return;
  throw new ToolError("invalid_input", `${JSON.stringify(path.slice(0, 200))} is not a usable path: ${problem}.`, {
    hint: 'Give a path relative to the workspace, with "/" between folders, such as "src/main.ts".',
  });
}

function findPathProblem(path: string): string | undefined {
  if (path === "") return "it is empty";
  if (path.length > MAX_PATH_LENGTH) return `it has ${path.length} characters, and ${MAX_PATH_LENGTH} is the limit`;
  if (path.includes("\u0000")) return "it contains a NUL character";
  if (!path.isWellFormed()) return "it contains half a surrogate pair";
  if (path === "~" || path.startsWith("~/") || path.startsWith("~\\")) return '"~" is not expanded';
  if (/^(?:file:|[a-z][a-z\d+.-]*:\/\/)/iu.test(path)) return "it is a URL";
  if (sep === "/" && /^[a-z]:(?:$|[\\/])/iu.test(path)) return "it names a drive";
  if (sep === "/") return path.includes("\\") ? "it contains a backslash" : undefined;
  return findWindowsNameProblem(path);
}

/** On Windows, `a.txt::$DATA` and `a.txt.` are other names of `a.txt`, `a.txt:b` is a stream of it, and `NUL` is a device in every folder. */
export function findWindowsNameProblem(path: string): string | undefined {
  const names = path.replace(/^(?:[\\/]{2}[?.][\\/])?[a-z]:/iu, "").split(/[\\/]/u);
  const wrong = names.find((name) => name !== "." && name !== ".." && WRONG_ON_WINDOWS.test(name));
  return wrong === undefined ? undefined : `${JSON.stringify(wrong)} is not a valid file name on Windows`;
}

/** @see https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const WRONG_ON_WINDOWS =
  /[<>:"|?*\u0000-\u001f]|[. ]$|^(?:con|prn|aux|nul|com[1-9\u00b9\u00b2\u00b3]|lpt[1-9\u00b9\u00b2\u00b3]|conin\$|conout\$)(?:\.|$)/iu;

async function realPathOf(path: string, shown: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "ENOENT") return undefined;
    throw fileError(thrown, { verb: "open", shown });
  }
}

/** Refuses a dangling link: a name that exists but cannot be followed. Writing to it would create its target. */
async function refuseDanglingLink(folder: string, name: string, shown: string): Promise<void> {
  try {
    await lstat(join(folder, name));
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "ENOENT") return;
    throw fileError(thrown, { verb: "open", shown });
  }
  throw refusalError(`Cannot open ${JSON.stringify(shown)}: ${JSON.stringify(name)} is a link to something that does not exist.`);
}
