/** Renews the tokens of a user, or begins a login where that is not possible. */
import type { FetchLike } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { causesOf } from "../../../core/base/causes.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../core/base/json.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { parseJson } from "../../../core/base/parse-json.ts";
import { fetchUntil } from "./login-flows.ts";
import type { LoginRequest, UserProvider } from "./user-provider.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

/** The answer of a server to a call without a valid token. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

export interface Authorization {
  readonly server: { readonly url: URL; readonly sdk: ClientModule; readonly fetch: FetchLike };
  readonly challenge: Challenge | undefined;
  readonly signal: AbortSignal;
  /** Whether a login begins although there may be tokens that could be renewed. @default false */
  readonly forceReauthorization?: boolean;
}

/**
 * Resolves to undefined where the provider has new tokens.
 *
 * @throws ToolError `unavailable`, retryable, for a renewal that the authorization server neither granted nor refused; the reason of the signal. By
 * rejecting
 */
export async function authorize(provider: UserProvider, options: Authorization): Promise<LoginRequest | undefined> {
  const { server, challenge: { resourceMetadataUrl, scope } = {}, signal, forceReauthorization = false } = options;
  const renewal = watchRenewal(fetchUntil(server.fetch, signal));
  const challenge = omitUndefined({ resourceMetadataUrl, scope });
  try {
    const way = await server.sdk.auth(provider, { serverUrl: server.url, fetchFn: renewal.fetch, forceReauthorization, ...challenge });
    if (way === "AUTHORIZED") return undefined;
  } catch (thrown: unknown) {
    signal.throwIfAborted();
    throw renewal.error() ?? thrown;
  }
  signal.throwIfAborted(); // a renewal that was not answered was not refused
  const failed = renewal.error();
  if (failed !== undefined) throw failed;
  if (provider.request === undefined) throw new ToolError("unavailable", "It began no login.");
  return provider.request;
}

/** Errors with which an authorization server does not refuse a renewal. @see https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
const PASSING: ReadonlySet<JsonValue | undefined> = new Set(["server_error", "temporarily_unavailable", "slow_down"]);

/** The official client begins a login after every renewal that fails, and does not say why it failed. */
function watchRenewal(fetch: FetchLike): { readonly fetch: FetchLike; error(): ToolError | undefined } {
  let fault: string | undefined;
  const renew: FetchLike = async (url, init) => {
    try {
      const response = await fetch(url, init);
      const text = await response.text();
      const body = objectIn(text);
      const { error } = body;
      const isRefused = typeof error === "string" && !PASSING.has(error);
      fault = isRefused || (response.ok && typeof body["access_token"] === "string") ? undefined : `it answered ${response.status}`;
      return new Response(text, response);
    } catch (thrown: unknown) {
      fault = describeThrown(thrown).replace(/\.$/u, "");
      throw thrown;
    }
  };
  return {
    fetch: (url, init) => (isRenewal(init?.body) ? renew(url, init) : fetch(url, init)),
    error: () => (fault === undefined ? undefined : notRenewed(fault)),
  };
}

function notRenewed(fault: string): ToolError {
  return new ToolError("unavailable", `The token could not be renewed now: ${fault}.`, {
    retryable: true,
    outcome: "not_started",
    operatorHint: "The login is kept. Where the authorization server never renews it, log out and in again.",
  });
}

function isRenewal(body: unknown): boolean {
  return body instanceof URLSearchParams && body.get("grant_type") === "refresh_token";
}

function objectIn(text: string): JsonObject {
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** An error of ours that the official client has wrapped says more than the wrapper. */
export function notBegun(server: string, thrown: unknown): ToolError {
  const inner = [...causesOf(thrown)].find((each): each is ToolError => each instanceof ToolError);
  const { code, retryable, operatorHint } = inner ?? ToolError.fromUnknown(thrown, "unavailable");
  const reason = describeThrown(inner ?? thrown).replace(/\.$/u, "");
  const options = { retryable, outcome: "not_started", cause: thrown, ...(operatorHint === undefined ? {} : { operatorHint }) } as const;
  return new ToolError(code, `No login to MCP server "${server}" could be begun: ${reason}.`, options);
}
