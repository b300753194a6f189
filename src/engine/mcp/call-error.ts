/** Turns failures of a connection or a server into the error of a call. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { causesOf } from "../../core/base/causes.ts";
import { ToolError, describeThrown, pickHints, type ToolErrorOptions } from "../../core/error.ts";
import { isJsonObject } from "../../core/base/json.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import { ConnectionLost, RpcFailure, ServerFault, SessionLost, WorkStarted, toRpcFailure } from "./failure.ts";
import {
  ANSWER_TOO_LARGE,
  HEADER_MISMATCH,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  UNREADABLE_ANSWER,
  URL_ELICITATION_REQUIRED,
  saysNotStarted,
} from "./rpc-codes.ts";
import type { McpOptions } from "./options.ts";
import { PeerError } from "./peer.ts";
import { describePages } from "./accepted-pages.ts";
import { describeTokenFailure, isTokenFailure } from "./token-failure.ts";
import type { Wire } from "./wire.ts";

export interface CallErrorContext {
  /** The name of the server in messages. */
  readonly name: string;
  readonly server: McpOptions;
  readonly signal: AbortSignal;
  /** The transport of the request; undefined if there was none. */
  readonly wire: Wire | undefined;
}

/** The error that a call ends with. Its outcome is `unknown`, unless the server certainly did nothing, or reported a failure. */
export function callError(error: unknown, context: CallErrorContext): ToolError {
  if (error instanceof WorkStarted) return withUnknownOutcome(callError(error.cause, context));
  const { name, server, signal, wire } = context;
  if (error instanceof ToolError && error.code === "cancelled" && !(error instanceof ServerFault)) return error;
  if (signal.aborted) return new ToolError("cancelled", `The call was cancelled; MCP server "${name}" was notified.`, { cause: error });
  if (error instanceof RpcFailure) return rpcError(error, name);
  if (error instanceof SessionLost) {
    return connectionLostError(name, error.message, { outcome: "not_started", cause: error });
  }
  if (wire?.endReason !== undefined) return connectionLostError(name, wire.endReason, { details: wire.stderrTail, cause: error });
  if (error instanceof ConnectionLost) return connectionLostError(name, wire?.problem ?? error.message, { cause: error });
  const tokenFailure = createTokenFailure(error, context);
  if (tokenFailure !== undefined) return tokenFailure;
  if (error instanceof ToolError && !(error instanceof ServerFault)) return error;
  const inner = findInnerToolError(error);
  if (inner !== undefined) return withServerName(inner, name);
  const refusal = credentialProblem(server, error);
  if (refusal !== undefined)
    return new ToolError("permission_denied", `MCP server "${name}": ${refusal.reason}${formatRpcMessage(error)}.`, {
      operatorHint: refusal.operatorHint,
      outcome: "not_started", // the server refused the request itself
      cause: error,
    });
  const status = findHttpStatus(error);
  if (status !== undefined) return httpError(status, name, error);
  if (wire?.kind === "custom")
    // wrong answers of the server are a ServerFault, handled above
    return new ToolError("network_error", `The transport of MCP server "${name}" failed: ${describeThrown(error)}`, { cause: error });
  return new ToolError("invalid_output", `MCP server "${name}": ${describeThrown(error)}`, { cause: error });
}

const TOKEN_HINT = "Check `auth` of this server, and the authorization server that it names.";

/** The error of a call for which no token could be obtained, so that it was not sent or was refused; undefined if another function describes it. */
function createTokenFailure(error: unknown, { name, server }: CallErrorContext): ToolError | undefined {
  if (!isTokenFailure(error)) return undefined;
  const inner = findInnerToolError(error);
  if (inner?.outcome === "not_started" || (inner === undefined && credentialProblem(server, error) !== undefined)) return undefined;
  const { code = "unavailable", retryable = true, retryAfterMs, operatorHint } = inner ?? {};
  const isOwnCode = code === "permission_denied" || code === "rate_limited";
  return new ToolError(
    isOwnCode ? code : "unavailable",
    `MCP server "${name}": no token could be obtained: ${describeTokenFailure(inner ?? error)}.`,
    {
      outcome: "not_started",
      retryable,
      cause: error,
      ...omitUndefined({ retryAfterMs, operatorHint: isOwnCode ? operatorHint : TOKEN_HINT }),
    },
  );
}

/** The same error with the outcome `unknown`, as work has begun: a call may be repeated only if it did not start. */
function withUnknownOutcome(error: ToolError): ToolError {
  if (error.outcome === "unknown") return error;
  const { code, message, retryable, details, retryAfterMs, cause } = error;
  const options: ToolErrorOptions = {
    outcome: "unknown",
    retryable,
    details,
    cause,
    ...pickHints(error),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  if (!(error instanceof PeerError)) return new ToolError(code, message, options);
  const { rpcCode, rpcMessage, rpcData } = error;
  return new PeerError(code, message, { ...options, rpcCode, rpcMessage, rpcData });
}

function connectionLostError(name: string, reason: string, options: ToolErrorOptions): ToolError {
  return new ToolError(
    "network_error",
    `The connection to MCP server "${name}" was lost during the call: ${reason.replace(/\.$/u, "")}.`,
    options,
  );
}

/** Puts the server's name before the message of an error from Haft. */
function withServerName(error: ToolError, name: string): ToolError {
  const { code, retryable, outcome, details, retryAfterMs } = error;
  const options = { retryable, outcome, details, cause: error, ...pickHints(error) };
  return new ToolError(code, `MCP server "${name}": ${error.message}`, retryAfterMs === undefined ? options : { ...options, retryAfterMs });
}

function rpcError(failure: RpcFailure, name: string): PeerError {
  const isRefusal = findHttpStatus(failure.cause) !== undefined; // it came with an HTTP error status
  const options = {
    rpcCode: failure.code,
    rpcMessage: failure.message,
    rpcData: failure.data,
    cause: failure,
    ...(isRefusal ? { outcome: "failed" as const } : {}),
  };
  const createError = (code: ErrorCode, more: ToolErrorOptions = {}): PeerError =>
    new PeerError(code, `MCP server "${name}": ${failure.message}`, { ...options, ...more });
  switch (failure.code) {
    case INVALID_PARAMS:
      return createError("invalid_input", { outcome: "failed" });
    case METHOD_NOT_FOUND:
      return createError("execution_failed", { outcome: "not_started" });
    case ANSWER_TOO_LARGE:
      return createError("too_large", { outcome: "unknown", hint: "Ask for less, or in several calls." }); // the call was made
    case UNREADABLE_ANSWER:
      return createError("invalid_output");
    case URL_ELICITATION_REQUIRED: // the server refused the call, which is to be made again after the visit
      return createError("execution_failed", { outcome: "failed", ...omitUndefined({ hint: describePages(failure.data) }) });
    case HEADER_MISMATCH:
      return createError("unavailable", {
        retryable: true,
        hint: "The tool's definition has changed; the server's tools are listed again.",
      });
    case MISSING_CAPABILITY:
      return createError("unavailable", {
        operatorHint: "The server requires a capability that was not offered to it, such as sampling or roots.",
      });
    default:
      return saysNotStarted(failure.data)
        ? createError("unavailable", { retryable: true, outcome: "not_started" })
        : createError("execution_failed");
  }
}

/** The error for an HTTP status. With a 4xx the request was refused; after a 5xx or 408 the call may have taken effect. */
function httpError(status: number, name: string, error: unknown): ToolError {
  const rpcMessage = formatRpcMessage(error);
  const message = `MCP server "${name}" answered with HTTP ${status}${rpcMessage}.`;
  if (status >= 500 || status === 408) return new ToolError("network_error", message, { cause: error });
  return new ToolError("execution_failed", message, { outcome: "failed", cause: error });
}

interface CredentialProblem {
  readonly reason: string;
  readonly operatorHint: string;
}

/** Names of the official client's errors about an authorization server. It is asked after the server has refused a request. */
const TOKEN_REFUSALS: ReadonlySet<string> = new Set([
  "OAuthError",
  "IssuerMismatchError",
  "AuthorizationServerMismatchError",
  "InsecureTokenEndpointError",
  "RegistrationRejectedError",
]);

/** The problem of the credentials; undefined if the error is not about credentials. */
export function credentialProblem(server: McpOptions, error: unknown): CredentialProblem | undefined {
  const scope = findMissingScope(error);
  if (scope !== undefined)
    return {
      reason: `it requires the scope ${scope} (HTTP 403)`,
      operatorHint: "Use credentials that have the scope, and name it in `scope` of `auth` if that is set.",
    };
  const refusal = tokenProblem(error);
  if (refusal !== undefined) return refusal;
  const status = findHttpStatus(error) ?? (hasErrorName(error, "UnauthorizedError") ? 401 : undefined);
  if (status !== 401 && status !== 403) return undefined;
  if (status === 403) {
    return {
      reason: "it does not allow this (HTTP 403)",
      operatorHint: "Ask the operator of the server for the permission, or use other credentials.",
    };
  }
  return missingCredentials(server);
}

/** The problem of credentials that an authorization server refused, or that were not sent to it; undefined for another error. */
function tokenProblem(error: unknown): CredentialProblem | undefined {
  const refused = [...causesOf(error)].find(
    (each) => each instanceof ToolError || (each instanceof Error && TOKEN_REFUSALS.has(each.name)),
  );
  if (refused === undefined || refused instanceof ToolError) return undefined; // a ToolError says more
  return {
    reason: `no token could be obtained: ${describeThrown(refused).replace(/\.$/u, "")}`,
    operatorHint: "Check the credentials and the issuer in `auth` of this server.",
  };
}

/** The problem of credentials that a server answered with 401. */
function missingCredentials(server: McpOptions): CredentialProblem {
  const { headers = {}, auth, url = "" } = server.url === undefined ? {} : server;
  const given = auth !== undefined || Object.keys(headers).length > 0 || /\/\/[^/]*@/u.test(String(url));
  if (!given)
    return {
      reason: "it requires credentials (HTTP 401)",
      operatorHint: 'Give this server `auth`, such as { type: "bearer", token } or { type: "user-login" }, or `headers`.',
    };
  if (auth?.type === "oauth") {
    return {
      reason: "there is no login (HTTP 401)",
      operatorHint:
        "redirectToAuthorization" in auth.provider
          ? "Log in at the address that `redirectToAuthorization` was called with, and let `callback` return the answer."
          : "The server refused the token, or there was none: look at how `auth` of this server gets its tokens.",
    };
  }
  return {
    reason: "it refused the credentials (HTTP 401)",
    operatorHint: "Check the token or password in `auth` or `headers` of this server; it may have expired.",
  };
}

/** The scopes, separated by spaces, that the token lacks; undefined if the request was refused for another reason. */
export function findMissingScope(error: unknown): string | undefined {
  for (const each of causesOf(error)) {
    if (!hasErrorName(each, "InsufficientScopeError")) continue;
    const scope: unknown = Reflect.get(Object(each), "requiredScope");
    if (typeof scope === "string" && SCOPES.test(scope)) return scope;
  }
  return undefined;
}

/** @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3 */
const SCOPES = /^[\u0020\u0021\u0023-\u005b\u005d-\u007e]{1,1000}$/u;

/** The status of a failed HTTP request, from any error in the chain of causes. */
export function findHttpStatus(error: unknown): number | undefined {
  for (const each of causesOf(error)) {
    if (!(each instanceof Error)) continue;
    const data: unknown = "data" in each ? each.data : undefined;
    if (typeof data === "object" && data !== null && "status" in data && typeof data.status === "number") return data.status;
    if ("event" in each && "code" in each && typeof each.code === "number") return each.code; // of the older transport's stream
    const posted = POST_ERROR.exec(each.message)?.[1]; // of the older transport's messages
    if (posted !== undefined) return Number(posted);
  }
  return undefined;
}

function formatRpcMessage(error: unknown): string {
  const message = findRpcFailure(error)?.message;
  return message === undefined ? "" : `: ${message.replace(/\.$/u, "")}`;
}

/** The protocol error in the body of a 4xx answer. Undefined for 401, 403 and 408, whose status itself says what is wrong. */
export function findRefusal(error: unknown): RpcFailure | undefined {
  const status = findHttpStatus(error) ?? 0;
  const isRefusal = status >= 400 && status < 500 && status !== 401 && status !== 403 && status !== 408;
  return isRefusal ? findRpcFailure(error) : undefined;
}

/** The protocol error in the body of a failed HTTP request. */
export function findRpcFailure(error: unknown): RpcFailure | undefined {
  for (const each of causesOf(error)) {
    if (!(each instanceof Error)) continue;
    const data: unknown = "data" in each ? each.data : undefined;
    const text = isJsonObject(data) ? data["text"] : POST_ERROR.exec(each.message)?.[2];
    if (typeof text !== "string") continue;
    try {
      const message = parseJson(text, { longIntegers: "string" });
      if (isJsonObject(message) && isJsonObject(message["error"])) return toRpcFailure(message["error"], { cause: error });
    } catch {
      // a body that is not JSON
    }
  }
  return undefined;
}

/** Matches the message of the older transport's error. */
const POST_ERROR = /^Error POSTing to endpoint \(HTTP (\d{3})\)(?:: (.*))?/su;

/** The ToolError that the official client has wrapped. */
export function findInnerToolError(error: unknown): ToolError | undefined {
  for (const each of causesOf(error)) if (each instanceof ToolError) return each;
  return undefined;
}

export function hasErrorName(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}
