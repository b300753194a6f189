/** Finds and opens the store of a command, and explains its errors. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { buildStore } from "../../config/build/build-store.ts";
import { liesOutside } from "../../config/file-path.ts";
import { findConfig, type LoadedConfig } from "../../config/load-config.ts";
import { ToolError } from "../../core/error.ts";
import type { Store, StoredSession } from "../../core/store/store.ts";
import { findNearNames } from "../../core/base/near-names.ts";
import type { StoreLocation } from "../../store/connect-store.ts";
import { isPostgresUrl } from "../../store/postgres/postgres-settings.ts";
import { postgresStore } from "../../store/postgres-store.ts";
import { sqliteStore } from "../../store/sqlite-store.ts";
import type { CommandContext } from "../command.ts";
import { readStoreConfig } from "./open-runtime.ts";
import { requireTrust } from "../commands/trust/require-trust.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { quoteForShell } from "../../core/base/quote-for-shell.ts";

export interface WithStoreOptions {
  /** Whether the store is only read, which works for a damaged file too. */
  readonly readOnly: boolean;
  /** Whether to make the file if it does not exist. @default false */
  readonly create?: boolean;
  /** Runs before the file is made, if it does not exist; if it rejects, none is. */
  readonly beforeCreate?: () => Promise<void>;
  /** The configuration. @default it is read if the command line names no store */
  readonly config?: LoadedConfig;
}

/** A store, with its file if it is in one. */
interface ConfiguredStore {
  readonly store: Store;
  readonly path?: string;
  /** The configuration that names it. */
  readonly config?: LoadedConfig;
}

/**
 * Returns the store of `--store`, else that of the configuration; undefined if neither names one. Does not open it.
 *
 * @throws ToolError `invalid_config` if there is none and `--session` needs one
 */
export function findStore(context: CommandContext, config: LoadedConfig): Store | undefined {
  const configured = findConfiguredStore(context, config, false);
  return configured === undefined && context.options.session !== undefined ? throwNoStore(config) : configured?.store;
}

/** Like `findStore`, but requires a store. @throws ToolError `invalid_config` if none is named, `not_found` if its file does not exist */
export function requireExistingStore(context: CommandContext, config: LoadedConfig): Store {
  const configured = findConfiguredStore(context, config, false) ?? throwNoStore(config);
  requireFile(configured.path);
  return configured.store;
}

/** Opens the store of the command line or the configuration, runs `work`, and always closes it. `work` gets the configuration that names it. */
export async function withStore<T>(
  context: CommandContext,
  options: WithStoreOptions,
  work: (store: Store, config: LoadedConfig | undefined) => Promise<T>,
): Promise<T> {
  const configured = await resolveStore(context, options);
  if (options.create !== true) requireFile(configured.path);
  else if (configured.path !== undefined && !existsSync(configured.path)) await options.beforeCreate?.();
  let result: T;
  try {
    await rejectOnAbort(configured.store.open(), context.signal);
    result = await work(configured.store, configured.config);
  } catch (thrown: unknown) {
    await configured.store.close().catch(() => {}); // the first error is reported
    throw thrown;
  }
  await configured.store.close();
  return result;
}

/** Returns the place of the store of the command line or the configuration, for work on the whole store. @throws ToolError as `withStore` does */
export async function resolveStoreLocation(context: CommandContext): Promise<StoreLocation> {
  const { store, schema, config } = context.options;
  if (store !== undefined) return requireStoreFile(parseStoreLocation(store, schema));
  if (schema !== undefined)
    throw new ToolError("invalid_argument", "--schema belongs to an address of --store.", {
      hint: "The schema of a configured store is its key schema.",
    });
  if (config === undefined && findConfig(process.cwd()) === undefined) throwNoStore(undefined);
  const known = await readStoreConfig(context);
  if (isOutsideFolder(known)) await requireTrust(context, known);
  const settings = known.config.store ?? throwNoStore(known);
  return requireStoreFile(
    "path" in settings ? { path: resolve(known.folder, settings.path) } : { url: settings.url, schema: settings.schema },
  );
}

/** Returns the place that `text` names: an address, or a file. @throws ToolError `invalid_argument` for a file with a schema */
export function parseStoreLocation(text: string, schema: string | undefined): StoreLocation {
  if (isPostgresUrl(text)) return { url: text, schema };
  if (schema === undefined) return { path: resolve(text) };
  throw new ToolError("invalid_argument", "--schema belongs to a postgres:// address, not to a file.");
}

function requireStoreFile(location: StoreLocation): StoreLocation {
  if ("path" in location) requireFile(location.path);
  return location;
}

/** Does work on one session, and adds hints of the command line to its errors. */
export async function withSession<T>(store: Store, sessionId: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown: unknown) {
    throw await withSessionHint(ToolError.fromUnknown(thrown), store, sessionId);
  }
}

/** Returns the store's record of a session; undefined if it has none of this id. */
export async function findSession(store: Store, sessionId: string): Promise<StoredSession | undefined> {
  const [session] = await store.list({ sessionId });
  return session;
}

/** Yields every session, the newest first. */
export async function* allSessions(store: Store): AsyncGenerator<StoredSession, void, undefined> {
  for (let offset = 0; ; offset += PAGE) {
    const page = await store.list({ limit: PAGE, offset });
    yield* page;
    if (page.length < PAGE) return;
  }
}

const PAGE = 500;
/** Maximum number of ids that are compared for a "Did you mean". */
const MAX_COMPARED = 5_000;

async function resolveStore(context: CommandContext, { readOnly, config }: WithStoreOptions): Promise<ConfiguredStore> {
  const named = storeFromOption(context, readOnly);
  if (named !== undefined) return named;
  if (config === undefined && context.options.config === undefined && findConfig(process.cwd()) === undefined) throwNoStore(undefined);
  const known = config ?? (await readStoreConfig(context));
  if (config === undefined && isOutsideFolder(known)) await requireTrust(context, known);
  return findConfiguredStore(context, known, readOnly) ?? throwNoStore(known);
}

function findConfiguredStore(context: CommandContext, config: LoadedConfig, readOnly: boolean): ConfiguredStore | undefined {
  const named = storeFromOption(context, readOnly);
  if (named !== undefined) return named;
  const store = buildStore(config, readOnly);
  const settings = config.config.store;
  if (store === undefined || settings === undefined) return undefined;
  return "path" in settings ? { store, config, path: resolve(config.folder, settings.path) } : { store, config };
}

/** Whether the store is outside the folder of its configuration: elsewhere on the disk, or on a server. */
function isOutsideFolder({ config: { store }, folder }: LoadedConfig): boolean {
  return store !== undefined && ("url" in store || liesOutside(folder, resolve(folder, store.path)));
}

function storeFromOption({ options: { store: path } }: CommandContext, readOnly: boolean): ConfiguredStore | undefined {
  if (path === undefined) return undefined;
  if (isPostgresUrl(path)) return { store: postgresStore({ url: path, readOnly }) };
  return { store: sqliteStore({ path: resolve(path), readOnly }), path: resolve(path) };
}

/** Fails because no store is named. @throws ToolError in any case */
function throwNoStore(config: LoadedConfig | undefined): never {
  const where = config === undefined ? "and there is no configuration in this folder" : `and ${config.path} has no [store]`;
  throw new ToolError("invalid_config", `No store is named, ${where}.`, {
    hint: `Name its file with --store haft.db${config === undefined ? "." : `, or in ${config.path} with a table [store] that has path = "haft.db".`}`,
  });
}

function requireFile(path: string | undefined): void {
  if (path === undefined || existsSync(path)) return;
  throw new ToolError("not_found", `There is no store ${path}.`, { hint: "haft run and haft sessions import create it." });
}

async function withSessionHint(error: ToolError, store: Store, sessionId: string): Promise<ToolError> {
  if (error.code === "resource_busy") {
    const command = `haft sessions resume ${quoteForShell(sessionId)} --take-over`;
    return withHint(error, `Let it end there, or take it over with ${command}: then the other process can no longer write to it.`);
  }
  return error.code === "not_found" ? withHint(error, await suggestSessions(store, sessionId)) : error;
}

async function suggestSessions(store: Store, sessionId: string): Promise<string> {
  const ids: string[] = [];
  try {
    for await (const session of allSessions(store)) if (ids.push(session.sessionId) === MAX_COMPARED) break;
  } catch {
    return "haft sessions check says what is wrong with the store."; // the error about the missing session is reported
  }
  const near = findNearNames(sessionId, ids).map((one) => JSON.stringify(one));
  if (near.length > 0) return `Did you mean ${near.join(" or ")}?`;
  return ids.length === 0 ? "It has no sessions at all." : "haft sessions list shows what it has.";
}

function withHint(error: ToolError, operatorHint: string): ToolError {
  return new ToolError(error.code, error.message, { ...error.toJSON(), operatorHint, cause: error });
}
