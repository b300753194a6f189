/** Changes files in the only way allowed: the file was read before, is compared, written to a temporary file and renamed into place. */
import type { Stats } from "node:fs";
import { access, constants, lstat, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { syncFile } from "../../core/base/sync-file.ts";
import type { ToolContext } from "../../core/context.ts";
import { ToolError } from "../../core/error.ts";
import { HEAD_BYTES, refuseBinary } from "./detect-binary.ts";
import { type Fingerprint, MAX_TEXT_BYTES, fingerprint, readWhole, fileTooLargeError } from "./file-bytes.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { fileError } from "./file-error.ts";
import { type OpenFolder, childPath, openFile, openParent } from "./open-resolved-path.ts";
import { renameOver } from "./rename-over.ts";
import { checkRead, recordChange, recordRead, staleFileError } from "./track-reads.ts";
import type { ResolvedPath, Workspace } from "./workspace-path.ts";

/** Maximum number of temporary files of one call in a folder. */
const MAX_RUNS = 100;

export interface ChangeRequest {
  readonly workspace: Workspace;
  readonly path: string;
  readonly context: ToolContext;
  /** Whether the call contains the whole new text, so that the model knows the file by this call alone. */
  readonly isWhole: boolean;
  /** Returns the new text from the current file, which is undefined if there is none. Throwing leaves the file unchanged. */
  readonly revise: (before: CurrentFile | undefined) => string | Promise<string>;
}

export interface Change {
  readonly shown: string;
  readonly created: boolean;
  readonly bytes: number;
}

/** A file before the change. */
export interface CurrentFile {
  readonly shown: string;
  readonly stats: Stats;
  readonly known: Fingerprint;
  /** Undefined if the file is too large to be loaded. */
  readonly bytes: Buffer | undefined;
}

/**
 * Changes or creates a file.
 *
 * An existing file must have been read in this session, the result must still be shown to the model, and the file must be unchanged since. Changes of
 * one file run one after the other, and the session counts as having read what it wrote. The new text is written to a file next to it, flushed, and
 * renamed: no reader sees a partial file, and hard links elsewhere keep the old text. New files and folders are accessible to their owner only (0600,
 * 0700); a replaced file keeps its permissions.
 */
export async function changeFile(request: ChangeRequest): Promise<Change> {
  const { workspace, path, context } = request;
  const found = await workspace.resolveForChange(path, context);
  return runExclusive(found.real, async () => {
    context.signal.throwIfAborted();
    const resolved = await workspace.resolveForChange(path, context); // an earlier change may have created it
    const before = resolved.missing.length > 0 ? undefined : await loadCurrent(resolved, context.signal);
    if (before === undefined) refuseBinary(resolved.shown);
    else checkRead(context, resolved, before.known);
    const bytes = encodeText(await request.revise(before));
    const known = await replaceCurrent(resolved, { bytes, before, context });
    if (before === undefined || request.isWhole) recordRead(context, resolved.real, known);
    else recordChange(context, resolved.real, known);
    return { shown: resolved.shown, created: before === undefined, bytes: bytes.length };
  });
}

export async function loadCurrent(resolved: ResolvedPath, signal: AbortSignal): Promise<CurrentFile> {
  const file = await openFile(resolved);
  try {
    const bytes = await readWhole(file, { maxBytes: MAX_TEXT_BYTES, signal });
    return { shown: resolved.shown, stats: file.stats, bytes, known: fingerprint(file.stats, bytes) };
  } catch (thrown: unknown) {
    throw fileError(thrown, { verb: "read", shown: resolved.shown });
  } finally {
    await file.handle.close();
  }
}

/** Returns the text of a file. @throws ToolError if it is too large, binary, or not UTF-8 */
export function decodeFile(file: CurrentFile): string {
  if (file.bytes === undefined)
    throw fileTooLargeError(file.shown, MAX_TEXT_BYTES, "Read parts of it with offset and limit, or search it with grep.");
  refuseBinary(file.shown, file.bytes.subarray(0, HEAD_BYTES));
  try {
    return UTF8.decode(file.bytes);
  } catch (thrown: unknown) {
    throw new ToolError("execution_failed", `${JSON.stringify(file.shown)} is not UTF-8 text, and no other encoding is supported here.`, {
      outcome: "failed",
      hint: "Convert it to UTF-8 with a command such as iconv, or ask the user to save it as UTF-8.",
      cause: thrown,
    });
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function encodeText(text: string): Buffer {
  if (!text.isWellFormed())
    throw new ToolError("invalid_input", "The text contains half a surrogate pair, which cannot be written as UTF-8.");
  return Buffer.from(text, "utf8");
}

interface Replacement {
  readonly bytes: Buffer;
  readonly before: CurrentFile | undefined;
  readonly context: ToolContext;
}

async function replaceCurrent(resolved: ResolvedPath, replacement: Replacement): Promise<Fingerprint> {
  const parent = await openParent(resolved);
  try {
    // a rename ignores that the old file is read-only, which is usually intended
    if (replacement.before !== undefined) await access(childPath(parent, resolved), constants.W_OK);
    const { path: temporary, stats, leftovers } = await writeTemporary({ path: parent.path, shown: resolved.shown }, replacement);
    try {
      await renameOver(temporary, childPath(parent, resolved), {
        signal: replacement.context.signal,
        check: () => refuseIfChanged(parent, resolved, replacement.before),
      });
    } finally {
      await rm(temporary, { force: true });
    }
    await Promise.allSettled(leftovers.map((path) => rm(path, { force: true }))); // a process that still writes one is refused as stale
    return fingerprint(stats, replacement.bytes.length > MAX_TEXT_BYTES ? undefined : replacement.bytes);
  } catch (thrown: unknown) {
    throw fileError(thrown, { verb: "write", shown: resolved.shown });
  } finally {
    await parent.handle.close();
  }
}

/** Errors of a folder in which no file can be made, although the file in it may be writable. */
const FOLDER_CODES: ReadonlySet<string> = new Set(["EACCES", "EPERM"]);

interface Temporary {
  readonly path: string;
  readonly handle: FileHandle;
  /** Temporary files that other runs of this call have left or are still writing. */
  readonly leftovers: readonly string[];
}

interface TemporaryPlace {
  /** The folder. */
  readonly path: string;
  /** The file that is changed. */
  readonly shown: string;
}

/**
 * Opens a new file, named after the call's id. The name is taken if a process was killed during this call and the call is repeated, or if another
 * process still runs it. That file is neither written nor removed here; the next name is used.
 */
async function openTemporary({ path: folder, shown }: TemporaryPlace, { callId, attempt }: ToolContext): Promise<Temporary> {
  const name = `.haft-${callId.replaceAll(/[^\w-]/g, "_").slice(0, 100)}-${attempt}`;
  const leftovers: string[] = [];
  for (let run = 1; ; run++) {
    const path = join(folder, run === 1 ? `${name}.tmp` : `${name}-${run}.tmp`);
    try {
      const handle = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
      return { path, handle, leftovers };
    } catch (thrown: unknown) {
      const code = systemErrorCode(thrown) ?? "";
      if (FOLDER_CODES.has(code)) throw fileError(thrown, { verb: "make a new file, which every change needs, next to", shown });
      if (code !== "EEXIST" || run === MAX_RUNS) throw thrown;
      leftovers.push(path);
    }
  }
}

async function writeTemporary(place: TemporaryPlace, { bytes, before, context }: Replacement) {
  const { path, handle, leftovers } = await openTemporary(place, context);
  try {
    await handle.writeFile(bytes);
    if (before !== undefined) await copyOwnerAndMode(handle, before.stats);
    await syncFile(handle);
    return { path, leftovers, stats: await handle.stat() };
  } catch (thrown: unknown) {
    await rm(path, { force: true });
    throw thrown;
  } finally {
    await handle.close();
  }
}

async function copyOwnerAndMode(handle: FileHandle, old: Stats): Promise<void> {
  const { uid, gid } = await handle.stat();
  const isKept = (uid === old.uid && gid === old.gid) || (await tryChown(handle, old.uid, old.gid));
  // Only root may give files away. As with any editor, we then own the file; its group is kept if we are a member.
  const isOfGroup = isKept || gid === old.gid || (await tryChown(handle, uid, old.gid));
  const ofOthers = old.mode & 0o007;
  await handle.chmod(old.mode & (isOfGroup ? 0o777 : 0o707 | (ofOthers << 3))); // if the group changes, it gets the permissions of others
}

async function tryChown(handle: FileHandle, uid: number, gid: number): Promise<boolean> {
  try {
    await handle.chown(uid, gid);
    return true;
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) !== "EPERM") throw thrown;
    return false;
  }
}

/** Checks the file again right before the rename, because another program may have written it since it was read. */
async function refuseIfChanged(parent: OpenFolder, resolved: ResolvedPath, before: CurrentFile | undefined): Promise<void> {
  const now = await findStats(childPath(parent, resolved));
  if (before === undefined && now === undefined) return;
  if (before !== undefined && now?.ino === before.stats.ino && now.mtimeMs === before.stats.mtimeMs && now.size === before.stats.size)
    return;
  throw staleFileError(resolved.shown);
}

async function findStats(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (thrown: unknown) {
    if (systemErrorCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

const lastChangeByPath = new Map<string, Promise<void>>();

/**
 * Runs `work` after all earlier work for the same real path has ended.
 *
 * The runtime's locks use paths as written; this also serializes different spellings of one file, such as through a link. Applies to all toolsets of
 * the process.
 */
async function runExclusive<T>(realPath: string, work: () => Promise<T>): Promise<T> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const before = lastChangeByPath.get(realPath);
  lastChangeByPath.set(realPath, ended);
  try {
    await before;
    return await work();
  } finally {
    end();
    if (lastChangeByPath.get(realPath) === ended) lastChangeByPath.delete(realPath);
  }
}
