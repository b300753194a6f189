/** The OAuth client of one user at one server, for the official client: all users share the registration, each has their own tokens. */
import type {
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { ToolError } from "../../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../../core/base/json.ts";
import { isWebAddress } from "../web-address.ts";
import type { LoginKey, LoginStore } from "./login-store.ts";
import { checkUsableToken } from "./watch-token-requests.ts";

type ClientMetadata = OAuthClientProvider["clientMetadata"];
type Metadata = NonNullable<OAuthDiscoveryState["authorizationServerMetadata"]>;

/** The configured client of a server's logins. */
export interface LoginClient {
  readonly clientId?: string;
  readonly clientMetadataUrl?: string;
  readonly clientSecret?: string;
  readonly scope?: string;
  readonly issuer?: string;
}

export interface UserProviderOptions {
  readonly key: LoginKey;
  readonly store: LoginStore;
  readonly client: LoginClient;
  /** The redirect address for the authorization server. */
  readonly redirectUrl: string;
  /**
   * The scopes of a client that was registered for users who granted more than the first ones, as authorization servers limit a client to the scopes
   * of its registration. @default those of the first registration
   */
  readonly clientScope?: string | undefined;
  /** The client's id at authorization servers that read metadata documents. @default none: the client registers there as well */
  readonly clientMetadataUrl?: string | undefined;
  readonly now: () => number;
}

/** A login that has begun, with the address that the person opens. */
export interface LoginRequest {
  readonly state: string;
  readonly verifier: string;
  readonly authorizationUrl: URL;
  readonly discovery: OAuthDiscoveryState | undefined;
  /** The `clientScope` of the provider that began it. */
  readonly clientScope: string | undefined;
}

/**
 * Each flow has its own instance, so that concurrent flows do not share a verifier. `redirectToAuthorization` opens no page: it sets `request`, which
 * has the address for the person.
 */
export class UserProvider implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: ClientMetadata;
  request: LoginRequest | undefined;
  readonly #options: UserProviderOptions;
  readonly #state: string;
  readonly #isEnding: boolean;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;
  /** Left out if the client is configured: then none is registered. */
  readonly saveClientInformation?: NonNullable<OAuthClientProvider["saveClientInformation"]>;

  /** @param startedLogin the login that this flow completes */
  constructor(options: UserProviderOptions, { state, startedLogin }: { readonly state: string; readonly startedLogin?: LoginRequest }) {
    this.#options = options;
    this.#state = state;
    this.#isEnding = startedLogin !== undefined;
    this.redirectUrl = options.redirectUrl;
    this.request = startedLogin;
    this.#verifier = startedLogin?.verifier ?? "";
    this.#discovery = startedLogin?.discovery;
    const { clientId, clientSecret, scope } = options.client;
    this.clientMetadata = {
      client_name: "haft",
      redirect_uris: [options.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: clientId !== undefined && clientSecret === undefined ? "none" : "client_secret_basic",
      ...(scope === undefined ? {} : { scope }),
    };
    if (clientId === undefined)
      this.saveClientInformation = (information, context) =>
        this.#options.store.set(this.#clientKey(context?.issuer ?? ""), asJson(information));
  }

  state(): string {
    return this.#state;
  }

  /**
   * The configured client, else that of the metadata document if the authorization server reads it, else a registered one.
   *
   * @throws ToolError `permission_denied` if the server names another authorization server than the configured one; `unavailable` if there is no
   * client and none can be registered; as a rejection
   */
  async clientInformation(context?: { readonly issuer: string }): Promise<StoredOAuthClientInformation | undefined> {
    const { clientId, clientSecret, issuer } = this.#options.client;
    if (issuer !== undefined && context !== undefined && context.issuer !== issuer)
      throw new ToolError("permission_denied", `It names the authorization server ${context.issuer}, but only ${issuer} is trusted.`, {
        outcome: "not_started",
      });
    if (clientId !== undefined) return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
    const document = this.#document;
    if (document !== undefined) return { client_id: document, ...omitUndefined({ issuer: context?.issuer }) };
    const kept = await this.#options.store.get(this.#clientKey(context?.issuer ?? ""));
    const { authorizationServerMetadata: metadata } = this.#discovery ?? {};
    if (kept === undefined && metadata !== undefined && metadata.registration_endpoint === undefined) throw noClientError(metadata);
    return kept as unknown as StoredOAuthClientInformation | undefined; // as it was saved
  }

  /** The address of the metadata document, if the authorization server reads it as the client's id; preferred to a registration. */
  get #document(): string | undefined {
    const isRead = this.#discovery?.authorizationServerMetadata?.client_id_metadata_document_supported === true;
    return isRead ? this.#options.clientMetadataUrl : undefined;
  }

  async tokens(): Promise<StoredOAuthTokens | undefined> {
    const { key, store } = this.#options;
    const kept = await store.get(key);
    return isJsonObject(kept?.["tokens"]) ? (kept["tokens"] as unknown as StoredOAuthTokens) : undefined; // as they were saved
  }

  /** @throws ToolError `unavailable` for a token that cannot be sent, as a rejection; earlier tokens are kept */
  async saveTokens(tokens: StoredOAuthTokens): Promise<void> {
    checkUsableToken(tokens);
    const { key, store, now, clientScope } = this.#options;
    const before = await this.tokens();
    // a refresh may leave out a refresh token that stays valid; that of an earlier login may belong to another client
    const refresh = tokens.refresh_token ?? (this.#isEnding ? undefined : before?.refresh_token);
    // an answer without a scope grants the requested scope
    const scope = tokens.scope ?? this.request?.authorizationUrl.searchParams.get("scope") ?? before?.scope;
    const all = { ...tokens, ...omitUndefined({ refresh_token: refresh, scope }) };
    const { expires_in: seconds } = tokens;
    const expiry = seconds === undefined ? {} : { expiresAt: now() + seconds * 1_000 };
    await store.set(key, {
      tokens: asJson(all),
      savedAt: now(),
      redirectUrl: this.redirectUrl,
      ...omitUndefined({ clientScope, clientMetadataUrl: this.#document }),
      ...expiry,
    });
  }

  redirectToAuthorization(authorizationUrl: URL): void {
    if (!isWebAddress(String(authorizationUrl)))
      throw new ToolError("permission_denied", "The login address of the authorization server is not an http or https address.");
    this.request = {
      state: this.#state,
      verifier: this.#verifier,
      authorizationUrl,
      discovery: this.#discovery,
      clientScope: this.#options.clientScope,
    };
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  /** Deletes refused credentials, unless this flow completes a login: a failure then keeps the earlier ones. */
  async invalidateCredentials(what: "all" | "client" | "tokens" | "verifier" | "discovery"): Promise<void> {
    if (this.#isEnding) return;
    const { key, store } = this.#options;
    if (what === "all" || what === "tokens") await store.delete(key);
    const issuer = this.#discovery?.authorizationServerMetadata?.issuer;
    if ((what === "all" || what === "client") && issuer !== undefined) await store.delete(this.#clientKey(issuer));
  }

  /** The key of the client's registration, which is valid for the redirect address of one gateway. */
  #clientKey(issuer: string): LoginKey {
    const { key, clientScope } = this.#options;
    const parts = [key.server, issuer, this.redirectUrl, ...(clientScope === undefined ? [] : [clientScope])];
    return { server: parts.join("\0"), user: "" };
  }
}

function noClientError({ issuer, client_id_metadata_document_supported: readsDocuments }: Metadata): ToolError {
  const document = readsDocuments === true ? ", or clientMetadataUrl to the address of a client's metadata document" : "";
  return new ToolError("unavailable", `The authorization server ${issuer} does not register clients automatically.`, {
    retryable: false,
    outcome: "not_started",
    operatorHint: `Set clientId in auth of the server to a client that is registered there${document}.`,
  });
}

function asJson(value: object): JsonObject {
  const copy = copyJson(value).value;
  return isJsonObject(copy) ? copy : {};
}
