/** Explains PostgreSQL's errors to users of a store, with hints that help. */
import { ToolError, describeThrown } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import { StoreRefusal } from "../../core/store/store-refusal.ts";

interface ErrorMeaning {
  readonly hint: string;
  readonly code?: ErrorCode;
}

const GRANTS =
  "Grant the role in url usage on the schema, and select, insert, update and delete on its tables; they are created when a role that may create tables opens the store once.";
const CHANGED: ErrorMeaning = {
  code: "corrupt_record",
  hint: "Its tables are no longer those of Haft: restore them from a backup, or use a separate schema for the store.",
};
const UNTRUSTED: ErrorMeaning = {
  hint: "Name the file with the certificate of its authority in url, as in ?sslmode=verify-full&sslrootcert=/etc/ssl/authority.pem, or in NODE_EXTRA_CA_CERTS.",
};
const DAMAGED: ErrorMeaning = {
  code: "corrupt_record",
  hint: "The data of the server itself is damaged: restore its tables from a backup.",
};

/** Meanings by SQLSTATE or system code. @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
const MEANINGS: ReadonlyMap<string, ErrorMeaning> = new Map([
  ["28P01", { hint: "Correct the user or the password in url." }],
  [
    "28000",
    {
      hint: "Correct the user in url, or allow it in pg_hba.conf of the server; a server that requires TLS needs ?sslmode=verify-full in url.",
    },
  ],
  ["3D000", { hint: "Create the database, or correct its name in url." }],
  ["42501", { hint: GRANTS }],
  [
    "25006",
    { hint: "The server accepts no writes: it is a standby, or read-only. url must point to the primary; waiting writes are retried." },
  ],
  [
    "53300",
    { hint: "The server has no connection left: lower maxConnections, raise max_connections of the server, or put PgBouncer in front." },
  ],
  ["53100", { hint: "Free space on the disk of the server; waiting writes are retried." }],
  ["53200", { hint: "The server is out of memory; waiting writes are retried." }],
  ["55P03", { hint: "Another process has held the row for longer than lockTimeoutMs; waiting writes are retried." }],
  ["57014", { hint: "The server ended a statement that took too long; check statement_timeout of the role." }],
  ["42P01", CHANGED],
  ["42703", CHANGED],
  ["42P10", CHANGED],
  ["XX001", DAMAGED],
  ["XX002", DAMAGED],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT", UNTRUSTED],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", UNTRUSTED],
  ["SELF_SIGNED_CERT_IN_CHAIN", UNTRUSTED],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", UNTRUSTED],
  ["CERT_HAS_EXPIRED", { hint: "Renew the certificate of the server, or correct the clock of this machine." }],
  ["ERR_TLS_CERT_ALTNAME_INVALID", { hint: "Write the host in url as it is in the certificate of the server." }],
  ["ENOTFOUND", { hint: "Correct the host in url." }],
  ["EACCES", { hint: "This user may not reach the socket or the file that url names." }],
]);
/**
 * Permanent refusals, recognized by their text: PgBouncer gives all of its errors the code 08P01, and `pg` gives its own none.
 *
 * @see https://github.com/pgbouncer/pgbouncer/blob/master/src/client.c (2026-11)
 */
const REFUSALS: readonly (readonly [text: RegExp, meaning: ErrorMeaning])[] = [
  [/statement pooling mode/iu, { hint: "Set pool_mode of PgBouncer to session or transaction: the store needs transactions." }],
  [/authentication failed|no such user/iu, { hint: "Correct the user or the password in url, and in auth_file of PgBouncer." }],
  [
    /no such database|database "[^"]*" does not exist/iu,
    { hint: "Correct the name of the database in url, or add it to [databases] of PgBouncer." },
  ],
  [
    /unsupported startup parameter/iu,
    { hint: "Take the parameter out of url and set it for the role, or name it in ignore_startup_parameters of PgBouncer." },
  ],
  [/SSL required/iu, { hint: "Add ?sslmode=verify-full to url." }],
  [
    /does not support SSL/iu,
    { hint: "Turn TLS on there (client_tls_sslmode of PgBouncer, ssl of PostgreSQL), or take sslmode out of url." },
  ],
];
/** Codes of refusals that last until a login, a certificate or a right is changed. */
const FINAL_CODES =
  /^(?:28\w{3}|3D000|42501|EACCES|CERT_\w+|ERR_TLS_CERT_\w+|UNABLE_TO_\w+|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT)$/u;
const NO_FILE: ErrorMeaning = { hint: "url names a file that does not exist; correct sslrootcert, sslcert or sslkey." };
const UNREACHABLE: ErrorMeaning = { hint: "Start PostgreSQL, or correct url; waiting writes are retried." };

/**
 * SQLSTATEs and system codes of connections that ended, could not be made, or are of no use. 25006 is among them: after a failover, a connection to a
 * server that has become read-only stays open, and a new one may reach the primary.
 */
const LOST_CLASSES = /^(?:08|57P0[1-5]|25P0[34]|25006)/u;
const LOST_CODES: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "ENOENT",
  "53300",
]);
const LOST_TEXT =
  /connection terminated|connection ended|query read timeout|timeout exceeded when trying to connect|timeout expired|client was closed|not queryable|discarded/iu;
const CONFLICTS: ReadonlySet<string> = new Set(["40001", "40P01", "23505"]);
/** Maximum length of a system or TLS code, with some margin. */
const MAX_CODE_CHARS = 50;
/** SQLSTATEs of values of the wrong kind or size, and of rows that do not fit into an index. */
const UNFIT = /^(?:22|54)/u;

/** How long the driver waits before it gives up, in milliseconds. */
export interface PostgresTimes {
  readonly answerTimeoutMs: number;
  readonly connectTimeoutMs: number;
}

/** Timeouts of `pg`, whose messages say neither what was waited for nor how long. */
const TIMEOUTS: readonly (readonly [text: RegExp, what: (times: PostgresTimes) => string])[] = [
  [/query read timeout/iu, ({ answerTimeoutMs: ms }) => `it did not answer a statement within ${ms} ms (answerTimeoutMs)`],
  [
    /due to connection timeout|timeout exceeded when trying to connect|timeout expired/iu,
    ({ connectTimeoutMs: ms }) => `no connection was made or became free within ${ms} ms (connectTimeoutMs)`,
  ],
];
const SILENT: ErrorMeaning = { hint: "Check that PostgreSQL, and any proxy in front of it, answers; waiting writes are retried." };

/** Converts an error of the driver or server to `store_failed`, or to `corrupt_record` if the data is the cause. Returns a ToolError unchanged. */
export function explainPostgres(thrown: unknown, doing: string, times?: PostgresTimes): ToolError {
  if (thrown instanceof ToolError) return thrown;
  const code = codeOf(thrown);
  const refused = findRefusal(thrown);
  const waited = times && TIMEOUTS.find(([text]) => text.test(textOf(thrown)))?.[1](times);
  const meaning =
    MEANINGS.get(code ?? "") ??
    refused ??
    (waited === undefined ? undefined : SILENT) ??
    (isConnectionLost(thrown) ? UNREACHABLE : undefined);
  const isRefusal = refused !== undefined || FINAL_CODES.test(code ?? "");
  const cause = waited ?? textOf(thrown) + (code === undefined || textOf(thrown).includes(code) ? "" : ` (${code})`);
  return new (isRefusal ? StoreRefusal : ToolError)(meaning?.code ?? "store_failed", `${doing}: ${cause}.`, {
    cause: thrown,
    ...(isRefusal || isPostgresUnstorable(thrown) ? { retryable: false } : {}),
    ...(meaning === undefined ? {} : { operatorHint: meaning.hint }),
  });
}

/** Whether the connection was lost, must be replaced, or could not be made. The statement in flight may or may not have taken effect. */
export function isConnectionLost(thrown: unknown): boolean {
  if (findRefusal(thrown) !== undefined) return false;
  const code = codeOf(thrown);
  if (code !== undefined && (LOST_CLASSES.test(code) || LOST_CODES.has(code))) return true;
  return !(thrown instanceof ToolError) && thrown instanceof Error && LOST_TEXT.test(thrown.message);
}

function findRefusal(thrown: unknown): ErrorMeaning | undefined {
  if (thrown instanceof ToolError || !(thrown instanceof Error)) return undefined;
  const code = codeOf(thrown);
  if (code === "ENOENT") return "syscall" in thrown && thrown.syscall === "open" ? NO_FILE : undefined; // else it is a missing socket, and temporary
  if (code !== undefined && code !== "08P01") return undefined;
  return REFUSALS.find(([text]) => text.test(thrown.message))?.[1];
}

/** Whether the transaction was rolled back because of a conflict with another, and can be retried at once. */
export function isTransactionConflict(thrown: unknown): boolean {
  return CONFLICTS.has(codeOf(thrown) ?? "");
}

/** Whether another connection holds the lock. */
export function isPostgresBusy(thrown: unknown): boolean {
  return codeOf(thrown) === "55P03";
}

/** Whether a unique key is taken, or a referenced row does not exist. */
export function isPostgresKeyTaken(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return code === "23505" || code === "23503";
}

/** Whether the value can never be stored. */
export function isPostgresUnstorable(thrown: unknown): boolean {
  return UNFIT.test(codeOf(thrown) ?? "");
}

function textOf(thrown: unknown): string {
  return describeThrown(thrown).replace(/\.$/u, "");
}

function codeOf(thrown: unknown): string | undefined {
  if (thrown instanceof ToolError) return undefined;
  const code: unknown = typeof thrown === "object" && thrown !== null ? Reflect.get(thrown, "code") : undefined;
  return typeof code === "string" && code.length <= MAX_CODE_CHARS ? code : undefined;
}
