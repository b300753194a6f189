/** The options of an MCP server over HTTP, and their defaults. */
import { findAllowedOriginProblem } from "../../core/base/page-origin.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import type { OptionNames } from "../../core/known-keys.ts";
import type { Authenticator } from "../auth/principal.ts";
import { SERVER_OPTIONS, checkIntegers, type McpServerOptions } from "./options.ts";

export interface McpHttpOptions extends McpServerOptions {
  /** Host names that requests may be sent to, without ports; an empty array refuses every request. @default names of this machine only */
  readonly allowedHosts?: readonly string[];
  /** Other pages that may send requests, besides the server's own: origins such as `https://app.example`, or hosts with any port. @default none */
  readonly allowedOrigins?: readonly string[];
  /** The token that every request must have: `Authorization: Bearer <token>`. At least 16 visible characters of ASCII. @default no token is needed */
  readonly token?: string;
  /**
   * Authenticates requests, in place of `token`. A principal needs the scope `execute`. Sessions and tasks belong to the principal that began them.
   * Its credentials are not stored, and never sent to another server. The rules of `openServerAccess` apply, besides `toolsFor`. Session keys are
   * refused.
   */
  readonly authenticator?: Authenticator;
  /** Maximum size of a request body, in bytes. @default 4_194_304 */
  readonly maxBodyBytes?: number;
  /** Maximum number of messages in one request; only the older revision allows several. @default 16 */
  readonly maxBatch?: number;
  /** Maximum sessions of clients of the older revision. A new one ends the one idle longest, of the caller with the most. @default 1_000 */
  readonly maxSessions?: number;
  /** How long a session may be idle, in milliseconds. @default 1_800_000 */
  readonly sessionIdleMs?: number;
  /** How long `close` waits for running calls before it cancels them, in milliseconds. @default 10_000 */
  readonly graceMs?: number;
}

export const HTTP_OPTIONS: OptionNames<McpHttpOptions> = {
  ...SERVER_OPTIONS,
  allowedHosts: "strings",
  allowedOrigins: "strings",
  token: "string",
  authenticator: "object",
  maxBodyBytes: true,
  maxBatch: true,
  maxSessions: true,
  sessionIdleMs: true,
  graceMs: true,
};

/** The options of MCP at `/mcp` of a server of `haft/server`, which has hosts, origins, authentication and further limits of its own. */
export const MOUNTED_OPTIONS: OptionNames<McpServerOptions & Pick<McpHttpOptions, "maxBatch" | "maxSessions">> = {
  ...SERVER_OPTIONS,
  maxBatch: true,
  maxSessions: true,
};

export interface HttpSettings {
  readonly allowedHosts: readonly string[];
  /** Accepted origins besides the server's own; a port is part of an origin. */
  readonly allowedOrigins: readonly string[] | undefined;
  readonly token: string | undefined;
  readonly authenticator: Authenticator | undefined;
  readonly maxBodyBytes: number;
  readonly maxBatch: number;
  readonly maxSessions: number;
  readonly sessionIdleMs: number;
  readonly graceMs: number;
}

/** Host names of this machine. */
export const LOCAL_HOST_NAMES: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];
const MIN_TOKEN_LENGTH = 16;
const VISIBLE_ASCII = /^[\u0021-\u007e]+$/u;

/** Applies the defaults. @throws ToolError `invalid_argument` for an invalid option */
export function httpSettingsOf(options: McpHttpOptions): HttpSettings {
  const { maxBodyBytes = 4_194_304, maxBatch = 16, maxSessions = 1_000, sessionIdleMs = 1_800_000, graceMs = 10_000, token } = options;
  checkIntegers({ maxBodyBytes, maxBatch, maxSessions, sessionIdleMs }, 1);
  checkIntegers({ graceMs }, 0);
  if (token !== undefined && token.length < MIN_TOKEN_LENGTH)
    throw new ToolError("invalid_argument", `The token of an MCP server must have at least ${MIN_TOKEN_LENGTH} characters.`);
  if (token !== undefined && !VISIBLE_ASCII.test(token))
    throw new ToolError("invalid_argument", "The token of an MCP server has a character that clients cannot send in a bearer token.", {
      hint: "Use letters, digits and punctuation of ASCII only, without spaces and without a line break at the end.",
    });
  if (token !== undefined && options.authenticator !== undefined)
    throw new ToolError("invalid_argument", "An MCP server takes a token or an authenticator, not both.");
  return {
    allowedHosts: (options.allowedHosts ?? LOCAL_HOST_NAMES).map((name) => name.toLowerCase()),
    allowedOrigins: options.allowedOrigins?.map(normalizeOrigin),
    token,
    authenticator: options.authenticator,
    maxBodyBytes,
    maxBatch,
    maxSessions,
    sessionIdleMs,
    graceMs,
  };
}

/** Checks and normalizes one of `allowedOrigins`. @throws ToolError `invalid_argument` for an origin that no page has */
export function normalizeOrigin(allowed: string): string {
  const fault = findAllowedOriginProblem(allowed);
  if (fault !== undefined) throw new ToolError("invalid_argument", `The allowed origin ${quoteValue(allowed)} ${fault}`);
  return allowed.toLowerCase();
}

/** Whether an address can be reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  return host === "localhost" || host === "::1" || /^127(?:\.\d{1,3}){3}$/u.test(host);
}
