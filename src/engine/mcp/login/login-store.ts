/** Stores the logins of users: in memory, or in files that only the process's user can read. */
import { hash } from "node:crypto";
import { chmod, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { systemErrorCode } from "../../../core/base/system-error-code.ts";
import { makeFolder } from "../../../core/system/make-folder.ts";
import type { Clock, Log } from "../../../core/ports.ts";
import { readTextFile } from "../../../documents/read-text-file.ts";
import { replaceFile } from "../../../documents/replace-file.ts";
import { withLockFile } from "./login-lock.ts";

/** A user of one server. The client registration of the gateway itself has the user "". */
export interface LoginKey {
  readonly server: string;
  readonly user: string;
}

/** The user of calls without a principal, as on a command line. The principal of a server's only token has this id as well. */
export const LOCAL_USER = "local";

export interface LoginStore {
  get(key: LoginKey): Promise<JsonObject | undefined>;
  set(key: LoginKey, value: JsonObject): Promise<void>;
  /** Idempotent. */
  delete(key: LoginKey): Promise<void>;
  /** The users with an entry for a server, without "". */
  users(server: string): Promise<readonly string[]>;
  /** Runs `work` while no other process that shares the store runs work for the key. @throws the reason of the signal, as a rejection */
  runExclusive<T>(key: LoginKey, options: { readonly clock: Clock; readonly signal: AbortSignal }, work: () => Promise<T>): Promise<T>;
}

export function memoryLoginStore(): LoginStore {
  const kept = new Map<string, { readonly key: LoginKey; readonly value: JsonObject }>();
  return {
    runExclusive: (_key, _options, work) => work(), // no other process shares it
    get: (key) => Promise.resolve(kept.get(fileNameOf(key))?.value),
    set: (key, value) => Promise.resolve(void kept.set(fileNameOf(key), { key, value })),
    delete: (key) => Promise.resolve(void kept.delete(fileNameOf(key))),
    users: (server) =>
      Promise.resolve([...kept.values()].filter(({ key }) => key.server === server && key.user !== "").map(({ key }) => key.user)),
  };
}

/** Permissions: only the process's user may read tokens. */
const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
const MAX_BYTES = 4 * 1024 * 1024;
const REMOVE_HINT = "Remove the file; its user logs in again.";

/**
 * Stores each login in a file. Every method rejects with `store_failed` for a file that cannot be read or written, except `users`, which leaves such
 * a file out and logs a warning once.
 */
export function fileLoginStore(folder: string, log: Log): LoginStore {
  const reported = new Set<string>();
  const pathOf = (key: LoginKey): string => join(folder, `${fileNameOf(key)}.json`);
  const read = async (path: string): Promise<{ readonly key: LoginKey; readonly value: JsonObject } | undefined> => {
    try {
      return parseEntry(await readTextFile({ path, what: "login", code: "store_failed", maxBytes: MAX_BYTES, hint: REMOVE_HINT }), path);
    } catch (thrown: unknown) {
      if (thrown instanceof ToolError && systemErrorCode(thrown.cause) === "ENOENT") return undefined;
      throw thrown;
    }
  };
  const readOrSkip: typeof read = async (path) => {
    try {
      return await read(path);
    } catch (thrown: unknown) {
      if (!reported.has(path)) log.warn(`A file in the folder of logins is skipped: ${describeThrown(thrown)}`, { path });
      reported.add(path);
      return undefined;
    }
  };
  return {
    get: async (key) => (await read(pathOf(key)))?.value,
    async runExclusive(key, options, work) {
      await makeLoginFolder(folder);
      return await withLockFile(join(folder, `${fileNameOf(key)}.lock`), options, work);
    },
    async set(key, value) {
      await makeLoginFolder(folder);
      await replaceFile(pathOf(key), JSON.stringify({ format: FORMAT, version: 1, ...key, value }), { mode: FILE_MODE });
    },
    delete: (key) => rm(pathOf(key), { force: true }),
    async users(server) {
      const names = await readdir(folder).catch(() => []);
      const entries = await Promise.all(names.filter((name) => name.endsWith(".json")).map((name) => readOrSkip(join(folder, name))));
      return entries.flatMap((entry) => (entry?.key.server === server && entry.key.user !== "" ? [entry.key.user] : []));
    },
  };
}

async function makeLoginFolder(folder: string): Promise<void> {
  try {
    await makeFolder(folder, FOLDER_MODE);
    await chmod(folder, FOLDER_MODE);
  } catch (thrown: unknown) {
    throw new ToolError("store_failed", `Cannot create the folder of logins ${folder}: ${describeThrown(thrown)}.`, { cause: thrown });
  }
}

const FORMAT = "haft-login";

function parseEntry(text: string, path: string): { readonly key: LoginKey; readonly value: JsonObject } {
  let entry: unknown;
  try {
    entry = parseJson(text);
  } catch {
    entry = undefined; // the error is dropped, as it may quote a part of a token
  }
  const { format, server, user, value } = isJsonObject(entry) ? entry : ({} as JsonObject); // nothing to read
  if (format === FORMAT && typeof server === "string" && typeof user === "string" && isJsonObject(value))
    return { key: { server, user }, value };
  throw new ToolError("store_failed", `${path} is not a login that was saved here.`, {
    operatorHint: REMOVE_HINT,
  });
}

/** A file name that reveals neither server nor user. */
function fileNameOf({ server, user }: LoginKey): string {
  return hash("sha256", JSON.stringify([server, user]));
}
