/** The paths in a workspace that a sandboxed program may not change, or not even read. */
import { closeSync, constants, fstatSync, openSync, readdirSync, readlinkSync, type Dirent } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import type { Exception } from "../../processes/bubblewrap.ts";
import type { PathMatcher } from "../files/glob-pattern.ts";
import { sensitivityOf } from "../files/sensitive-paths.ts";

export interface ProtectedWorkspace {
  readonly root: string;
  readonly allowed: readonly PathMatcher[];
  /** Absolute. Never changed, whatever `allowed` says. */
  readonly protect: readonly string[];
}

/** Folders of other people's code, in which names like `package.json` are found by the thousand. */
const PASSED_OVER: ReadonlySet<string> = new Set(["node_modules", ".venv", "venv", "vendor", "target", "dist", "build"]);
const MAX_DEPTH = 3;
const MAX_ENTRIES = 20_000;
/** Each is a mount and an open file while the program runs. */
const MAX_EXCEPTIONS = 200;

interface Found {
  readonly path: string;
  readonly kind: "hidden" | "readOnly";
}

/** Sensitive files and folders, those nearest to the root first: at most three folders deep, no links. */
export function sensitivePaths({ root, allowed }: ProtectedWorkspace): readonly Found[] {
  const found: Found[] = [];
  let entries = 0;
  let level: readonly string[][] = [[]];
  for (let depth = 0; depth < MAX_DEPTH; depth++) {
    const next: string[][] = [];
    for (const folder of level) {
      for (const entry of entriesOf(join(root, ...folder))) {
        if (++entries > MAX_ENTRIES) return found;
        const segments = [...folder, entry.name];
        const sensitivity = entry.isSymbolicLink() ? undefined : sensitivityOf(segments, basename(root));
        if (sensitivity !== undefined && !allowed.some((allows) => allows(segments) || allows([...segments, "x"])))
          found.push({ path: join(root, ...segments), kind: sensitivity === "credentials" ? "hidden" : "readOnly" });
        else if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) next.push(segments);
      }
    }
    level = next;
  }
  return found;
}

/** Opens the paths that were found, those that are protected, and the folders on the way to them. Closed by `close`. */
export function openExceptions(
  { root, protect }: ProtectedWorkspace,
  found: readonly Found[],
): { readonly exceptions: readonly Exception[]; readonly close: () => void } {
  const own = protect.filter((path) => path.startsWith(root + sep)).map((path): Found => ({ path, kind: "readOnly" }));
  const wanted = [...own, ...found].slice(0, MAX_EXCEPTIONS);
  const kinds = new Map<string, Exception["kind"]>(wanted.toReversed().map(({ path, kind }) => [path, kind]));
  for (const { path } of wanted)
    for (let folder = dirname(path); folder !== root && folder.startsWith(root); folder = dirname(folder))
      if (!kinds.has(folder)) kinds.set(folder, "pinned");
  const exceptions: Exception[] = [];
  // A folder comes before what lies in it, or its mount would cover that.
  for (const [path, kind] of [...kinds].toSorted(([one], [other]) => one.length - other.length)) {
    const inside = exceptions.some((outer) => outer.kind !== "pinned" && path.startsWith(outer.path + sep));
    const opened = inside ? undefined : openAsItIs(path);
    if (opened !== undefined) exceptions.push({ path, kind, ...opened });
  }
  return { exceptions, close: () => exceptions.forEach(({ fd }) => closeSync(fd)) };
}

/** The paths below the root as messages name them. */
export function shownPaths(root: string, paths: readonly string[]): string {
  const shown = paths.slice(0, 5).map((path) => relative(root, path));
  return `${shown.join(", ")}${paths.length > 5 ? `, and ${paths.length - 5} more` : ""}`;
}

/** Undefined for what is not there, cannot be read, or is reached by a link that was put there meanwhile. */
function openAsItIs(path: string): { readonly fd: number; readonly isFolder: boolean } | undefined {
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    if (readlinkSync(`/proc/self/fd/${fd}`) === path) return { fd, isFolder: fstatSync(fd).isDirectory() };
  } catch {
    // it is not there
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // gone, or not ours to read
  }
}
