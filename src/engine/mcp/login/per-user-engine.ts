/** An MCP server that is called with a token of each user: one connection per user, and a login if there is no token. */
import type { AuthProvider } from "@modelcontextprotocol/client";
import type { ToolContext } from "../../../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../../../core/engine.ts";
import { causesOf } from "../../../core/base/causes.ts";
import { ToolError } from "../../../core/error.ts";
import { redactError, createRedactor, type Redact } from "../../../core/secrets/redact.ts";
import { RemoteJob } from "../../../core/jobs/remote-job.ts";
import type { Tool } from "../../../core/tool.ts";
import { guardedFetch } from "../../../net/guarded-fetch.ts";
import { withQuotableRefusals } from "../token-answers.ts";
import { httpClient } from "../../../net/http-client.ts";
import { withTimeLimit } from "../../../processes/sleep.ts";
import { principalIdOf } from "../../../core/principal-id.ts";
import { hasErrorName, findMissingScope } from "../call-error.ts";
import { loadClient } from "../connect.ts";
import { clientOptions } from "../http-wire.ts";
import { serverUrl, type McpTokenExchangeAuth, type McpUrlOptions, type McpUserLoginAuth } from "../options.ts";
import { LOCAL_USER } from "./login-store.ts";
import { ExchangedTokens } from "./token-exchange.ts";
import type { PendingLogin } from "./pending-logins.ts";
import type { LoginServer, UserLogins } from "./user-logins.ts";

/** Maximum number of users with a connection; the least recently used is closed first. */
const MAX_CONNECTIONS = 500;
/** Shortest limit for opening the connection of a user, in milliseconds: renewing the token may have to wait for other renewals. */
const OPEN_TIMEOUT_MS = 60_000;
/** How long a call waits for its user to log in after they opened the page, in milliseconds. */
const LOGIN_WAIT_MS = 20_000;

interface OpenedEngine {
  readonly engine: Engine;
  readonly tools: readonly Tool[];
}

interface Connection {
  readonly opening: Promise<OpenedEngine>;
  readonly redact: () => Promise<Redact>;
  calls: number;
}

/** A call whose user is asked to log in. */
interface LoginRequestContext {
  readonly logins: UserLogins;
  readonly context: ToolContext;
}

export class PerUserEngine implements Engine {
  readonly kind = "mcp";
  readonly perUser = true;
  readonly #options: McpUrlOptions;
  readonly #auth: McpUserLoginAuth | McpTokenExchangeAuth;
  readonly #makeEngine: (options: McpUrlOptions) => Engine;
  /** The connections by user, the most recently used last. */
  readonly #connections = new Map<string, Connection>();
  #context: EngineContext | undefined;
  #server: Omit<LoginServer, "client" | "onLogin" | "onLogout"> | undefined;
  /** Lists the tools, with the credentials of `listWith`. */
  #lister: Engine | undefined;
  #isListed = false;
  /** The reason why no tools were listed, as last logged. */
  #lastListError: string | undefined;
  /** Users who logged out while tools were being listed. */
  readonly #loggedOut = new Set<string>();
  #closing = new AbortController();
  readonly #closers: (() => void)[] = [];

  constructor(
    options: McpUrlOptions,
    {
      auth,
      makeEngine,
    }: { readonly auth: McpUserLoginAuth | McpTokenExchangeAuth; readonly makeEngine: (options: McpUrlOptions) => Engine },
  ) {
    this.#options = options;
    this.#auth = auth;
    this.#makeEngine = makeEngine;
  }

  async open(context: EngineContext): Promise<readonly Tool[]> {
    const { clock, log, toolset } = context;
    const auth = this.#auth;
    this.#closing = new AbortController();
    this.#context = context;
    const client = httpClient(clientOptions(this.#options), { clock, log });
    this.#closers.push(() => client.close());
    const url = serverUrl(this.#options);
    const server = { url, sdk: await loadClient(), fetch: withQuotableRefusals(guardedFetch(client)) };
    this.#server = server;
    if (auth.type === "user-login")
      this.#closers.push(
        auth.logins.addServer(toolset, {
          ...server,
          client: auth,
          onLogin: (user) => this.#onLoggedIn(user),
          onLogout: (user) => void this.#loggedOut.add(user),
        }),
      );
    try {
      return await this.list(context.signal);
    } catch (error: unknown) {
      await this.close();
      throw error;
    }
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    const { listWith } = this.#auth;
    const tools = listWith === undefined ? await this.#listForFirstUser(signal) : await this.#listWithCredentials(listWith, signal);
    this.#isListed = tools !== undefined;
    return tools ?? [LOGIN_TOOL];
  }

  call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#runForUser(context, async (engine) => {
      if (!this.#isListed && request.tool.name === LOGIN_TOOL.name) {
        this.#context?.changed(); // the user may have logged in through another process
        return "You are logged in: look at the tools again.";
      }
      return await engine.call(request, context);
    });
  }

  attach(id: string, request: EngineRequest, context: ToolContext): Promise<unknown> {
    return this.#runForUser(context, async (engine) => await engine.attach?.(id, request, context));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#context = undefined;
    for (const end of this.#closers.splice(0)) end();
    const connections = [...this.#connections.values()];
    this.#connections.clear();
    const lister = this.#lister;
    this.#lister = undefined;
    await Promise.allSettled([lister?.close?.(), ...connections.map(closeConnection)]);
  }

  /** Runs `work` for the user; once more if they had to log in first. */
  async #runForUser(context: ToolContext, work: (engine: Engine) => Promise<unknown>): Promise<unknown> {
    const user = userOf(context);
    for (let attempt = 1; ; attempt++) {
      const connection = this.#connectionOf(user);
      connection.calls++;
      try {
        const { engine } = await connection.opening;
        const answer = await work(engine);
        if (answer instanceof RemoteJob) holdForJob(answer, connection);
        return answer;
      } catch (thrown: unknown) {
        const error = redactError(ToolError.fromUnknown(thrown, "unavailable"), await connection.redact());
        if (attempt > 1 || !(await this.#logInForCall(thrown, { user, context }))) throw error;
      } finally {
        connection.calls--;
      }
    }
  }

  /**
   * Logs the user in if the refusal of a call requires it and nothing was executed before. Resolves to whether the call may be repeated. @throws
   * ToolError `permission_denied` with the address of the login, as a rejection
   */
  async #logInForCall(thrown: unknown, { user, context }: { readonly user: string; readonly context: ToolContext }): Promise<boolean> {
    const auth = this.#auth;
    if (auth.type !== "user-login" || !(thrown instanceof ToolError) || thrown.outcome !== "not_started") return false;
    const server = this.#context?.toolset ?? "";
    const scope = findMissingScope(thrown);
    if (scope !== undefined) {
      const pending = await auth.logins.requestScope({ server, user }, scope);
      if (pending === undefined || pending === "given") return pending === "given";
      await this.#awaitLogin(pending, { logins: auth.logins, context, wants: `wants you to grant it the scope ${scope}` });
      return true;
    }
    if (![...causesOf(thrown)].some((each) => hasErrorName(each, "UnauthorizedError"))) return false;
    await this.#requireLogin(user, { logins: auth.logins, context });
    return true;
  }

  async #requireLogin(user: string, { logins, context }: LoginRequestContext): Promise<void> {
    const server = this.#context?.toolset ?? "";
    if (!logins.acceptsLogins)
      throw new ToolError("permission_denied", `The server ${server} wants its user to log in first.`, {
        outcome: "not_started",
        retryable: false,
        hint: "Ask the user to log in to it, then call again.",
        operatorHint: `The user ${JSON.stringify(user)} has no valid token for ${server}: log in with haft mcp login ${server}`,
      });
    const pending = await logins.ensureLogin({ server, user });
    if (pending !== undefined) await this.#awaitLogin(pending, { logins, context }); // undefined if they have just logged in
  }

  /** Waits for the end of the login. @param wants the request to the user, as part of a sentence */
  async #awaitLogin(
    pending: PendingLogin,
    { logins, context, wants = "wants you to log in" }: LoginRequestContext & { readonly wants?: string },
  ): Promise<void> {
    const { server, user } = pending;
    const address = logins.loginAddress(pending);
    const answer = await context.ask({ message: `The server ${server} ${wants}.`, url: address });
    if (answer.action === "accept") {
      const { clock } = this.#openContext();
      const hasEnded = await withTimeLimit({ clock, limitMs: LOGIN_WAIT_MS, outer: context.signal }, (signal) =>
        logins.untilEnded(pending, signal),
      ).then(
        () => true,
        () => false,
      );
      if (hasEnded) return;
    }
    const first = wants.replace("wants you", "wants its user");
    throw new ToolError("permission_denied", `The server ${server} ${first} first, at ${address}`, {
      outcome: "not_started",
      retryable: false,
      hint: "Ask the user to open the address in a browser and to log in there, then call again.",
      operatorHint: `The user ${JSON.stringify(user)} has no valid token for ${server}.`,
    });
  }

  #onLoggedIn(user: string): void {
    void this.#drop(user); // it may have failed to open
    if (!this.#isListed) this.#context?.changed();
  }

  /**
   * The tools of the first user who can list them; undefined if no user is logged in. @throws ToolError if listing failed temporarily, so that the
   * known tools are kept; as a rejection
   */
  async #listForFirstUser(signal: AbortSignal): Promise<readonly Tool[] | undefined> {
    let failed: ToolError | undefined;
    const { logins } = this.#auth.type === "user-login" ? this.#auth : { logins: undefined };
    const { toolset: server = "", log } = this.#context ?? {};
    this.#loggedOut.clear();
    for (const user of (await logins?.users(server)) ?? []) {
      const connection = this.#connectionOf(user);
      const before = connection.redact(); // read first, as a refused token is deleted
      before.catch(() => undefined); // awaited below
      try {
        const { engine, tools } = await connection.opening;
        const listed = this.#isListed ? ((await engine.list?.(signal)) ?? tools) : tools;
        this.#lastListError = undefined;
        return listed;
      } catch (thrown: unknown) {
        if (this.#loggedOut.has(user)) continue;
        const error = await toRedactedError(thrown, [before, connection.redact()]);
        if (failed === undefined || error.retryable) failed = error;
      }
    }
    if (failed === undefined) return undefined;
    if (this.#isListed && failed.retryable) throw failed;
    if (failed.message === this.#lastListError) return undefined;
    this.#lastListError = failed.message;
    log?.warn(`MCP server "${server}" lists no tools to users who have logged in, so it offers only the tool login: ${failed.message}`);
    return undefined;
  }

  async #listWithCredentials(auth: NonNullable<McpUrlOptions["auth"]>, signal: AbortSignal): Promise<readonly Tool[]> {
    if (this.#lister !== undefined) return (await this.#lister.list?.(signal)) ?? [];
    const lister = this.#makeEngine({ ...this.#options, auth });
    const tools = (await lister.open?.(this.#openContext())) ?? [];
    this.#lister = lister;
    return tools;
  }

  #connectionOf(user: string): Connection {
    const known = this.#connections.get(user);
    this.#connections.delete(user);
    const connection = known ?? this.#connect(user);
    this.#connections.set(user, connection); // moves it to the end, as the most recently used
    this.#closeIdle();
    return connection;
  }

  #connect(user: string): Connection {
    const { source, redact } = this.#tokenSourceOf(user);
    const engine = this.#makeEngine({ ...this.#options, auth: { type: "oauth", provider: source } });
    const opening = (async () => ({ engine, tools: await this.#openEngine(engine) }))();
    const connection: Connection = {
      opening: opening.catch((thrown: unknown) => this.#forgetFailed(user, connection, thrown)),
      redact,
      calls: 0,
    };
    connection.opening.catch(() => undefined); // its caller gets the error
    return connection;
  }

  /** Opens the engine within a time limit, as all later calls of the user would wait for a server that never answers. */
  async #openEngine(engine: Engine): Promise<readonly Tool[]> {
    const context = { ...this.#openContext(), changed: () => undefined };
    const { clock, openTimeoutMs = 0, signal: outer } = context;
    const limitMs = Math.max(OPEN_TIMEOUT_MS, openTimeoutMs);
    return await withTimeLimit({ clock, limitMs, outer }, async (signal) => (await engine.open?.({ ...context, signal })) ?? []);
  }

  /** Forgets the connection, so that the next call tries again. The outcome is `not_started`, as no call was sent. */
  #forgetFailed(user: string, connection: Connection, thrown: unknown): never {
    if (this.#connections.get(user) === connection) this.#connections.delete(user);
    const { code, message, details, retryable, operatorHint } = ToolError.fromUnknown(thrown, "unavailable");
    const options = { details, retryable, outcome: "not_started", cause: thrown } as const;
    throw new ToolError(code, message, operatorHint === undefined ? options : { ...options, operatorHint });
  }

  #openContext(): EngineContext {
    const context = this.#context;
    if (context === undefined) throw new ToolError("unavailable", "The MCP server is not open.", { outcome: "not_started" });
    return { ...context, signal: this.#closing.signal };
  }

  #tokenSourceOf(user: string): { readonly source: AuthProvider; readonly redact: () => Promise<Redact> } {
    const auth = this.#auth;
    const { toolset, clock } = this.#openContext();
    if (auth.type === "user-login") {
      const key = { server: toolset, user };
      return { source: auth.logins.tokenSource(key), redact: () => auth.logins.redact(key) };
    }
    if (this.#server === undefined) throw new ToolError("unavailable", "The MCP server is not open.", { outcome: "not_started" });
    const source = new ExchangedTokens(this.#server, auth, { user, clock });
    return { source, redact: () => Promise.resolve(createRedactor(source.secrets)) };
  }

  #closeIdle(): void {
    for (const [user, { calls }] of this.#connections) {
      if (this.#connections.size <= MAX_CONNECTIONS) return;
      if (calls === 0) void this.#drop(user);
    }
  }

  async #drop(user: string): Promise<void> {
    const connection = this.#connections.get(user);
    if (connection === undefined || connection.calls > 0) return;
    this.#connections.delete(user);
    await closeConnection(connection);
  }
}

/** Keeps the connection open until the job has ended, which its engine follows. */
function holdForJob(job: RemoteJob, connection: Connection): void {
  const release = (): void => void connection.calls--;
  connection.calls++;
  job.result.then(release, release);
}

/** The error without tokens. If the tokens cannot be read, that error is returned instead, as the given one may contain them. */
async function toRedactedError(thrown: unknown, redacts: readonly Promise<Redact>[]): Promise<ToolError> {
  try {
    return (await Promise.all(redacts)).reduce(redactError, ToolError.fromUnknown(thrown, "unavailable"));
  } catch (unread: unknown) {
    return ToolError.fromUnknown(unread, "unavailable");
  }
}

async function closeConnection({ opening }: Connection): Promise<void> {
  const open = await opening.catch(() => undefined);
  await open?.engine.close?.();
}

/** The principal that a server authenticated, else the local user. */
function userOf({ data }: ToolContext): string {
  return principalIdOf(data) ?? LOCAL_USER;
}

/** The only tool of a server whose tools are unknown before a user has logged in. */
const LOGIN_TOOL: Tool = {
  name: "login",
  description: "Logs the user in to this server. Its tools are listed afterwards.",
  inputSchema: { type: "object", properties: {}, additionalProperties: false },
  effects: { reads: [], writes: [], external: true },
};
