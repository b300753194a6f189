/** The logins of users to MCP servers that want each of them to log in: how they begin and end, and whose tokens are whose. */
import type { AuthProvider, FetchLike } from "@modelcontextprotocol/client";
import { ToolError, describeThrown } from "../../../core/error.ts";
import { checkKnownKeys } from "../../../core/known-keys.ts";
import { untilAborted } from "../../../core/base/until-aborted.ts";
import { causesOf } from "../../../core/base/causes.ts";
import { isJsonObject } from "../../../core/base/json.ts";
import type { Clock, Log } from "../../../core/ports.ts";
import { redactor, type Redact } from "../../../core/base/redact.ts";
import { systemPorts } from "../../../core/system-ports.ts";
import { isSameSecret, newSecret } from "../../../net/secret.ts";
import { endPage, questionPage } from "./login-pages.ts";
import { loginFiles, memoryLogins, type LoginKey, type LoginStore } from "./login-store.ts";
import { revokeToken } from "./revoke-token.ts";
import { UserProvider, type LoginClient, type LoginRequest, type UserProviderOptions } from "./user-provider.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

/** How users of a gateway log in to the MCP servers behind it. */
export interface UserLoginsOptions {
  /** The address of this program as browsers of the users reach it: `https://tools.example`. Its pages are under `/upstreams/`. */
  readonly origin: string;
  /**
   * Where tokens are kept over a restart, in files that only the user of this process can read. Several processes may share it. @default
   * in memory
   */
  readonly folder?: string;
  /** How long a login may take once it has begun, in milliseconds. @default 600_000 */
  readonly loginMs?: number;
  readonly ports?: { readonly clock?: Clock; readonly log?: Log };
}

/** Whether a user is logged in to a server. */
export interface UserLogin {
  /** The toolset. */
  readonly server: string;
  readonly loggedIn: boolean;
}

/** An MCP server whose users log in. */
export interface LoginServer {
  readonly url: URL;
  readonly client: LoginClient;
  readonly sdk: ClientModule;
  readonly fetch: FetchLike;
  /** Called when a user has logged in. */
  onLogin(user: string): void;
}

interface Pending extends LoginKey {
  readonly id: string;
  readonly request: LoginRequest;
  readonly expiresAt: number;
  readonly done: PromiseWithResolvers<void>;
  /** The cookie of the browser that continued; undefined until one does. */
  browser: string | undefined;
}

interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

const LOGIN_PATH = "/upstreams/login";
const CALLBACK_PATH = "/upstreams/callback";
const MAX_PENDING = 10_000;
/** A token that is refused so soon after it was renewed was sent before. */
const JUST_RENEWED_MS = 1_000;

/**
 * Logins of users, one for each user and server; give it to `auth` of the toolsets and to the server that the users' browsers reach.
 *
 * A login that has begun ends in this process, in the browser in which it continued. Tokens are given to no other user.
 *
 * @throws ToolError `invalid_argument` for an origin that is none
 */
export class UserLogins {
  readonly #options: UserLoginsOptions;
  readonly #store: LoginStore;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #servers = new Map<string, LoginServer>();
  /** By user and server. */
  readonly #pending = new Map<string, Pending>();
  /** Flows that ask an authorization server, by user and server. */
  readonly #asking = new Map<string, Promise<void>>();
  /** The last flow of each server: two at a time would register two clients. */
  readonly #queues = new Map<string, Promise<unknown>>();
  readonly #renewedAt = new Map<string, number>();

  constructor(options: UserLoginsOptions) {
    checkKnownKeys(options, { origin: true, folder: true, loginMs: true, ports: true }, "new UserLogins()");
    const { origin, folder, ports = {} } = options;
    if (!URL.canParse(origin) || new URL(origin).origin !== origin || !/^https?:/u.test(origin))
      throw new ToolError("invalid_argument", `${JSON.stringify(origin)} is no origin that logins could come back to.`, {
        hint: "Write scheme, host and port alone, such as https://tools.example.",
      });
    this.#options = options;
    this.#store = folder === undefined ? memoryLogins() : loginFiles(folder);
    this.#clock = ports.clock ?? systemPorts.clock;
    this.#log = ports.log ?? systemPorts.log;
  }

  /** Answers a request of a browser to the pages of logins; undefined for every other path. Never rejects. */
  async response(request: Request): Promise<Response | undefined> {
    const url = new URL(request.url);
    if (url.pathname !== LOGIN_PATH && url.pathname !== CALLBACK_PATH) return undefined;
    try {
      if (url.pathname === CALLBACK_PATH && request.method === "GET") return await this.#ended(request, url.searchParams);
      if (url.pathname === LOGIN_PATH && request.method === "GET") return this.#asked(url.searchParams);
      if (url.pathname === LOGIN_PATH && request.method === "POST") return this.#goesOn(request, url.searchParams);
      return endPage(405, "Not served", "This page takes no such request.");
    } catch (thrown: unknown) {
      this.#log.warn(`A page for a login failed: ${describeThrown(thrown)}`);
      return endPage(500, "Something went wrong", "The log of the server says more. Begin the login again.");
    }
  }

  /** The servers that users log in to, and whether this one is. */
  async list(user: string): Promise<readonly UserLogin[]> {
    return await Promise.all(
      Array.from(this.#servers.keys(), async (server) => ({ server, loggedIn: (await this.#tokens({ server, user })) !== undefined })),
    );
  }

  /** Begins a login. Resolves to the address that the user opens in a browser. @throws ToolError `not_found`, `unavailable`. By rejecting */
  async begin(server: string, user: string): Promise<string> {
    const key = { server, user };
    const pending = this.pending(key) ?? (await this.#begun(key, this.#serverOf(server), {}));
    if (pending === undefined) throw new ToolError("unavailable", `The MCP server ${JSON.stringify(server)} gave a token without a login.`);
    return this.addressOf(pending);
  }

  /** Revokes the token where the authorization server can, and forgets it. Resolves to whether there was one. @throws ToolError `not_found`. By rejecting */
  async logout(server: string, user: string): Promise<boolean> {
    const key = { server, user };
    const { url, sdk, fetch } = this.#serverOf(server);
    const tokens = await this.#tokens(key);
    this.#forget(nameOf(key));
    if (tokens === undefined) return false;
    await this.#store.delete(key);
    const provider = this.#provider(key, newSecret());
    await revokeToken({ url, sdk, fetch, provider, tokens }).catch((thrown: unknown) =>
      this.#log.warn(`A token for MCP server "${server}" was forgotten, and not revoked: ${redactTokens(tokens)(describeThrown(thrown))}`),
    );
    return true;
  }

  /** @internal */
  add(name: string, server: LoginServer): () => void {
    this.#servers.set(name, server);
    return () => void (this.#servers.get(name) === server && this.#servers.delete(name));
  }

  /** @internal The users that have logged in to a server. */
  users(server: string): Promise<readonly string[]> {
    return this.#store.users(server);
  }

  /** @internal Takes what is secret to a user out of a text. */
  async redact(key: LoginKey): Promise<Redact> {
    return redactTokens(await this.#tokens(key));
  }

  /** @internal The login that the user has begun and not ended. */
  pending(key: LoginKey): Pending | undefined {
    const pending = this.#pending.get(nameOf(key));
    if (pending === undefined || pending.expiresAt > this.#clock.now()) return pending;
    this.#forget(nameOf(key));
    return undefined;
  }

  /** @internal */
  addressOf({ id }: Pending): string {
    return `${this.#options.origin}${LOGIN_PATH}?id=${id}`;
  }

  /** @internal Resolves once the login has ended well. @throws the signal's reason, or that it ended otherwise. By rejecting */
  async ended({ done }: Pending, signal: AbortSignal): Promise<void> {
    await untilAborted(done.promise, signal);
  }

  /** @internal The tokens of one user, renewed when they are refused. */
  tokenSource(key: LoginKey): AuthProvider {
    return {
      token: async () => (await this.#tokens(key))?.access_token,
      onUnauthorized: async ({ response }) => {
        const server = this.#serverOf(key.server);
        const renewedAt = this.#renewedAt.get(nameOf(key));
        if (renewedAt !== undefined && this.#clock.now() - renewedAt < JUST_RENEWED_MS) return;
        const challenge = server.sdk.extractWWWAuthenticateParams(response);
        await (this.#asking.get(nameOf(key)) ?? this.#ask(key, server, challenge));
        if ((await this.#tokens(key)) === undefined) throw new server.sdk.UnauthorizedError();
      },
    };
  }

  #ask(key: LoginKey, server: LoginServer, challenge: Challenge): Promise<void> {
    const name = nameOf(key);
    const asking = (async () => {
      const hasTokens = (await this.#tokens(key)) !== undefined;
      if (!hasTokens && this.pending(key) !== undefined) return;
      await this.#begun(key, server, challenge);
    })().finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return asking;
  }

  /** Renews the tokens; the login that is needed where that cannot be. */
  async #begun(key: LoginKey, server: LoginServer, challenge: Challenge): Promise<Pending | undefined> {
    const provider = this.#provider(key, newSecret());
    const asked = (this.#queues.get(key.server) ?? Promise.resolve()).then(async () => {
      const { url, sdk, fetch } = server;
      return await sdk.auth(provider, { serverUrl: url, fetchFn: fetch, ...definedOf(challenge) });
    });
    this.#queues.set(
      key.server,
      asked.catch(() => undefined),
    );
    const result = await asked.catch((thrown: unknown) => {
      throw notBegun(key.server, thrown);
    });
    if (result === "AUTHORIZED") {
      this.#renewedAt.set(nameOf(key), this.#clock.now());
      return undefined;
    }
    const { request } = provider;
    if (request === undefined) throw new ToolError("unavailable", `MCP server "${key.server}" began no login.`);
    await this.#store.delete(key); // they were refused
    return this.#hold(key, request);
  }

  #hold(key: LoginKey, request: LoginRequest): Pending {
    const { loginMs = 600_000 } = this.#options;
    const [oldest] = this.#pending.keys();
    if (this.#pending.size >= MAX_PENDING && oldest !== undefined) this.#forget(oldest);
    const done = Promise.withResolvers<void>();
    done.promise.catch(() => undefined); // there may be no waiting call
    const pending: Pending = { ...key, id: newSecret(), request, expiresAt: this.#clock.now() + loginMs, done, browser: undefined };
    this.#forget(nameOf(key));
    this.#pending.set(nameOf(key), pending);
    return pending;
  }

  #forget(name: string): void {
    const pending = this.#pending.get(name);
    this.#pending.delete(name);
    pending?.done.reject(new ToolError("cancelled", "The login was not ended in time."));
  }

  #asked(params: URLSearchParams): Response {
    const pending = this.#find((each) => each.id === params.get("id"));
    if (pending === undefined) return unknownLogin();
    const { server, user, id, request } = pending;
    return questionPage({ server, user, host: request.authorizationUrl.host, action: `${LOGIN_PATH}?id=${id}` });
  }

  /** Only the page before may post this: a page of another origin would log its reader in for another user. */
  #goesOn(request: Request, params: URLSearchParams): Response {
    if (request.headers.get("origin") !== this.#options.origin)
      return endPage(403, "Not logged in", "This login was not begun on the page of this server.");
    const pending = this.#find((each) => each.id === params.get("id"));
    if (pending === undefined) return unknownLogin();
    pending.browser = newSecret();
    const isSecure = this.#options.origin.startsWith("https:");
    const cookie = `${cookieOf(pending)}=${pending.browser}; Path=/upstreams/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
    return new Response(null, {
      status: 303,
      headers: { location: pending.request.authorizationUrl.href, "set-cookie": cookie, "cache-control": "no-store" },
    });
  }

  async #ended(request: Request, params: URLSearchParams): Promise<Response> {
    const state = params.get("state") ?? "";
    const pending = this.#find((each) => isSameSecret(each.request.state, state));
    if (pending === undefined) return unknownLogin();
    const held = cookieIn(request.headers.get("cookie") ?? "", cookieOf(pending));
    if (pending.browser === undefined || held === undefined || !isSameSecret(held, pending.browser))
      return endPage(403, "Not logged in", "This login continued in another browser, or cookies are not kept here.");
    const { server, user } = pending;
    this.#pending.delete(nameOf(pending));
    try {
      await this.#exchange(pending, params);
    } catch (thrown: unknown) {
      const redact = redactor({ code: params.get("code") ?? "", verifier: pending.request.verifier });
      const reason = redact(describeThrown(thrown));
      this.#log.warn(`A login to MCP server "${server}" failed: ${reason}`);
      pending.done.reject(new ToolError("permission_denied", `The login to MCP server "${server}" failed.`, { outcome: "not_started" }));
      return endPage(400, "Not logged in", `The login to ${server} failed. Begin it again; the log of the server says why it failed.`);
    }
    pending.done.resolve();
    this.#servers.get(server)?.onLogin(user);
    return endPage(200, "Logged in", `${user} is logged in to ${server}. You can close this page.`);
  }

  /** @throws what the authorization server refuses, or an answer of another one. By rejecting */
  async #exchange({ server, user, request }: Pending, params: URLSearchParams): Promise<void> {
    const { url, sdk, fetch } = this.#serverOf(server);
    const code = params.get("code");
    if (code === null) throw new ToolError("permission_denied", "the authorization server sent no code");
    const provider = this.#provider({ server, user }, request.state, request);
    const iss = params.get("iss");
    await sdk.auth(provider, { serverUrl: url, fetchFn: fetch, authorizationCode: code, ...(iss === null ? {} : { iss }) });
    this.#renewedAt.delete(nameOf({ server, user }));
  }

  #find(is: (pending: Pending) => boolean): Pending | undefined {
    for (const each of this.#pending.values()) if (is(each)) return this.pending(each);
    return undefined;
  }

  #provider(key: LoginKey, state: string, begun?: LoginRequest): UserProvider {
    const options: UserProviderOptions = {
      key,
      store: this.#store,
      client: this.#serverOf(key.server).client,
      redirectUrl: `${this.#options.origin}${CALLBACK_PATH}`,
      now: () => this.#clock.wallTime(),
    };
    return new UserProvider(options, begun === undefined ? { state } : { state, begun });
  }

  async #tokens(key: LoginKey): Promise<{ readonly access_token: string; readonly refresh_token?: string } | undefined> {
    const kept = await this.#store.get(key);
    const tokens = kept?.["tokens"];
    if (!isJsonObject(tokens) || typeof tokens["access_token"] !== "string") return undefined;
    const { access_token, refresh_token } = tokens;
    return typeof refresh_token === "string" ? { access_token, refresh_token } : { access_token };
  }

  #serverOf(name: string): LoginServer {
    const server = this.#servers.get(name);
    if (server !== undefined) return server;
    throw new ToolError("not_found", `There is no server ${JSON.stringify(name)} that users log in to.`);
  }
}

function nameOf({ server, user }: LoginKey): string {
  return JSON.stringify([server, user]);
}

/** An error of ours that the official client has wrapped says more than the wrapper. */
function notBegun(server: string, thrown: unknown): ToolError {
  const inner = [...causesOf(thrown)].find((each): each is ToolError => each instanceof ToolError);
  const { code, operatorHint } = inner ?? ToolError.fromUnknown(thrown, "unavailable");
  const reason = describeThrown(inner ?? thrown).replace(/\.$/u, "");
  const options = { outcome: "not_started", cause: thrown, ...(operatorHint === undefined ? {} : { operatorHint }) } as const;
  return new ToolError(code, `No login to MCP server "${server}" could be begun: ${reason}.`, options);
}

function unknownLogin(): Response {
  return endPage(400, "Login not known", "This login has ended, took too long, or was never begun. Begin it again.");
}

function cookieOf({ id }: Pending): string {
  return `haft-login-${id.slice(0, 12)}`;
}

function cookieIn(header: string, name: string): string | undefined {
  for (const part of header.split(";")) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

function redactTokens(tokens: { readonly access_token: string; readonly refresh_token?: string } | undefined): Redact {
  const { access_token: token = "", refresh_token: refresh = "" } = tokens ?? {};
  return redactor({ token, "refresh token": refresh });
}

function definedOf({ resourceMetadataUrl, scope }: Challenge): { resourceMetadataUrl?: URL; scope?: string } {
  return { ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }), ...(scope === undefined ? {} : { scope }) };
}
