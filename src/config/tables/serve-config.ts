/** Reads which principals a server lets in, and the tools of each. */
import { resolve } from "node:path";
import { findBasePathProblem } from "../../core/base/base-path.ts";
import { MILLISECONDS } from "../../core/base/number-bounds.ts";
import { findAllowedOriginProblem, findOriginProblem } from "../../core/base/page-origin.ts";
import type { TableReader } from "../table-reader.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { formatForOperator } from "../../core/error.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import { compileAccessRule, type AccessRule } from "../../policy/access-rules.ts";
import { readPatterns } from "./policy-config.ts";

export interface ServeConfig {
  readonly auth: ServeAuthConfig;
  /** In the order of the file. */
  readonly rules: readonly AccessRule[];
  /** The path prefix under which clients reach the server. */
  readonly basePath?: string;
  /** Origins and host names whose pages may send requests. */
  readonly allowedOrigins?: readonly string[];
  /** Origins whose pages may read responses. */
  readonly corsOrigins?: readonly string[];
  readonly limits?: ServeLimits;
  readonly logins?: ServeLoginsConfig;
}

/** `serve.logins`: how users log in to the servers that this server uses. */
export interface ServeLoginsConfig {
  /** The origin at which users' browsers reach the server. */
  readonly origin?: string;
  /** The absolute path of the folder for their tokens. */
  readonly folder?: string;
  readonly loginMs?: number;
}

/** `serve.limits`: the limits of `createServer`, with the same names. */
export type ServeLimits = { readonly [Name in LimitName]?: number };

type LimitName = (typeof LIMITS)[number];

const LIMITS = [
  "maxBodyBytes",
  "maxRecordingBytes",
  "maxRequestsPerMinute",
  "maxBytesPerMinute",
  "maxConcurrentRequests",
  "maxConcurrentCalls",
  "maxStreams",
  "maxOpenSessions",
  "sessionIdleMs",
  "graceMs",
] as const;

export interface ServeAuthConfig {
  /** The address of the server as clients know it. */
  readonly resource?: string;
  readonly issuers: readonly ServeIssuerConfig[];
}

/** One entry of `serve.auth.issuers`. */
export interface ServeIssuerConfig {
  readonly issuer: string;
  readonly audience?: string;
  readonly algorithms?: readonly string[];
  readonly jwksUrl?: string;
  readonly scopeClaim?: string;
  /** For each scope of the issuer, the scopes that it grants here. */
  readonly scopes?: Readonly<Record<string, readonly ServeScope[]>>;
  readonly tokenType?: string;
  readonly clockToleranceSeconds?: number;
  readonly allowPrivate?: readonly string[];
}

type ServeScope = "read" | "execute" | "simulate" | "approve" | "admin";

const SCOPES: readonly ServeScope[] = ["read", "execute", "simulate", "approve", "admin"];
const TOLERANCE = { min: 0, max: 600, integer: true } as const;

/** Invalid keys are reported at their places and left out. */
export function readServe(table: TableReader, folder: string): ServeConfig {
  const basePath = table.text("basePath");
  const fault = basePath === undefined ? undefined : findBasePathProblem(basePath);
  if (fault !== undefined) table.report("basePath", fault);
  const allowedOrigins = table.texts("allowedOrigins", findAllowedOriginProblem);
  const corsOrigins = table.texts("corsOrigins", findOriginProblem);
  return {
    auth: table.section("auth", readAuth) ?? { issuers: [] },
    rules: (table.tables("rules") ?? []).flatMap(readRule),
    ...omitUndefined({ basePath, allowedOrigins, corsOrigins, limits: table.section("limits", readLimits) }),
    ...omitUndefined({ logins: table.section("logins", (logins) => readLogins(logins, folder)) }),
  };
}

function readLogins(table: TableReader, folder: string): ServeLoginsConfig {
  const origin = table.text("origin");
  if (origin !== undefined && (!isSafeAddress(origin) || new URL(origin).origin !== origin))
    table.report("origin", "must be an https origin, or one of this machine: https://tools.example, without a path.");
  const written = table.text("folder");
  if (written === "") table.report("folder", "must not be empty: where tokens are kept.");
  return omitUndefined({
    origin,
    folder: written === undefined ? undefined : resolve(folder, written),
    loginMs: table.number("loginMs", { ...MILLISECONDS, min: 1 }),
  });
}

function readLimits(table: TableReader): ServeLimits {
  const numbers = LIMITS.map(
    (name) => [name, table.number(name, { min: name === "graceMs" ? 0 : 1, max: Number.MAX_SAFE_INTEGER, integer: true })] as const,
  );
  return Object.fromEntries(numbers.filter(([, value]) => value !== undefined));
}

function readAuth(table: TableReader): ServeAuthConfig {
  const resource = table.text("resource");
  if (resource !== undefined && !isSafeAddress(resource)) table.report("resource", "must be an https address, or one of this machine.");
  const issuers = (table.tables("issuers") ?? []).flatMap(readIssuer);
  if (issuers.length > 0 && resource === undefined) table.report("resource", "is missing: the address that tokens of the issuers are for.");
  return { issuers, ...omitUndefined({ resource }) };
}

function readIssuer(table: TableReader): readonly ServeIssuerConfig[] {
  const issuer = table.requiredText("issuer", "exactly as in its tokens");
  for (const key of ["issuer", "jwksUrl"]) {
    const address = table.peek(key);
    if (typeof address === "string" && !isSafeAddress(address)) table.report(key, "must be an https address, or one of this machine.");
  }
  const more = omitUndefined({
    audience: table.text("audience"),
    algorithms: table.texts("algorithms", algorithmFault),
    jwksUrl: table.text("jwksUrl"),
    scopeClaim: table.text("scopeClaim"),
    scopes: readScopes(table),
    tokenType: table.text("tokenType"),
    clockToleranceSeconds: table.number("clockToleranceSeconds", TOLERANCE),
    allowPrivate: table.texts("allowPrivate", findAllowPrivateFault),
  });
  for (const key of ["audience", "scopeClaim", "tokenType"] as const)
    if (more[key] === "") table.report(key, "must not be empty: no token would be accepted; leave it out for the default.");
  if (more.algorithms?.length === 0)
    table.report("algorithms", "must not be empty: no token would be accepted; leave it out for the default.");
  table.reportUnknownKeys();
  return issuer === undefined ? [] : [{ issuer, ...more }];
}

function readScopes(table: TableReader): ServeIssuerConfig["scopes"] {
  const scopes = table.table("scopes");
  if (scopes === undefined) return undefined;
  return Object.fromEntries(scopes.names().map((name) => [name, scopes.choices(name, SCOPES, "scope") ?? []]));
}

function readRule(table: TableReader): readonly AccessRule[] {
  const claims = table.value("claims");
  const rule = {
    ...omitUndefined({ principals: table.texts("principals"), allow: readPatterns(table, "allow"), deny: readPatterns(table, "deny") }),
    // the values are checked with the rule
    ...(isJsonObject(claims) ? { claims: claims as NonNullable<AccessRule["claims"]> } : {}),
  };
  if (claims !== undefined && !isJsonObject(claims)) table.report("claims", "must be an object of claims and their values.");
  table.reportUnknownKeys();
  const isWhole = ["principals", "claims", "allow", "deny"].every((key) => !table.has(key) || Object.hasOwn(rule, key));
  if (!isWhole) return []; // already reported
  try {
    compileAccessRule(rule, "rule");
    return [rule];
  } catch (thrown: unknown) {
    table.report(undefined, formatForOperator(thrown));
    return [];
  }
}

function algorithmFault(text: string): string | undefined {
  return /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/u.test(text) ? undefined : "is not an asymmetric algorithm such as ES256.";
}

/** Whether only the receiver can read what is sent to the address: https, or this machine. */
export function isSafeAddress(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol, hostname } = new URL(address);
  return protocol === "https:" || (protocol === "http:" && /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/u.test(hostname));
}
