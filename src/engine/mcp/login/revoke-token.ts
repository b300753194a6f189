/** Tells an authorization server that a token is no longer used (RFC 7009). */
import type { FetchLike } from "@modelcontextprotocol/client";
import { ToolError } from "../../../core/error.ts";
import { clientCredentials } from "../../../net/basic-credentials.ts";
import type { Tokens } from "./login-tokens.ts";
import type { UserProvider } from "./user-provider.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

export interface Revocation {
  readonly url: URL;
  readonly sdk: ClientModule;
  readonly fetch: FetchLike;
  readonly provider: UserProvider;
  readonly tokens: Tokens;
}

/**
 * Revokes the refresh token, else the access token. Does nothing where the authorization server offers no revocation.
 *
 * @throws ToolError `permission_denied` where the server names another authorization server than the one that gave the tokens, which are not sent to it then;
 * `network_error` for an answer that is an error; what the requests throw. By rejecting
 */
export async function revokeToken({ url, sdk, fetch, provider, tokens }: Revocation): Promise<void> {
  const found = await sdk.discoverOAuthServerInfo(url, { fetchFn: fetch });
  provider.saveDiscoveryState(found); // the client's id depends on it
  const { authorizationServerMetadata: metadata } = found;
  const endpoint: unknown = metadata === undefined ? undefined : Reflect.get(metadata, "revocation_endpoint");
  const client = metadata === undefined ? undefined : await provider.clientInformation({ issuer: metadata.issuer });
  if (tokens.issuer !== undefined && metadata !== undefined && metadata.issuer !== tokens.issuer)
    throw new ToolError(
      "permission_denied",
      `The token is of the authorization server ${tokens.issuer}, and the MCP server now names ${metadata.issuer}.`,
    );
  if (typeof endpoint !== "string" || client === undefined) return;
  sdk.assertSecureTokenEndpoint(endpoint);
  // Revoking a refresh token also ends the access tokens that were made with it (RFC 7009, section 2.1).
  const { access_token: access, refresh_token: refresh } = tokens;
  const body = new URLSearchParams({ token: refresh ?? access, token_type_hint: refresh === undefined ? "access_token" : "refresh_token" });
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  const { client_id: id, client_secret: secret } = client;
  const methods: unknown = Reflect.get(metadata ?? {}, "revocation_endpoint_auth_methods_supported");
  const isPosted = Array.isArray(methods) && !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
  if (secret === undefined || isPosted) body.set("client_id", id);
  if (secret !== undefined && isPosted) body.set("client_secret", secret);
  else if (secret !== undefined) headers.set("authorization", `Basic ${clientCredentials(id, secret)}`);
  const response = await fetch(endpoint, { method: "POST", headers, body, redirect: "error" });
  await response.body?.cancel();
  if (!response.ok) throw new ToolError("network_error", `The authorization server answered the revocation with HTTP ${response.status}.`);
}
