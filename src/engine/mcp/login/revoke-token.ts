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

/** Does nothing where the server offers no revocation. @throws what fails, and where another authorization server has taken the place of the one that gave the tokens, by rejecting */
export async function revokeToken({ url, sdk, fetch, provider, tokens }: Revocation): Promise<void> {
  const { authorizationServerMetadata: metadata } = await sdk.discoverOAuthServerInfo(url, { fetchFn: fetch });
  const endpoint: unknown = metadata === undefined ? undefined : Reflect.get(metadata, "revocation_endpoint");
  const client = metadata === undefined ? undefined : await provider.clientInformation({ issuer: metadata.issuer });
  if (tokens.issuer !== undefined && metadata !== undefined && metadata.issuer !== tokens.issuer)
    throw new ToolError("permission_denied", `it is of ${tokens.issuer}, and the server names ${metadata.issuer} now`);
  if (typeof endpoint !== "string" || client === undefined) return;
  sdk.assertSecureTokenEndpoint(endpoint);
  // A refresh token takes the tokens that came of it along.
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
  if (!response.ok) throw new ToolError("network_error", `it answered with HTTP ${response.status}`);
}
