/** Revokes a token at its authorization server (RFC 7009). */
import type { FetchLike } from "@modelcontextprotocol/client";
import { ToolError } from "../../../core/error.ts";
import { encodeClientCredentials } from "../../../net/basic-credentials.ts";
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
 * Revokes the refresh token, else the access token. Does nothing if the authorization server does not support revocation.
 *
 * @throws ToolError `permission_denied` if the server names another authorization server than the issuer of the tokens, which are not sent then;
 * `network_error` for an error response; errors of the requests; as a rejection
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
      `The token is from the authorization server ${tokens.issuer}, but the MCP server now names ${metadata.issuer}.`,
    );
  if (typeof endpoint !== "string" || client === undefined) return;
  sdk.assertSecureTokenEndpoint(endpoint);
  // revoking a refresh token also revokes its access tokens (RFC 7009, section 2.1)
  const { access_token: access, refresh_token: refresh } = tokens;
  const body = new URLSearchParams({ token: refresh ?? access, token_type_hint: refresh === undefined ? "access_token" : "refresh_token" });
  const headers = new Headers({ "content-type": "application/x-www-form-urlencoded" });
  const { client_id: id, client_secret: secret } = client;
  const methods: unknown = Reflect.get(metadata ?? {}, "revocation_endpoint_auth_methods_supported");
  const isPosted = Array.isArray(methods) && !methods.includes("client_secret_basic") && methods.includes("client_secret_post");
  if (secret === undefined || isPosted) body.set("client_id", id);
  if (secret !== undefined && isPosted) body.set("client_secret", secret);
  else if (secret !== undefined) headers.set("authorization", `Basic ${encodeClientCredentials(id, secret)}`);
  const response = await fetch(endpoint, { method: "POST", headers, body, redirect: "error" });
  await response.body?.cancel();
  if (!response.ok) throw new ToolError("network_error", `The authorization server answered the revocation with HTTP ${response.status}.`);
}
