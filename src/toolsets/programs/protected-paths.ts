/** The paths in a workspace that a sandboxed program may not change, or not even read. */
import { closeSync, constants, fstatSync, openSync, readlinkSync, type Dirent } from "node:fs";
import { access, readdir, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { ToolError } from "../../core/error.ts";
import { findOutermost, type SandboxException } from "../../processes/bubblewrap.ts";
import type { PathMatcher } from "../files/glob-pattern.ts";
import { sensitivityOf } from "../files/sensitive-paths.ts";

export interface ProtectedWorkspace {
  readonly root: string;
  /** More folders that programs may change. */
  readonly writable: readonly string[];
  readonly allowed: readonly PathMatcher[];
  /** Absolute paths that are never changed, whatever `allowed` says. */
  readonly protect: readonly string[];
  /** Absolute paths that are never read or changed. */
  readonly hide: readonly string[];
}

/** Folders of installed packages, which are not searched. */
const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(["node_modules", ".venv", "venv"]);
/** Folders that are searched for credentials only: they hold thousands of copies of files such as `package.json`. */
const COPY_FOLDERS: ReadonlySet<string> = new Set(["vendor", "target", "dist", "build"]);
const MAX_DEPTH = 3;
/** Folders of version control. Unless allowed, they are protected as a whole and not searched: their files are not named by people. */
const VERSION_CONTROL_FOLDERS: ReadonlySet<string> = new Set([".git", ".hg", ".svn"]);
const MAX_ENTRIES = 200_000;
/** Maximum number of exceptions. Each is a mount, and an open file while the program runs. */
const MAX_EXCEPTIONS = 500;
/** Also opens unreadable files, which the owner could make readable by changing the mode while a program runs. Node has no constant for it. */
const O_PATH = 0o10_000_000;
/** Errors of paths that do not exist, or are no longer folders. */
const MISSING_CODES: ReadonlySet<string | undefined> = new Set(["ENOENT", "ENOTDIR", "ELOOP"]);
const DENIED_CODES: ReadonlySet<string | undefined> = new Set(["EACCES", "EPERM"]);

/** Maximum number of links and folders followed for one link; the limit of Linux. */
const MAX_HOPS = 40;

interface Level {
  readonly folder: readonly string[];
  /** Whether only credentials are searched for: the folder is read-only as a whole, or holds copies. */
  readonly onlyCredentials: boolean;
}

export interface SensitivePath {
  readonly path: string;
  readonly kind: "hidden" | "readOnly";
  /** Whether it is a folder that cannot be listed. */
  readonly isUnreadable?: boolean;
}

/**
 * Returns sensitive files and folders at most three folders deep, those nearest to the root first. Links are only followed if their name is that of
 * credentials, and only to targets in the workspace that are not allowed. A folder that cannot be listed is hidden as a whole: one program could
 * close it and a later one open it, and its files would be unprotected then.
 *
 * @throws ToolError `limit_exceeded`, by rejecting, if there are too many files: a program could create so many that sensitive ones are not found;
 * `permission_denied` if the root cannot be listed
 */
export async function findSensitivePaths(workspace: Pick<ProtectedWorkspace, "root" | "allowed">): Promise<readonly SensitivePath[]> {
  const { root, allowed } = workspace;
  const found: SensitivePath[] = [];
  const isAllowed = (path: readonly string[]): boolean => allowed.some((allows) => allows(path) || allows([...path, "x"]));
  let entries = 0;
  let level: readonly Level[] = [{ folder: [], onlyCredentials: false }];
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next: Level[] = [];
    for (const { folder, onlyCredentials } of level) {
      const all = await entriesOf(join(root, ...folder));
      if (all === "closed") {
        if (depth === 0) throw unreadableError(root);
        found.push({ path: join(root, ...folder), kind: "hidden", isUnreadable: true });
        continue;
      }
      for (const entry of all) {
        if (++entries > MAX_ENTRIES) throw limitError("files and folders", MAX_ENTRIES, "Use a smaller root.");
        const segments = [...folder, entry.name];
        const sensitivity = sensitivityOf(segments, basename(root));
        const isProtected = sensitivity !== undefined && !isAllowed(segments);
        const isHidden = isProtected && sensitivity === "credentials";
        if (entry.isSymbolicLink()) {
          const path = isHidden ? await findTargetBelow(root, segments) : undefined;
          if (path !== undefined && !isAllowed(relative(root, path).split(sep))) found.push({ path, kind: "hidden" });
          continue;
        }
        if (isProtected && (isHidden || !onlyCredentials))
          found.push({ path: join(root, ...segments), kind: isHidden ? "hidden" : "readOnly" });
        // If version control was allowed, each of its entries is checked.
        const isSkipped = isHidden || (isProtected && VERSION_CONTROL_FOLDERS.has(entry.name)) || SKIPPED_FOLDERS.has(entry.name);
        if (entry.isDirectory() && !isSkipped)
          next.push({ folder: segments, onlyCredentials: onlyCredentials || isProtected || COPY_FOLDERS.has(entry.name) });
      }
    }
    level = next;
  }
  if (found.length > MAX_EXCEPTIONS)
    throw limitError("files that are protected", MAX_EXCEPTIONS, "Use a smaller root, or allow files with allowSensitive.");
  return found;
}

/** Opens the found paths, the protected paths in folders that programs may change, and the folders that lead to them. `close` closes them. */
export function openExceptions(
  { root, writable, protect, hide }: Pick<ProtectedWorkspace, "root" | "writable" | "protect" | "hide">,
  found: readonly SensitivePath[],
): { readonly exceptions: readonly SandboxException[]; readonly close: () => void } {
  const bound = findOutermost([root, ...writable]);
  const boundFolder = (path: string): string | undefined => bound.find((folder) => path.startsWith(folder + sep));
  const ownPaths = (paths: readonly string[], kind: SensitivePath["kind"]): readonly SensitivePath[] =>
    paths.filter((path) => boundFolder(path) !== undefined).map((path) => ({ path, kind }));
  const hidden = [...found.filter(({ kind }) => kind === "hidden"), ...ownPaths(hide, "hidden")];
  const wanted = [...hidden, ...ownPaths(protect, "readOnly"), ...found]; // the first entry for a path wins
  const kinds = new Map<string, SandboxException["kind"]>(wanted.toReversed().map(({ path, kind }) => [path, kind]));
  for (const { path } of wanted)
    for (let folder = dirname(path); boundFolder(folder) !== undefined; folder = dirname(folder))
      if (!kinds.has(folder)) kinds.set(folder, "pinned");
  const exceptions: SandboxException[] = [];
  const close = (): void => exceptions.forEach(({ fd }) => closeSync(fd));
  try {
    // A folder is mounted before its content, since its mount would cover that.
    for (const [path, kind] of [...kinds].toSorted(([one], [other]) => one.length - other.length)) {
      const inside = exceptions.some(
        (outer) => (outer.kind === "hidden" || (outer.kind === "readOnly" && kind !== "hidden")) && path.startsWith(outer.path + sep),
      );
      const opened = inside ? undefined : openPath(path);
      if (opened !== undefined) exceptions.push({ path, kind, ...opened });
    }
  } catch (thrown: unknown) {
    close();
    throw thrown;
  }
  return { exceptions, close };
}

function unreadableError(path: string): ToolError {
  return new ToolError("permission_denied", `${JSON.stringify(path)} cannot be opened, so it cannot be protected. No command can be run.`, {
    outcome: "not_started",
    hint: "Ask the user to make it readable again.",
    operatorHint: "Restore your permissions on it and on the folders that contain it: chmod u+rwx.",
  });
}

function limitError(what: string, most: number, operatorHint: string): ToolError {
  return new ToolError(
    "limit_exceeded",
    `The workspace has more than ${most} ${what} in its top three levels. No command can be run in it.`,
    {
      outcome: "not_started",
      retryable: false,
      hint: "Remove files with the file tools, or ask the user to.",
      operatorHint,
    },
  );
}

/** Lists paths relative to the root, for messages. */
export function formatPaths(root: string, paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => relative(root, path));
  return `${shown.join(", ")}${paths.length > 5 ? `, and ${paths.length - 5} more` : ""}`;
}

/** Opens a path. Undefined if it does not exist, or has meanwhile become a link or been moved behind one. */
function openPath(path: string): { readonly fd: number; readonly isFolder: boolean } | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
    const info = fstatSync(fd);
    if (!info.isSymbolicLink() && readlinkSync(`/proc/self/fd/${fd}`) === path) return { fd, isFolder: info.isDirectory() };
  } catch (thrown: unknown) {
    if (!MISSING_CODES.has(systemErrorCode(thrown))) throw DENIED_CODES.has(systemErrorCode(thrown)) ? unreadableError(path) : thrown; // else the path would be unprotected
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

/** Returns the target of a link, if it is below the root. @throws ToolError `permission_denied` if it leads into a closed folder, as a rejection */
async function findTargetBelow(root: string, segments: readonly string[]): Promise<string | undefined> {
  const link = join(root, ...segments);
  try {
    const target = await realpath(link);
    return target.startsWith(root + sep) ? target : undefined;
  } catch (thrown: unknown) {
    if (DENIED_CODES.has(systemErrorCode(thrown)) && (await leadsBelow(root, link))) throw unreadableError(link);
    return undefined; // it leads nowhere, or out of the workspace to a folder without access
  }
}

/** Whether a link that cannot be followed to its end leads below the root. */
async function leadsBelow(root: string, link: string): Promise<boolean> {
  let path = link;
  for (let hops = 0; hops < MAX_HOPS && path.startsWith(root + sep); hops++) {
    try {
      path = resolve(dirname(path), await readlink(path));
    } catch (thrown: unknown) {
      const code = systemErrorCode(thrown);
      if (!DENIED_CODES.has(code)) return !MISSING_CODES.has(code); // else it is not a link, so the path ends here
      path = dirname(path); // a folder of the path may be a link
    }
  }
  return path.startsWith(root + sep);
}

/** Returns the entries of a folder; none if it no longer exists. */
async function entriesOf(folder: string): Promise<readonly Dirent[] | "closed"> {
  try {
    await access(folder, constants.R_OK | constants.X_OK);
    return await readdir(folder, { withFileTypes: true });
  } catch (thrown: unknown) {
    if (MISSING_CODES.has(systemErrorCode(thrown))) return [];
    if (DENIED_CODES.has(systemErrorCode(thrown))) return "closed";
    throw thrown;
  }
}
