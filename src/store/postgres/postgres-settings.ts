/** The settings of a connection to PostgreSQL, and how it is named in messages. */
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { DEFAULT_CACHE_BYTES, LEASE_MS, requireInteger } from "../records/store-options.ts";

export interface PostgresSettings {
  readonly url: string;
  readonly schema: string;
  readonly maxConnections: number;
  readonly connectTimeoutMs: number;
  readonly answerTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly retryMs: number;
  readonly leaseMs: number;
  readonly readOnly: boolean;
  readonly migrate: boolean;
  readonly notify: boolean;
  readonly maxCacheBytes: number;
}

/** Maximum length of a name that PostgreSQL does not truncate, in bytes. */
const MAX_NAME_BYTES = 63;
/** Default of `retryMs` for a read-only store, which has no buffered events to protect. */
const RETRY_READS_MS = 1_000;
const SCHEMES: readonly string[] = ["postgres:", "postgresql:"];
const URL_EXAMPLE = "postgres://user:password@host:5432/database";
const ESCAPE_HINT = "Characters such as @ / # ? in a password are written as %40 %2F %23 %3F.";
/** A placeholder host for an address without one, such as `postgres://user@/database?host=/run/postgresql`. */
const NO_HOST = "no-host";

/**
 * Lets the system probe connections that have been silent for 5 seconds, so that one whose other end is gone fails after 15 seconds, and not after
 * `answerTimeoutMs`. Without a delay, Linux would probe after two hours. Also keeps connections known to firewalls that forget silent ones.
 *
 * @see https://nodejs.org/api/net.html#socketsetkeepaliveenable-initialdelay (2026-11)
 */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 5_000 } as const;

/** Whether a text names a PostgreSQL database, and not a file. */
export function isPostgresUrl(text: string): boolean {
  return SCHEMES.some((scheme) => text.toLowerCase().startsWith(`${scheme}//`));
}

/** Explains why a text is not the address of a database; undefined if it is one. Repeats no part of it, because it may contain a password. */
export function findPostgresUrlProblem(text: unknown): string | undefined {
  if (typeof text !== "string" || text === "") return `url is missing; it must be a URL such as ${URL_EXAMPLE}.`;
  if (!isPostgresUrl(text)) return `url must begin with postgres://, as in ${URL_EXAMPLE}.`;
  if (namesSeveralHosts(text))
    return "url names several hosts, but only one is supported. Name one that leads to the primary, such as a proxy or a service.";
  const url = parseUrl(text);
  if (url === undefined || hasUnescapedPassword(url)) return `url is not a URL such as ${URL_EXAMPLE}. ${ESCAPE_HINT}`;
  return url.pathname.length > 1 ? undefined : `url names no database; it must be a URL such as ${URL_EXAMPLE}.`;
}

/** Returns the settings with defaults filled in. @throws ToolError `invalid_argument` */
export function checkPostgresSettings(given: Partial<PostgresSettings>): PostgresSettings {
  const problem = findPostgresUrlProblem(given.url);
  if (given.url === undefined || problem !== undefined) throw new ToolError("invalid_argument", problem ?? "");
  const leaseMs = requireInteger("leaseMs", given.leaseMs ?? LEASE_MS, 100);
  const readOnly = requireBoolean("readOnly", given.readOnly ?? false);
  return {
    url: given.url,
    schema: checkSchemaName(given.schema ?? "haft"),
    maxConnections: requireInteger("maxConnections", given.maxConnections ?? 10, 1),
    connectTimeoutMs: requireInteger("connectTimeoutMs", given.connectTimeoutMs ?? 5_000, 1),
    answerTimeoutMs: requireInteger("answerTimeoutMs", given.answerTimeoutMs ?? 60_000, 1),
    lockTimeoutMs: requireInteger("lockTimeoutMs", given.lockTimeoutMs ?? 5_000, 1),
    retryMs: requireInteger("retryMs", given.retryMs ?? (readOnly ? RETRY_READS_MS : leaseMs), 0),
    leaseMs,
    migrate: requireBoolean("migrate", given.migrate ?? true),
    notify: requireBoolean("notify", given.notify ?? true),
    readOnly,
    maxCacheBytes: requireInteger("maxCacheBytes", given.maxCacheBytes ?? DEFAULT_CACHE_BYTES, 0),
  };
}

function requireBoolean(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new ToolError("invalid_argument", `${name} is ${quoteValue(value)}; it must be a boolean.`);
}

function checkSchemaName(schema: unknown): string {
  if (typeof schema === "string" && schema !== "" && !schema.includes("\u0000") && Buffer.byteLength(schema) <= MAX_NAME_BYTES)
    return schema;
  throw new ToolError("invalid_argument", `schema is ${quoteValue(schema)}; it must be a name of 1 to ${MAX_NAME_BYTES} bytes.`);
}

/** The address without password and parameters: `postgres://haft@db.example/app`. */
export function redactUrl(text: string): string {
  const url = parseUrl(text);
  if (url === undefined) return "postgres://…";
  const user = url.username === "" ? "" : `${url.username}@`;
  const host = url.host === NO_HOST ? "" : url.host;
  const socket = host === "" ? url.searchParams.get("host") : null;
  return `postgres://${user}${host}${url.pathname}${socket === null ? "" : `?host=${socket}`}`;
}

/** Names the store in messages: `The store postgres://haft@db.example/app (schema haft)`. */
export function describePostgresStore({ url, schema }: Pick<PostgresSettings, "url" | "schema">): string {
  return `The store ${redactUrl(url)} (schema ${schema})`;
}

function parseUrl(text: string): URL | undefined {
  return URL.parse(text) ?? URL.parse(text.replace("@/", `@${NO_HOST}/`)) ?? undefined; // as pg does
}

/** Whether an unescaped / ? or # in the password ended the host: the rest of the password would be shown as the database. */
function hasUnescapedPassword({ pathname, search, hash }: URL): boolean {
  return hash !== "" || `${pathname}${search}`.includes("@");
}

function namesSeveralHosts(text: string): boolean {
  const [authority = ""] = text.slice(text.indexOf("//") + 2).split(/[/?#]/u);
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  return host.includes(",") || parseUrl(text)?.searchParams.get("host")?.includes(",") === true;
}
