/** Explains SQLite's errors to users of a store, with hints that help. */
import { ToolError, describeThrown } from "../../core/error.ts";

interface ErrorMeaning {
  readonly name: string;
  readonly hint: string;
}

/** Meanings by primary result code. @see https://sqlite.org/rescode.html */
const MEANINGS: ReadonlyMap<number, ErrorMeaning> = new Map([
  [3, { name: "SQLITE_PERM", hint: "Allow this user to read and write the file and its folder." }],
  [5, { name: "SQLITE_BUSY", hint: "Another process has been writing to it for longer than busyTimeoutMs; waiting writes are retried." }],
  [6, { name: "SQLITE_LOCKED", hint: "Another connection is writing to it; waiting writes are retried." }],
  [7, { name: "SQLITE_NOMEM", hint: "Free memory; waiting writes are retried." }],
  [8, { name: "SQLITE_READONLY", hint: "Allow this user to write the file and its folder; waiting writes are retried." }],
  [10, { name: "SQLITE_IOERR", hint: "Check the disk; waiting writes are retried." }],
  [13, { name: "SQLITE_FULL", hint: "Free space on its disk; waiting writes are retried." }],
  [14, { name: "SQLITE_CANTOPEN", hint: "The path must name a file in a folder that exists and that this user may write." }],
  [18, { name: "SQLITE_TOOBIG", hint: "One value is larger than a database can hold." }],
]);

const REQUIREMENTS_HINT =
  "haft/sqlite needs node:sqlite and threads, as Node, Bun and Deno have them (node --permission: --allow-worker). Elsewhere use postgresStore() or memoryStore(), or call a server of Haft with haft/client.";
const ERROR = 1;
const BUSY = 5;
const READONLY = 8;
const CANTOPEN = 14;
const CORRUPT = 11;
const CONSTRAINT = 19;
const NOTADB = 26;

const DAMAGED: ErrorMeaning = {
  name: "SQLITE_CORRUPT",
  hint: "Open a copy with readOnly to read what is left, export it, and continue in a new file.",
};
const NO_DATABASE: ErrorMeaning = { name: "SQLITE_NOTADB", hint: "Nothing was changed. Use a separate file for the store." };

/**
 * The error of a host that has no `node:sqlite` or no threads, or forbids them.
 *
 * @param place such as `The store notes.db`
 */
export function sqliteUnavailableError(thrown: unknown, place: string): ToolError {
  return new ToolError("store_failed", `${place} could not be opened: ${describeThrown(thrown).replace(/\.$/u, "")}.`, {
    retryable: false,
    operatorHint: REQUIREMENTS_HINT,
    cause: thrown,
  });
}

/** Converts an error of `node:sqlite` to `store_failed`, or to `corrupt_record` if the data is the cause. Returns a ToolError unchanged. */
export function explainSqlite(thrown: unknown, doing: string): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const code = primaryCode(thrown);
  const damaged = isSqliteDamage(thrown);
  const meaning = damaged ? (code === NOTADB ? NO_DATABASE : DAMAGED) : MEANINGS.get(code ?? 0);
  const cause = describeThrown(thrown) + (meaning === undefined ? "" : ` (${meaning.name})`);
  return new ToolError(damaged ? "corrupt_record" : "store_failed", `${doing}: ${cause}.`, {
    cause: thrown,
    ...(meaning === undefined ? {} : { hint: meaning.hint }),
  });
}

/** Whether the file is damaged: broken pages, tables that do not match Haft's fixed statements, or integers that no store writes. */
export function isSqliteDamage(thrown: unknown): boolean {
  if (thrown instanceof ToolError) return thrown.code === "corrupt_record";
  const code = primaryCode(thrown);
  return code === CORRUPT || code === NOTADB || code === ERROR || readProperty(thrown, "code") === "ERR_OUT_OF_RANGE";
}

/** Whether another connection holds the lock. */
export function isSqliteBusy(thrown: unknown): boolean {
  return primaryCode(thrown) === BUSY;
}

/** Whether the operation needs to write, and the connection is read-only. */
export function isSqliteReadOnly(thrown: unknown): boolean {
  return primaryCode(thrown) === READONLY;
}

/** Whether the file, or one that SQLite creates for it, cannot be opened. */
export function isSqliteCannotOpen(thrown: unknown): boolean {
  return primaryCode(thrown) === CANTOPEN;
}

/** Whether a unique key is taken, or a referenced row does not exist. */
export function isSqliteKeyTaken(thrown: unknown): boolean {
  return primaryCode(thrown) === CONSTRAINT;
}

/** Extended codes contain the primary code in their lowest byte. */
function primaryCode(thrown: unknown): number | undefined {
  const code = readProperty(thrown, "errcode");
  return typeof code === "number" ? code & 0xff : undefined;
}

function readProperty(thrown: unknown, name: string): unknown {
  return typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, name) : undefined;
}
