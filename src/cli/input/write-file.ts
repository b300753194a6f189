/** Writes a file completely or not at all. */
import { rmSync } from "node:fs";
import { link, lstat, open, realpath, rm, stat, type FileHandle } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { syncFile } from "../../core/base/sync-file.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { renameFile } from "../../core/system/rename-file.ts";
import { systemPorts } from "../../core/system/system-ports.ts";

/** The content of a file, in chunks. */
type FileText = AsyncIterable<string | Uint8Array> | readonly (string | Uint8Array)[];

export interface WriteFileOptions {
  /** Whether to replace an existing file. */
  readonly force: boolean;
  /** The option that the error message names for replacing it. @default "--force" */
  readonly forceOption?: "--force" | "--overwrite";
  /** Whether other users may read it, as far as the umask allows: for a file of a repository, without private data. @default false */
  readonly isPublic?: boolean;
  /** Whether the command writes to standard output if the path is `-`. */
  readonly allowsStdout?: boolean;
  /**
   * Whether to keep what was written if the disk is full or fails. It is kept as `<path>.part`, or `<path>.2.part` and so on if that exists, and the
   * error names the file. @default false
   */
  readonly keepPart?: boolean;
  readonly signal: AbortSignal;
}

const CHUNK_CHARS = 256 * 1024;
/** Readable by its owner only, since an export may hold private data. */
const PRIVATE_MODE = 0o600;
const PUBLIC_MODE = 0o666;

/**
 * Writes a temporary file next to the target, and renames it when all of it is on the disk. If `text` throws, no file is left.
 *
 * @throws ToolError `invalid_argument` for a path that cannot be written, or an existing file without `force`; `store_failed` if the disk is full
 * or fails
 */
export async function writeFileAtomically(path: string, text: FileText, options: WriteFileOptions): Promise<void> {
  const { force, signal } = options;
  const target = await resolveTarget(path);
  await checkTargetIsFree(path, target, options);
  const temporary = join(dirname(target), `.${systemPorts.ids.next("haft")}.part`);
  const removeAtExit = (): void => rmSync(temporary, { force: true }); // a second Ctrl-C ends the process without the `finally` below
  process.once("exit", removeAtExit);
  try {
    const file = await withFileErrors(path, () => open(temporary, "wx", options.isPublic === true ? PUBLIC_MODE : PRIVATE_MODE));
    try {
      await writeText(path, file, text, signal);
      await withFileErrors(path, () => syncFile(file));
    } catch (thrown: unknown) {
      throw options.keepPart === true && isDiskError(thrown) ? await keepPartialFile(thrown, temporary, target) : thrown;
    } finally {
      await file.close();
    }
    signal.throwIfAborted();
    await withFileErrors(path, () => moveIntoPlace(temporary, target, force));
  } finally {
    await rm(temporary, { force: true });
    process.off("exit", removeAtExit);
  }
}

/** Keeps the incomplete file, and returns the error with its name. Replaces no existing file. */
async function keepPartialFile(failure: ToolError, temporary: string, target: string): Promise<ToolError> {
  const written = await stat(temporary).catch(() => undefined);
  if (written === undefined || written.size === 0) return failure;
  for (const end of PART_ENDS) {
    const part = target + end;
    if ((await lstat(part).catch(() => undefined)) !== undefined) continue;
    const isKept = await moveIntoPlace(temporary, part, false).then(
      () => true,
      () => false,
    );
    if (isKept)
      return new ToolError(failure.code, failure.message, {
        operatorHint: `What was written before that is in ${part}. ${failure.operatorHint ?? ""}`.trimEnd(),
        cause: failure,
      });
  }
  return failure;
}

/** Endings of the name of an incomplete file, tried in order as earlier ones may be taken. */
const PART_ENDS = [".part", ".2.part", ".3.part", ".4.part", ".5.part"];

/** Whether the disk failed, as opposed to the text or the path. */
function isDiskError(thrown: unknown): thrown is ToolError {
  return thrown instanceof ToolError && thrown.code === "store_failed" && systemErrorCode(thrown.cause) !== undefined;
}

/** Returns the path to write. If `path` is a link, its target is replaced and not the link. */
async function resolveTarget(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return resolve(path); // most likely the file does not exist yet
  }
}

/** Checks that the target may be written. @throws ToolError before anything is written */
async function checkTargetIsFree(path: string, target: string, options: WriteFileOptions): Promise<void> {
  const info = await lstat(target).catch(() => undefined);
  if (info === undefined) return;
  if (!info.isFile()) {
    const what = info.isSymbolicLink() ? "a link that leads nowhere" : "a folder, a pipe or a device, not a regular file";
    throw new ToolError("invalid_argument", `Cannot write ${path}: it is ${what}.`, {
      hint: options.allowsStdout === true ? "Give - to write to standard output." : "Choose another name.",
    });
  }
  if (!options.force) {
    throw new ToolError("invalid_argument", `${path} already exists; nothing was written.`, {
      hint: `Replace it with ${options.forceOption ?? "--force"}, or choose another name.`,
    });
  }
}

async function writeText(path: string, file: FileHandle, text: FileText, signal: AbortSignal): Promise<void> {
  let waiting = "";
  const flush = async (): Promise<void> => {
    const chunk = waiting;
    waiting = "";
    await withFileErrors(path, () => file.appendFile(chunk));
  };
  for await (const piece of text) {
    signal.throwIfAborted();
    if (typeof piece === "string") waiting += piece;
    if (typeof piece !== "string" || waiting.length >= CHUNK_CHARS) await flush();
    if (typeof piece !== "string") await withFileErrors(path, () => file.appendFile(piece));
  }
  await flush();
}

/** Gives the file its name. Uses a link without `force`: unlike a rename, it never replaces a file that another program has made in the meantime. */
async function moveIntoPlace(temporary: string, target: string, force: boolean): Promise<void> {
  if (force) return renameFile(temporary, target);
  try {
    await link(temporary, target);
  } catch (error: unknown) {
    if (!LINK_UNSUPPORTED_CODES.has(systemErrorCode(error) ?? "")) throw error;
    await renameFile(temporary, target);
  }
}

/** The error codes of file systems without hard links. */
const LINK_UNSUPPORTED_CODES: ReadonlySet<string> = new Set(["EPERM", "ENOSYS", "ENOTSUP", "EOPNOTSUPP", "EMLINK"]);
/** Windows reports a file that another program has open in the same way. */
const NOT_ALLOWED = `this user may not write there${process.platform === "win32" ? ", or another program has it open" : ""}`;
const PATH_ERROR_TEXTS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "the folder does not exist"],
  ["ENOTDIR", "its parent is not a folder"],
  ["EACCES", NOT_ALLOWED],
  ["EPERM", NOT_ALLOWED],
  ["EBUSY", "another program has it open"],
  ["EROFS", "its disk is read-only"],
  ["EEXIST", "it already exists"],
  ["ENAMETOOLONG", "the name is too long"],
]);

const DISK_FULL_TEXTS: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the disk quota is used up"],
  ["EFBIG", "a file may not be larger there"],
]);

async function withFileErrors<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (thrown: unknown) {
    const system = systemErrorCode(thrown) ?? "";
    const problem = PATH_ERROR_TEXTS.get(system);
    if (problem !== undefined) throw new ToolError("invalid_argument", `Cannot write ${path}: ${problem}.`, { cause: thrown });
    const full = DISK_FULL_TEXTS.get(system);
    throw new ToolError("store_failed", `Cannot write ${path}: ${full ?? describeThrown(thrown)}.`, {
      cause: thrown,
      ...(full === undefined ? {} : { operatorHint: "Free space there, or use another disk." }),
    });
  }
}
