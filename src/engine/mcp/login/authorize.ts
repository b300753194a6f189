/** Renews the tokens of a user, or begins a login if that is not possible. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { ToolError } from "../../../core/error.ts";
import { causesOf } from "../../../core/base/causes.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { describeTokenFailure } from "../token-failure.ts";
import { fetchWithSignal } from "./login-flows.ts";
import type { LoginKey } from "./login-store.ts";
import type { LoginRequest, UserProvider } from "./user-provider.ts";
import { tokenError, watchTokenRequests, type WatchedRequests } from "./watch-token-requests.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

/** A server's answer to a call without a valid token. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

export interface AuthorizeOptions {
  readonly server: { readonly url: URL; readonly sdk: ClientModule; readonly fetch: FetchLike };
  readonly challenge: Challenge | undefined;
  readonly signal: AbortSignal;
  /** Whether to begin a login even if there may be tokens to renew. @default false */
  readonly forceReauthorization?: boolean;
}

/**
 * Resolves to undefined if the provider has new tokens, else to the login that has begun.
 *
 * @throws ToolError `unavailable`, retryable, if the authorization server neither granted nor refused the renewal; `permission_denied` if its address
 * is not allowed; the reason of the signal; as a rejection
 */
export async function authorize(provider: UserProvider, options: AuthorizeOptions): Promise<LoginRequest | undefined> {
  const { server, challenge: { resourceMetadataUrl, scope } = {}, signal, forceReauthorization = false } = options;
  const renewal = watchTokenRequests(fetchWithSignal(server.fetch, signal), "refresh_token");
  const challenge = omitUndefined({ resourceMetadataUrl, scope: provider.clientMetadata.scope ?? scope });
  try {
    const result = await server.sdk.auth(provider, { serverUrl: server.url, fetchFn: renewal.fetch, forceReauthorization, ...challenge });
    if (result === "AUTHORIZED") return undefined;
  } catch (thrown: unknown) {
    signal.throwIfAborted();
    throw renewal.fault === undefined ? thrown : renewalError(renewal.fault);
  }
  signal.throwIfAborted(); // a renewal without an answer was not refused
  if (renewal.fault !== undefined) throw renewalError(renewal.fault);
  if (provider.request === undefined) throw new ToolError("unavailable", "It did not start a login.");
  return provider.request;
}

function renewalError(fault: NonNullable<WatchedRequests["fault"]>): ToolError {
  return tokenError("The token could not be renewed", fault, {
    operatorHint: "The login is kept. If the authorization server never renews it, log out and log in again.",
  });
}

/** The error for a login that could not begin. A ToolError that the official client has wrapped is used in place of the wrapper. */
export function loginStartError(server: string, thrown: unknown): ToolError {
  const inner = [...causesOf(thrown)].find((each): each is ToolError => each instanceof ToolError);
  const { code, retryable, operatorHint } = inner ?? ToolError.fromUnknown(thrown, "unavailable");
  const reason = describeTokenFailure(inner ?? thrown);
  const options = { retryable, outcome: "not_started", cause: thrown, ...(operatorHint === undefined ? {} : { operatorHint }) } as const;
  return new ToolError(code, `No login to MCP server "${server}" could be started: ${reason}.`, options);
}

/** The error of a call that needs scopes which the user's last login requested but did not get. @param scope space-separated */
export function scopeNotGrantedError({ server, user }: LoginKey, scope: string): ToolError {
  return new ToolError(
    "permission_denied",
    `The server ${server} requires the scope ${scope}, which its authorization server did not grant when the user logged in for it.`,
    {
      outcome: "not_started",
      retryable: false,
      hint: "Continue without this call, or tell the user that their account lacks the scope.",
      operatorHint: `Grant the scope to the user ${JSON.stringify(user)} there, who then logs out of ${server} and in again.`,
    },
  );
}
