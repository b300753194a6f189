/** Reads the table that says where sessions are kept, or an address. */
import { COUNT, MILLISECONDS } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { findPostgresUrlProblem, isPostgresUrl } from "../../store/postgres/postgres-settings.ts";
import type { TableReader } from "../table-reader.ts";
import { resolveVariables, type Environment } from "../variables.ts";

export type StoreConfig = SqliteStoreConfig | PostgresStoreConfig;

/** A SQLite file. */
export interface SqliteStoreConfig {
  /** The path of the file, relative to the configuration file. */
  readonly path: string;
  readonly busyTimeoutMs?: number;
  readonly synchronous?: Synchronous;
}

/** A PostgreSQL database. */
export interface PostgresStoreConfig {
  /** The address with its variables resolved: it may hold a password. */
  readonly url: string;
  readonly schema?: string;
  readonly maxConnections?: number;
  readonly migrate?: boolean;
  readonly notify?: boolean;
}

type Synchronous = (typeof SYNCHRONOUS)[number];

const SYNCHRONOUS = ["full", "normal"] as const;
const IN_MEMORY = ":memory:";

/** Undefined if the table names no valid place, which is reported. */
export function readStore(table: TableReader, environment: Environment): StoreConfig | undefined {
  const url = readStoreUrl(table, "url", environment);
  const ofFile = omitUndefined({
    busyTimeoutMs: table.number("busyTimeoutMs", { ...MILLISECONDS, integer: true }),
    synchronous: table.choice("synchronous", SYNCHRONOUS),
  });
  const ofDatabase = omitUndefined({
    schema: table.text("schema"),
    maxConnections: table.number("maxConnections", COUNT),
    migrate: table.flag("migrate"),
    notify: table.flag("notify"),
  });
  if (!table.has("url")) {
    reportConflicts(table, ofDatabase, "belongs to a database; name it by url.");
    const path = readPath(table, environment);
    return path === undefined ? undefined : { path, ...ofFile };
  }
  reportConflicts(table, { ...ofFile, path: table.text("path") }, "belongs to a file; leave it out beside url.");
  return url === undefined ? undefined : { ...url, ...ofDatabase };
}

/** Reads the address under a key. Reports do not quote it, since it may hold a password. */
export function readStoreUrl(table: TableReader, key: string, environment: Environment): PostgresStoreConfig | undefined {
  const written = table.text(key);
  if (written === undefined) return undefined;
  const resolved = resolveVariables(written, environment);
  const problem = "problem" in resolved ? resolved.problem : findPostgresUrlProblem(resolved.text)?.replace(/^url /u, "");
  const hint = "problem" in resolved || isPostgresUrl(resolved.text) ? "" : " A SQLite file is the path of [store].";
  if (problem !== undefined) table.report(key, `${problem}${hint}`);
  return "problem" in resolved || problem !== undefined ? undefined : { url: resolved.text };
}

function reportConflicts(table: TableReader, found: Readonly<Record<string, unknown>>, problem: string): void {
  for (const [key, value] of Object.entries(found)) if (value !== undefined) table.report(key, problem);
}

function readPath(table: TableReader, environment: Environment): string | undefined {
  const written = table.requiredText("path", "the file that keeps the sessions");
  if (written === undefined) return undefined;
  const resolved = resolveVariables(written, environment);
  const problem = "problem" in resolved ? resolved.problem : findPathFault(resolved.text);
  if (problem !== undefined) table.report("path", problem);
  return "problem" in resolved || problem !== undefined ? undefined : resolved.text;
}

function findPathFault(path: string): string | undefined {
  if (path === "") return "must not be empty: the file that keeps the sessions.";
  return path === IN_MEMORY ? "a store in memory would be gone with the process; name a file." : undefined;
}
