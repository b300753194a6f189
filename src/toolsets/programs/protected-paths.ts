/** The paths in a workspace that a sandboxed program may not change, or not even read. */
import { closeSync, constants, fstatSync, openSync, readlinkSync, type Dirent } from "node:fs";
import { access, readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { systemCode } from "../../core/base/system-code.ts";
import { ToolError } from "../../core/error.ts";
import { outermost, type Exception } from "../../processes/bubblewrap.ts";
import type { PathMatcher } from "../files/glob-pattern.ts";
import { sensitivityOf } from "../files/sensitive-paths.ts";

export interface ProtectedWorkspace {
  readonly root: string;
  /** More folders that programs may change. */
  readonly writable: readonly string[];
  readonly allowed: readonly PathMatcher[];
  /** Absolute. Never changed, whatever `allowed` says. */
  readonly protect: readonly string[];
}

/** Folders of installed packages, in which nothing is looked for. */
const PASSED_OVER: ReadonlySet<string> = new Set(["node_modules", ".venv", "venv"]);
/** Folders in which only credentials are looked for: they hold copies of files such as `package.json` by the thousand. */
const COPIES: ReadonlySet<string> = new Set(["vendor", "target", "dist", "build"]);
const MAX_DEPTH = 3;
/** Of version control, whose many folders hold no file by name of a person. */
const OWN_FILES: ReadonlySet<string> = new Set([".git", ".hg", ".svn"]);
const MAX_ENTRIES = 200_000;
/** Each is a mount and an open file while the program runs. */
const MAX_EXCEPTIONS = 500;
/** Opens what may not be read as well: its owner may, as soon as a program changes its mode. Node has no name for it. */
const O_PATH = 0o10_000_000;
/** Errors of paths that are not there, or that are no folder any more. */
const GONE: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
const CLOSED: ReadonlySet<string | undefined> = new Set(["EACCES", "EPERM"]);

/** Links and folders on the way of one link: Linux follows no more. */
const MAX_HOPS = 40;

interface Level {
  readonly folder: readonly string[];
  /** It is read-only as a whole, or holds copies. */
  readonly onlyCredentials: boolean;
}

export interface Found {
  readonly path: string;
  readonly kind: "hidden" | "readOnly";
  /** A folder that cannot be looked into. */
  readonly isClosed?: boolean;
}

/**
 * Sensitive files and folders, those nearest to the root first: at most three folders deep. Of a link, only where its name is that
 * of credentials, what it leads to in the workspace and that was not let through. A folder that cannot be looked into is hidden whole: a program
 * could close it for the next one to open, in which nothing of it would be protected.
 *
 * @throws ToolError `limit_exceeded`, by rejecting, where there is too much to look at: a program could make so many files that the others are
 * not found; `permission_denied` where the root cannot be looked into
 */
export async function sensitivePaths({ root, allowed }: Pick<ProtectedWorkspace, "root" | "allowed">): Promise<readonly Found[]> {
  const found: Found[] = [];
  const isAllowed = (path: readonly string[]): boolean => allowed.some((allows) => allows(path) || allows([...path, "x"]));
  let entries = 0;
  let level: readonly Level[] = [{ folder: [], onlyCredentials: false }];
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next: Level[] = [];
    for (const { folder, onlyCredentials } of level) {
      const all = await entriesOf(join(root, ...folder));
      if (all === "closed") {
        if (depth === 0) throw closed(root);
        found.push({ path: join(root, ...folder), kind: "hidden", isClosed: true });
        continue;
      }
      for (const entry of all) {
        if (++entries > MAX_ENTRIES) throw tooMuch("files and folders", MAX_ENTRIES, "Take a smaller root.");
        const segments = [...folder, entry.name];
        const sensitivity = sensitivityOf(segments, basename(root));
        const isKept = sensitivity !== undefined && !isAllowed(segments);
        const isHidden = isKept && sensitivity === "credentials";
        if (entry.isSymbolicLink()) {
          const path = isHidden ? await targetBelow(root, segments) : undefined;
          if (path !== undefined && !isAllowed(relative(root, path).split(sep))) found.push({ path, kind: "hidden" });
          continue;
        }
        if (isKept && (isHidden || !onlyCredentials)) found.push({ path: join(root, ...segments), kind: isHidden ? "hidden" : "readOnly" });
        // Of version control that was let through, each entry is looked at.
        const isPassedBy = isHidden || (isKept && OWN_FILES.has(entry.name)) || PASSED_OVER.has(entry.name);
        if (entry.isDirectory() && !isPassedBy)
          next.push({ folder: segments, onlyCredentials: onlyCredentials || isKept || COPIES.has(entry.name) });
      }
    }
    level = next;
  }
  if (found.length > MAX_EXCEPTIONS)
    throw tooMuch("files that are protected", MAX_EXCEPTIONS, "Take a smaller root, or let files through with allowSensitive.");
  return found;
}

/**
 * Opens the paths that were found, those that are protected in a folder that programs may change, and the folders on the way to them.
 * Closed by `close`.
 */
export function openExceptions(
  { root, writable, protect }: Pick<ProtectedWorkspace, "root" | "writable" | "protect">,
  found: readonly Found[],
): { readonly exceptions: readonly Exception[]; readonly close: () => void } {
  const bound = outermost([root, ...writable]);
  const boundFolder = (path: string): string | undefined => bound.find((folder) => path.startsWith(folder + sep));
  const own = protect.filter((path) => boundFolder(path) !== undefined).map((path): Found => ({ path, kind: "readOnly" }));
  const wanted = [...found.filter(({ kind }) => kind === "hidden"), ...own, ...found]; // of two for one path, the first counts
  const kinds = new Map<string, Exception["kind"]>(wanted.toReversed().map(({ path, kind }) => [path, kind]));
  for (const { path } of wanted)
    for (let folder = dirname(path); boundFolder(folder) !== undefined; folder = dirname(folder))
      if (!kinds.has(folder)) kinds.set(folder, "pinned");
  const exceptions: Exception[] = [];
  const close = (): void => exceptions.forEach(({ fd }) => closeSync(fd));
  try {
    // A folder comes before what lies in it, or its mount would cover that.
    for (const [path, kind] of [...kinds].toSorted(([one], [other]) => one.length - other.length)) {
      const inside = exceptions.some(
        (outer) => (outer.kind === "hidden" || (outer.kind === "readOnly" && kind !== "hidden")) && path.startsWith(outer.path + sep),
      );
      const opened = inside ? undefined : openAsItIs(path);
      if (opened !== undefined) exceptions.push({ path, kind, ...opened });
    }
  } catch (thrown: unknown) {
    close();
    throw thrown;
  }
  return { exceptions, close };
}

function closed(path: string): ToolError {
  return new ToolError(
    "permission_denied",
    `${JSON.stringify(path)} may not be opened, so that it cannot be protected. No command can be run.`,
    {
      outcome: "not_started",
      hint: "Ask the user to make it readable again.",
      operatorHint: "Give yourself the rights to it and to the folders that it lies in: chmod u+rwx.",
    },
  );
}

function tooMuch(what: string, most: number, operatorHint: string): ToolError {
  return new ToolError(
    "limit_exceeded",
    `The workspace has more than ${most} ${what} in three folders' depth. No command can be run in it.`,
    {
      outcome: "not_started",
      retryable: false,
      hint: "Remove files with the tools for files, or ask the user to.",
      operatorHint,
    },
  );
}

/** The paths below the root as messages name them. */
export function shownPaths(root: string, paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => relative(root, path));
  return `${shown.join(", ")}${paths.length > 5 ? `, and ${paths.length - 5} more` : ""}`;
}

/** Undefined for what is not there, or is a link or reached by one that was put there meanwhile. */
function openAsItIs(path: string): { readonly fd: number; readonly isFolder: boolean } | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
    const info = fstatSync(fd);
    if (!info.isSymbolicLink() && readlinkSync(`/proc/self/fd/${fd}`) === path) return { fd, isFolder: info.isDirectory() };
  } catch (thrown: unknown) {
    if (!GONE.has(systemCode(thrown))) throw CLOSED.has(systemCode(thrown)) ? closed(path) : thrown; // or it would not be protected
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

/** @throws ToolError `permission_denied` where it leads into a closed folder of the workspace. By rejecting */
async function targetBelow(root: string, segments: readonly string[]): Promise<string | undefined> {
  const link = join(root, ...segments);
  try {
    const target = await realpath(link);
    return target.startsWith(root + sep) ? target : undefined;
  } catch (thrown: unknown) {
    if (CLOSED.has(systemCode(thrown)) && (await leadsBelow(root, link))) throw closed(link);
    return undefined; // it leads nowhere, or out of the workspace to where its owner may not go
  }
}

/** Of a link that cannot be followed to its end. */
async function leadsBelow(root: string, link: string): Promise<boolean> {
  let path = link;
  for (let hops = 0; hops < MAX_HOPS && path.startsWith(root + sep); hops++) {
    try {
      path = resolve(dirname(path), await readlink(path));
    } catch (thrown: unknown) {
      const code = systemCode(thrown);
      if (!CLOSED.has(code)) return !GONE.has(code); // else it is no link, so the way ends here
      path = dirname(path); // a folder on the way may be a link
    }
  }
  return path.startsWith(root + sep);
}

/** None of a folder that is gone. */
async function entriesOf(folder: string): Promise<readonly Dirent[] | "closed"> {
  try {
    await access(folder, constants.R_OK | constants.X_OK);
    return await readdir(folder, { withFileTypes: true });
  } catch (thrown: unknown) {
    if (GONE.has(systemCode(thrown))) return [];
    if (CLOSED.has(systemCode(thrown))) return "closed";
    throw thrown;
  }
}
