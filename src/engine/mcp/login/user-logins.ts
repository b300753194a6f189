/** The logins of users to MCP servers that require each user to log in: begins, ends, renews and revokes them. */
import type { AuthProvider, FetchLike } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import type { Clock, Log } from "../../../core/ports.ts";
import { createRedactor, type Redact } from "../../../core/secrets/redact.ts";
import { safeLog } from "../../../core/system/safe-log.ts";
import { systemPorts } from "../../../core/system/system-ports.ts";
import { isSameSecret, createSecret } from "../../../net/secret.ts";
import { refusedTokenOf } from "../refused-token.ts";
import { describeTokenFailure } from "../token-failure.ts";
import { authorize, loginStartError, scopeNotGrantedError, type Challenge } from "./authorize.ts";
import { DOCUMENT_PATH, selectClientDocument, documentResponse } from "./client-document.ts";
import { LoginFlows, fetchWithSignal } from "./login-flows.ts";
import { messagePage, confirmPage, authorizationError, unknownLoginPage } from "./login-pages.ts";
import { fileLoginStore, memoryLoginStore, type LoginKey, type LoginStore } from "./login-store.ts";
import { toUserLogin, redactTokens, readTokens, widenScope, findWithheldScope, type Tokens, type UserLogin } from "./login-tokens.ts";
import { checkOptions, type UserLoginsOptions } from "./logins-options.ts";
import { CALLBACK_PATH, LOGIN_PATH, PageAddresses } from "./page-addresses.ts";
import { PendingLogins, readCookie, cookieNameOf, loginKeyText, type PendingLogin } from "./pending-logins.ts";
import { revokeToken } from "./revoke-token.ts";
import { UserProvider, type LoginClient, type LoginRequest, type UserProviderOptions } from "./user-provider.ts";

/** An MCP server whose users log in. */
export interface LoginServer {
  readonly url: URL;
  readonly client: LoginClient;
  readonly sdk: typeof import("@modelcontextprotocol/client");
  readonly fetch: FetchLike;
  /** Called when a user has logged in (`onLogin`) or out (`onLogout`). */
  onLogin(user: string): void;
  onLogout(user: string): void;
}

/** A server's refusal of a token. */
interface Refusal {
  /** The refused token; undefined if none was sent. */
  readonly token: string | undefined;
  readonly challenge: Challenge;
  /** Whether the token is valid but lacks scopes. @default false */
  readonly isNarrow?: boolean;
}

const DEFAULT_LOGIN_MS = 600_000;
/** A refusal within this time after a renewal, in milliseconds, is that of a request with the old token. */
const JUST_RENEWED_MS = 1_000;

/**
 * Logins of users, one for each user and server. Pass it to `auth` of the toolsets and to the server that the users' browsers reach.
 *
 * A login ends in the process in which it began, and in the browser that continued it. A user's tokens are never used for another user.
 *
 * @throws ToolError `invalid_argument` if `origin` is not an origin
 */
export class UserLogins {
  readonly #store: LoginStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #servers = new Map<string, LoginServer>();
  readonly #pending: PendingLogins;
  /** Requests for a user's tokens in progress, by user and server. */
  readonly #tokenRequests = new Map<string, Promise<void>>();
  readonly #flows: LoginFlows;
  readonly #renewedAt = new Map<string, number>();
  readonly #addresses = new PageAddresses();

  constructor(options: UserLoginsOptions = {}) {
    checkOptions(options);
    const { origin, folder, loginMs, ports = {} } = options;
    if (origin !== undefined) this.setOrigin(origin);
    this.#clock = ports.clock ?? systemPorts.clock;
    this.#log = safeLog(ports.log ?? systemPorts.log);
    this.#flows = new LoginFlows(this.#clock);
    this.#store = folder === undefined ? memoryLoginStore() : fileLoginStore(folder, this.#log);
    this.#pending = new PendingLogins({ clock: this.#clock, loginMs: loginMs ?? DEFAULT_LOGIN_MS });
  }

  /**
   * Sets the origin of the pages, unless the options did: for a port that is known only after listening.
   *
   * @throws ToolError `invalid_argument` if it is not an origin
   */
  setOrigin(origin: string): void {
    this.#addresses.setOrigin(origin);
  }

  /** Sets the path of the server with the pages, such as `/haft`, which follows the origin in their addresses. Called by `createServer`. */
  setBasePath(basePath: string): void {
    this.#addresses.setBasePath(basePath);
  }

  /** @internal Whether the pages have an address, so that a login can begin here. */
  get acceptsLogins(): boolean {
    return this.#addresses.origin !== undefined;
  }

  /** Answers a browser's request to the login pages; undefined for every other path. Never rejects. */
  async response(request: Request): Promise<Response | undefined> {
    const url = new URL(request.url);
    if (url.pathname === DOCUMENT_PATH && request.method === "GET") return documentResponse(this.#addresses);
    if (url.pathname !== LOGIN_PATH && url.pathname !== CALLBACK_PATH) return undefined;
    try {
      if (url.pathname === CALLBACK_PATH && request.method === "GET") return await this.#finishLogin(request, url.searchParams);
      if (url.pathname === LOGIN_PATH && request.method === "GET") return this.#showConfirmPage(url.searchParams);
      if (url.pathname === LOGIN_PATH && request.method === "POST") return this.#continueLogin(request, url.searchParams);
      return messagePage(405, "Not served", "This page does not accept such a request.");
    } catch (thrown: unknown) {
      this.#log.warn(`A page for a login failed: ${describeThrown(thrown)}`);
      return messagePage(500, "Something went wrong", "The log of the server says more. Start the login again.");
    }
  }

  /** The servers that users log in to, and whether this user is logged in. */
  async list(user: string): Promise<readonly UserLogin[]> {
    return await Promise.all(
      Array.from(this.#servers.keys(), async (server) => toUserLogin(server, await this.#tokens({ server, user }), this.#clock.wallTime())),
    );
  }

  /**
   * Begins a login. Resolves to the address that the user opens in a browser. A logged-in user keeps the token, unless its renewal is refused.
   *
   * @throws ToolError `not_found`; `unavailable` if no login can begin, or none is needed because the user's token was renewed; as a rejection
   */
  async begin(server: string, user: string): Promise<string> {
    const key = { server, user };
    const known = this.#serverOf(server);
    if (!this.acceptsLogins)
      throw new ToolError("unavailable", `A login to MCP server "${server}" cannot start here: there is no page for it.`, {
        operatorHint: "Give UserLogins the origin at which its pages are served.",
      });
    const pending = this.findPending(key) ?? (await this.#startLogin(key, known));
    if (pending === undefined)
      throw new ToolError("unavailable", `${JSON.stringify(user)} is logged in to MCP server "${server}" already: the token was renewed.`);
    return this.loginAddress(pending);
  }

  /** Deletes the token, and revokes it if possible. Resolves to whether there was one. @throws ToolError `not_found`, as a rejection */
  async logout(server: string, user: string): Promise<boolean> {
    const key = { server, user };
    const { url, sdk, fetch } = this.#serverOf(server);
    this.#pending.cancel(key);
    const tokens = await this.#runExclusive(key, async () => {
      const kept = await this.#tokens(key);
      if (kept !== undefined) await this.#store.delete(this.#storeKey(key));
      return kept;
    });
    if (tokens === undefined) return false;
    this.#servers.get(server)?.onLogout(user);
    const { redirectUrl = this.#addresses.callback ?? "", clientScope, clientMetadataUrl } = tokens;
    const provider = this.#provider(key, { redirectUrl, clientScope, clientMetadataUrl });
    await this.#flows
      .runWithLimit((signal) => revokeToken({ url, sdk, fetch: fetchWithSignal(fetch, signal), provider, tokens }))
      .catch((thrown: unknown) =>
        this.#log.warn(`A token for MCP server "${server}" was deleted, but not revoked: ${redactTokens(tokens)(describeThrown(thrown))}`),
      );
    return true;
  }

  /**
   * Resolves once the user is logged in, after `begin`.
   *
   * @throws ToolError if the login failed or timed out; the reason of the signal; as a rejection
   */
  async whenLoggedIn(server: string, user: string, signal: AbortSignal): Promise<void> {
    const key = { server, user };
    const pending = this.findPending(key);
    if (pending !== undefined) return await this.untilEnded(pending, signal);
    if ((await this.#tokens(key)) === undefined)
      throw new ToolError("not_found", `${JSON.stringify(user)} has started no login to MCP server "${server}".`);
  }

  /** @internal */
  addServer(name: string, server: LoginServer): () => void {
    this.#servers.set(name, server);
    return () => {
      if (this.#servers.get(name) === server) this.#servers.delete(name);
    };
  }

  /** @internal The users who have logged in to a server. */
  users(server: string): Promise<readonly string[]> {
    return this.#store.users(this.#storeKey({ server, user: "" }).server);
  }

  /** @internal Returns a function that removes the user's tokens from a text. */
  async redact(key: LoginKey): Promise<Redact> {
    return redactTokens(this.#servers.has(key.server) ? await this.#tokens(key) : undefined);
  }

  /** @internal The user's login in progress. */
  findPending(key: LoginKey): PendingLogin | undefined {
    return this.#pending.get(key);
  }

  /** @internal The login of a user whose call was sent without a valid token; undefined if they have logged in meanwhile. */
  async ensureLogin(key: LoginKey): Promise<PendingLogin | undefined> {
    return this.findPending(key) ?? (await this.#startLogin(key, this.#serverOf(key.server), { token: undefined, challenge: {} }));
  }

  /**
   * @internal The login of a user whose token lacks a scope; the token is kept until it ends. "given" if the token has the scope by now, as the user
   * may have granted it during the call. Undefined if a login would not help, because the scopes are configured.
   *
   * @throws ToolError `permission_denied` if the last login requested the scope and did not get it, as a rejection
   */
  async requestScope(key: LoginKey, lacking: string): Promise<PendingLogin | "given" | undefined> {
    const server = this.#serverOf(key.server);
    const tokens = await this.#tokens(key);
    if (tokens === undefined || server.client.scope !== undefined) return undefined;
    const wanted = widenScope(tokens, lacking);
    if (wanted === undefined) return "given";
    const withheld = findWithheldScope(tokens, lacking);
    if (withheld !== undefined) throw scopeNotGrantedError(key, withheld);
    if (!this.acceptsLogins) return undefined;
    return (
      this.findPending(key) ??
      (await this.#startLogin(key, server, { token: tokens.access_token, challenge: { scope: wanted }, isNarrow: true }))
    );
  }

  /** @internal */
  loginAddress({ id }: PendingLogin): string {
    const { origin = "" } = this.#addresses;
    return origin + this.#addresses.loginPath(id);
  }

  /** @internal Resolves once the login has succeeded. @throws the signal's reason, or the error of the login, as a rejection */
  async untilEnded({ done }: PendingLogin, signal: AbortSignal): Promise<void> {
    await rejectOnAbort(done.promise, signal);
  }

  /** @internal The tokens of one user, renewed when they are refused. */
  tokenSource(key: LoginKey): AuthProvider {
    return {
      token: async () => (await this.#tokens(key))?.access_token,
      onUnauthorized: async ({ response }) => {
        const token = refusedTokenOf(response);
        const server = this.#serverOf(key.server);
        const renewedAt = this.#renewedAt.get(loginKeyText(key));
        if (renewedAt !== undefined && this.#clock.now() - renewedAt < JUST_RENEWED_MS) return;
        const challenge = server.sdk.extractWWWAuthenticateParams(response);
        await (this.#tokenRequests.get(loginKeyText(key)) ?? this.#requestTokens(key, server, { token, challenge }));
        if ((await this.#tokens(key)) === undefined) throw new server.sdk.UnauthorizedError();
      },
    };
  }

  #requestTokens(key: LoginKey, server: LoginServer, refusal: Refusal): Promise<void> {
    const name = loginKeyText(key);
    const asking = (async () => {
      const hasTokens = (await this.#tokens(key)) !== undefined;
      if (!hasTokens && (this.findPending(key) !== undefined || !this.acceptsLogins)) return;
      await this.#startLogin(key, server, refusal);
    })().finally(() => this.#tokenRequests.delete(name));
    this.#tokenRequests.set(name, asking);
    return asking;
  }

  /**
   * Renews the tokens, or begins a login if they cannot be renewed and there are pages. Undefined if there are tokens that were not refused; those
   * are kept, as they may be valid.
   */
  async #startLogin(key: LoginKey, server: LoginServer, refusal?: Refusal): Promise<PendingLogin | undefined> {
    const flow = async (signal: AbortSignal): Promise<PendingLogin | undefined> => {
      const tokens = await this.#tokens(key);
      if (refusal !== undefined && tokens !== undefined && tokens.access_token !== refusal.token) return undefined;
      const own = this.#addresses.callback;
      const isNarrow = refusal?.isNarrow ?? false;
      // tokens are renewed by the client that got them, which may be that of another process, such as a command at a terminal
      const redirectUrl = isNarrow ? own : (tokens?.redirectUrl ?? own);
      if (redirectUrl === undefined) return undefined;
      const options = { server, challenge: refusal?.challenge, signal };
      const clientScope = isNarrow ? refusal?.challenge.scope : tokens?.clientScope;
      const document = this.#documentOf(key);
      const clientMetadataUrl = isNarrow || tokens === undefined ? document : tokens.clientMetadataUrl;
      const client = { redirectUrl, clientScope, clientMetadataUrl };
      let request = await authorize(this.#provider(key, client), { ...options, forceReauthorization: isNarrow });
      if (request === undefined) {
        this.#renewedAt.set(loginKeyText(key), this.#clock.now());
        return undefined;
      }
      if (refusal !== undefined && !isNarrow && (await this.#tokens(key))?.access_token === refusal.token)
        await this.#store.delete(this.#storeKey(key));
      if (own === undefined) return undefined;
      if (redirectUrl !== own || clientMetadataUrl !== document) {
        const provider = this.#provider(key, { redirectUrl: own, clientMetadataUrl: document });
        request = await authorize(provider, { ...options, forceReauthorization: true });
      }
      return this.findPending(key) ?? (request && this.#pending.add(key, request));
    };
    return await this.#runExclusive(key, flow).catch((thrown: unknown) => {
      throw loginStartError(key.server, thrown);
    });
  }

  #showConfirmPage(params: URLSearchParams): Response {
    const pending = this.#pending.find((each) => each.id === params.get("id"));
    if (pending === undefined) return unknownLoginPage();
    const { server, user, id, request } = pending;
    return confirmPage({ server, user, host: request.authorizationUrl.host, action: this.#addresses.loginPath(id) });
  }

  /** Redirects to the authorization server. Only the login page may post this: a page of another origin could log its reader in as another user. */
  #continueLogin(request: Request, params: URLSearchParams): Response {
    if (request.headers.get("origin") !== this.#addresses.origin)
      return messagePage(403, "Not logged in", "This login was not started on the page of this server.");
    const pending = this.#pending.find((each) => each.id === params.get("id"));
    if (pending === undefined) return unknownLoginPage();
    pending.browser = createSecret();
    const cookie = `${cookieNameOf(pending)}=${pending.browser}; ${this.#addresses.cookieAttributes}`;
    return new Response(null, {
      status: 303,
      headers: { location: pending.request.authorizationUrl.href, "set-cookie": cookie, "cache-control": "no-store" },
    });
  }

  async #finishLogin(request: Request, params: URLSearchParams): Promise<Response> {
    const state = params.get("state") ?? "";
    const pending = this.#pending.find((each) => isSameSecret(each.request.state, state));
    if (pending === undefined || pending.isEnding) return unknownLoginPage();
    const held = readCookie(request.headers.get("cookie") ?? "", cookieNameOf(pending));
    if (pending.browser === undefined || held === undefined || !isSameSecret(held, pending.browser))
      return messagePage(403, "Not logged in", "This login continued in another browser, or this browser does not keep cookies.");
    const { server, user } = pending;
    pending.isEnding = true;
    try {
      await this.#exchangeCode(pending, params);
    } catch (thrown: unknown) {
      const redact = createRedactor({ code: params.get("code") ?? "", verifier: pending.request.verifier });
      const reason = redact(describeTokenFailure(thrown));
      this.#log.warn(`A login to MCP server "${server}" failed: ${reason}`);
      pending.done.reject(new ToolError("permission_denied", `The login to MCP server "${server}" failed.`, { outcome: "not_started" }));
      return messagePage(400, "Not logged in", `The login to ${server} failed. Start it again; the log of the server says why it failed.`);
    } finally {
      this.#pending.remove(pending);
    }
    pending.done.resolve();
    this.#servers.get(server)?.onLogin(user);
    return messagePage(200, "Logged in", `${user} is logged in to ${server}. You can close this page.`);
  }

  /** @throws the refusal of the authorization server, also for the answer of another one, as a rejection */
  async #exchangeCode({ server, user, request }: PendingLogin, params: URLSearchParams): Promise<void> {
    const { url, sdk, fetch } = this.#serverOf(server);
    const code = params.get("code");
    if (code === null) throw authorizationError(params);
    const { clientScope } = request;
    const key = { server, user };
    const client = { redirectUrl: this.#addresses.callback ?? "", clientScope, clientMetadataUrl: this.#documentOf(key) };
    const provider = this.#provider(key, client, request);
    const iss = params.get("iss");
    const answer = { authorizationCode: code, ...(iss === null ? {} : { iss }) };
    await this.#runExclusive(key, (signal) => sdk.auth(provider, { serverUrl: url, fetchFn: fetchWithSignal(fetch, signal), ...answer }));
    this.#renewedAt.delete(loginKeyText(key));
  }

  /** Runs a flow while no other flow of the server runs here, and none of the user in another process. */
  #runExclusive<T>(key: LoginKey, flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const clock = this.#clock;
    return this.#flows.run(key.server, (signal) => this.#store.runExclusive(this.#storeKey(key), { clock, signal }, () => flow(signal)));
  }

  #provider(
    key: LoginKey,
    of: Pick<UserProviderOptions, "redirectUrl" | "clientScope" | "clientMetadataUrl">,
    startedLogin?: LoginRequest,
  ): UserProvider {
    const options: UserProviderOptions = {
      ...of,
      key: this.#storeKey(key),
      store: this.#store,
      client: this.#serverOf(key.server).client,
      now: () => this.#clock.wallTime(),
    };
    return new UserProvider(options, startedLogin === undefined ? { state: createSecret() } : { state: startedLogin.state, startedLogin });
  }

  /** The metadata document of the client with which users log in here. */
  #documentOf({ server }: LoginKey): string | undefined {
    const { document } = this.#addresses;
    return document && selectClientDocument(this.#serverOf(server).client.clientMetadataUrl, document);
  }

  /** The key in the store. It includes the server's address, so that tokens are never sent to another address under the same name. */
  #storeKey({ server, user }: LoginKey): LoginKey {
    return { server: `${server}\0${this.#serverOf(server).url.href}`, user };
  }

  async #tokens(key: LoginKey): Promise<Tokens | undefined> {
    return readTokens(await this.#store.get(this.#storeKey(key)));
  }

  #serverOf(name: string): LoginServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    throw new ToolError("not_found", `There is no server ${JSON.stringify(name)} that users log in to.`);
  }
}
