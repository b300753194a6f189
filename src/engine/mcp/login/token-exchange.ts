/** Gets tokens of users by RFC 8693: the authorization server exchanges a token of the user's identity provider. */
import type { AuthProvider, OAuthClientProvider, StoredOAuthTokens } from "@modelcontextprotocol/client";
import { causesOf } from "../../../core/base/causes.ts";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import type { Clock } from "../../../core/ports.ts";
import { withTimeLimit } from "../../../processes/sleep.ts";
import type { McpTokenExchangeAuth } from "../options.ts";
import { refusedTokenOf } from "../refused-token.ts";
import { fetchWithSignal } from "./login-flows.ts";
import type { LoginServer } from "./user-logins.ts";
import { checkUsableToken, tokenError, watchTokenRequests } from "./watch-token-requests.ts";

type TokenExchange = Omit<McpTokenExchangeAuth, "type" | "listWith">;

const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
/** @see https://www.rfc-editor.org/rfc/rfc8693#section-2.2.2 */
const REFUSAL_CODES: ReadonlySet<unknown> = new Set([
  "invalid_grant",
  "invalid_request",
  "invalid_target",
  "invalid_scope",
  "access_denied",
]);
/** How long before its expiry a token is replaced, so that it is still valid when it arrives, in milliseconds. */
const RENEW_EARLY_MS = 10_000;
/** A refusal within this time after a renewal, in milliseconds, is that of a request with the old token. */
const JUST_RENEWED_MS = 1_000;
/** Longest time of an exchange, in milliseconds: all calls of the user wait for it. */
const EXCHANGE_TIMEOUT_MS = 30_000;

/** The tokens of one user, in memory. */
export class ExchangedTokens implements AuthProvider {
  readonly #server: Omit<LoginServer, "client" | "onLogin" | "onLogout">;
  readonly #provider: ExchangeProvider;
  readonly #clock: Clock;
  #renewing: Promise<void> | undefined;
  #renewedAt: number | undefined;

  constructor(
    server: Omit<LoginServer, "client" | "onLogin" | "onLogout">,
    exchange: TokenExchange,
    { user, clock }: { readonly user: string; readonly clock: Clock },
  ) {
    this.#server = server;
    this.#clock = clock;
    this.#provider = new ExchangeProvider(exchange, user);
  }

  /** The tokens that must not appear in messages. */
  get secrets(): Readonly<Record<string, string>> {
    const { subjectToken, currentTokens } = this.#provider;
    return { "subject token": subjectToken, token: currentTokens?.access_token ?? "" };
  }

  async token(): Promise<string | undefined> {
    const { currentTokens } = this.#provider;
    const livesMs = currentTokens?.expires_in === undefined ? Infinity : currentTokens.expires_in * 1_000 - RENEW_EARLY_MS;
    if (currentTokens === undefined || this.#clock.now() - (this.#renewedAt ?? 0) >= livesMs) await this.#renew();
    return this.#provider.currentTokens?.access_token;
  }

  async onUnauthorized({ response }: { readonly response: Response }): Promise<void> {
    if (this.#provider.currentTokens !== undefined && refusedTokenOf(response) !== this.#provider.currentTokens.access_token) return;
    if (this.#renewedAt !== undefined && this.#clock.now() - this.#renewedAt < JUST_RENEWED_MS) return;
    await this.#renew();
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#exchange().finally(() => (this.#renewing = undefined));
    return this.#renewing;
  }

  async #exchange(): Promise<void> {
    const { url, sdk, fetch } = this.#server;
    await withTimeLimit({ clock: this.#clock, limitMs: EXCHANGE_TIMEOUT_MS }, async (signal) => {
      const requests = watchTokenRequests(fetchWithSignal(fetch, signal), GRANT);
      try {
        await rejectOnAbort(sdk.auth(this.#provider, { serverUrl: url, fetchFn: requests.fetch }), signal);
      } catch (thrown: unknown) {
        const { fault } = requests;
        throw fault === undefined
          ? toRefusalError(thrown)
          : tokenError("The token of the user could not be exchanged", fault, { cause: thrown });
      }
    });
    this.#renewedAt = this.#clock.now();
  }
}

/** The error if the authorization server refused the user's token; any other error is returned as it is. */
function toRefusalError(thrown: unknown): unknown {
  const code = [...causesOf(thrown)].find((each) => each instanceof Error && "code" in each && REFUSAL_CODES.has(each.code));
  if (code === undefined) return thrown;
  return new ToolError("permission_denied", `The token of the user was not exchanged: ${describeThrown(thrown)}`, {
    retryable: false,
    outcome: "not_started",
    cause: thrown,
  });
}

class ExchangeProvider implements OAuthClientProvider {
  readonly redirectUrl = undefined;
  readonly clientMetadata: OAuthClientProvider["clientMetadata"];
  currentTokens: StoredOAuthTokens | undefined;
  subjectToken = "";
  readonly #exchange: TokenExchange;
  readonly #user: string;

  constructor(exchange: TokenExchange, user: string) {
    this.#exchange = exchange;
    this.#user = user;
    const { scope } = exchange;
    this.clientMetadata = { client_name: "haft", redirect_uris: [], grant_types: [GRANT], ...(scope === undefined ? {} : { scope }) };
  }

  /** @throws ToolError `permission_denied` for another authorization server than the configured one */
  clientInformation(context?: { readonly issuer: string }): { readonly client_id: string; readonly client_secret: string } {
    const { issuer, clientId, clientSecret } = this.#exchange;
    if (context !== undefined && context.issuer !== issuer)
      throw new ToolError("permission_denied", `It names the authorization server ${context.issuer}, but only ${issuer} is trusted.`, {
        outcome: "not_started",
      });
    return { client_id: clientId, client_secret: clientSecret };
  }

  async prepareTokenRequest(scope?: string): Promise<URLSearchParams> {
    const { subjectToken, subjectTokenType = ACCESS_TOKEN, scope: wanted = scope } = this.#exchange;
    this.subjectToken = await subjectToken(this.#user);
    return new URLSearchParams({
      grant_type: GRANT,
      subject_token: this.subjectToken,
      subject_token_type: subjectTokenType,
      ...(wanted === undefined || wanted === "" ? {} : { scope: wanted }),
    });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.currentTokens;
  }

  /** @throws ToolError `unavailable` for a token that cannot be sent */
  saveTokens(tokens: StoredOAuthTokens): void {
    checkUsableToken(tokens);
    this.currentTokens = tokens;
  }

  redirectToAuthorization(): void {
    throw new ToolError("permission_denied", "It requires a person to log in, but its tokens are obtained by token exchange.");
  }

  saveCodeVerifier(): void {
    // there is no code
  }

  codeVerifier(): string {
    return "";
  }
}
