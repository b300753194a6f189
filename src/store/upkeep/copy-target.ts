/** The target of a copy, which is either complete or does not exist. */
import { existsSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFile } from "../../core/base/sync-file.ts";
import { systemErrorCode } from "../../core/base/system-error-code.ts";
import { ToolError } from "../../core/error.ts";
import { connectStore, type ConnectStoreOptions, type StoreLocation } from "../connect-store.ts";
import type { SqlConnection } from "../sql/sql-connection.ts";

/**
 * Runs work on the target. A file is written under a temporary name, and gets its own when the work is done; in a database, the work's own
 * transaction decides.
 *
 * @throws ToolError `conflict` if the file exists
 */
export async function withCopyTarget<Result>(
  location: StoreLocation,
  options: ConnectStoreOptions,
  work: (to: SqlConnection) => Promise<Result>,
): Promise<Result> {
  if (!("path" in location)) return withConnection(await connectStore(location, options), work);
  const { path } = location;
  if (existsSync(path)) throw fileExistsError(path);
  const unfinished = `${path}.copying-${process.pid}`;
  await removeFile(unfinished);
  try {
    const result = await withConnection(await connectStore({ path: unfinished }), work);
    await publishFile(unfinished, path);
    return result;
  } finally {
    await removeFile(unfinished);
  }
}

export async function withConnection<Result>(
  connection: SqlConnection,
  work: (connection: SqlConnection) => Promise<Result>,
): Promise<Result> {
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Makes a link, which, unlike a rename, never replaces a file that was created meanwhile. */
async function publishFile(unfinished: string, path: string): Promise<void> {
  try {
    await link(unfinished, path);
  } catch (thrown: unknown) {
    throw systemErrorCode(thrown) === "EEXIST" ? fileExistsError(path) : thrown;
  }
  if (process.platform === "win32") return; // on Windows a folder cannot be opened for writing, and only such a handle can be synced
  const folder = await open(dirname(path));
  try {
    await syncFile(folder);
  } finally {
    await folder.close();
  }
}

async function removeFile(path: string): Promise<void> {
  await rm(`${path}-journal`, { force: true });
  await rm(path, { force: true });
}

function fileExistsError(path: string): ToolError {
  return new ToolError("conflict", `The file ${path} already exists. Nothing was copied.`, {
    operatorHint: "Name a file that does not exist yet; a copy never adds to a store.",
  });
}
