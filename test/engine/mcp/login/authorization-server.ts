/** A certified authorization server on the loopback address, and a server of the official SDK that wants its tokens. */
import { createServer, type Server } from "node:http";
import {
  Server as McpServer,
  createMcpHandler,
  verifyBearerToken,
  bearerAuthChallengeResponse,
  OAuthError,
  OAuthErrorCode,
} from "@modelcontextprotocol/server";
import { Provider, errors, type Configuration } from "oidc-provider";
import { onTestFinished } from "vitest";
import { isJsonObject } from "../../../../src/core/base/json.ts";

const SCOPES = ["tickets", "tickets:write", "tickets:admin"] as const;
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

export interface AuthorizationServer {
  readonly issuer: string;
  /** The account of an access token that is valid now, and whom it is for. */
  accountOf(
    token: string,
  ): Promise<{ readonly account: string; readonly audience: string; readonly scopes: readonly string[] } | undefined>;
  /** Every token that it gave. */
  readonly given: readonly string[];
  /** The bodies that its token endpoint was sent. */
  readonly asked: readonly URLSearchParams[];
  /** Ends a user's tokens, as time, the user or an operator would there. */
  end(account: string, kinds: readonly ("AccessToken" | "RefreshToken")[]): Promise<void>;
  isValid(refreshToken: string): Promise<boolean>;
  /** Has the requests to a path wait. */
  hold(path: "/token" | "/token/revocation"): Held;
  /** Has the token endpoint answer so, or cut the connection; undefined: as it is. */
  fail(how: { readonly status: number; readonly body: string } | "cut" | undefined): void;
  /** Answers no more. */
  stop(): Promise<void>;
}

export interface Held {
  /** Resolves when the first request waits. */
  readonly arrived: Promise<void>;
  release(): void;
}

export interface AuthorizationServerOptions {
  /** Seconds that an access token lives. */
  readonly lifeSeconds?: number;
  readonly registers?: boolean;
  /** Whether it gives refresh tokens. */
  readonly refreshes?: boolean;
  readonly clients?: readonly object[];
  /** A scope that no user is given, though it is asked for. */
  readonly withheld?: string;
  /** Reads the metadata documents of clients, by requests that this answers. @default none are read */
  readonly documents?: ((address: string) => Promise<Response>) | undefined;
}

export async function authorizationServer(options: AuthorizationServerOptions = {}): Promise<AuthorizationServer> {
  const { lifeSeconds = 600, registers = true, refreshes = true, clients = [], withheld, documents } = options;
  const http = createServer();
  const issuer = await listening(http);
  const given: string[] = [];
  const asked: URLSearchParams[] = [];
  const audience = {
    getResourceServerInfo: (_context: unknown, resource: string) => ({
      scope: SCOPES.join(" "),
      audience: resource,
      accessTokenTTL: lifeSeconds,
    }),
  };
  const configuration: Configuration = {
    clients: clients as NonNullable<Configuration["clients"]>,
    scopes: [...SCOPES],
    cookies: { keys: ["only for tests"] },
    findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    issueRefreshToken: async (_context, client) => refreshes && client.grantTypeAllowed("refresh_token"),
    rotateRefreshToken: true,
    ...(documents === undefined ? {} : { fetch: (address: unknown) => documents(String(address)) }),
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: registers },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      ...(documents === undefined ? {} : { clientIdMetadataDocument: { enabled: true, ack: "draft-02" } }),
      resourceIndicators: { enabled: true, useGrantedResource: () => true, ...audience },
    },
  };
  const provider = new Provider(issuer, configuration);
  provider.registerGrantType(
    EXCHANGE,
    async (context) => {
      const { client, params } = context.oidc;
      const subject = String(params?.["subject_token"]);
      if (client === undefined || !subject.startsWith("id-of-")) throw new errors.InvalidGrant("the subject token is not valid");
      const accountId = subject.slice("id-of-".length);
      const resource = String(params?.["resource"]);
      const grant = new provider.Grant({ accountId, clientId: client.clientId });
      grant.addResourceScope(resource, "tickets");
      const grantId = await grant.save();
      const token = new provider.AccessToken({ client, accountId, grantId, scope: "tickets", gty: EXCHANGE });
      token.resourceServer = new provider.ResourceServer(resource, audience.getResourceServerInfo(context, resource));
      const value = await token.save();
      context.body = { access_token: value, issued_token_type: ACCESS_TOKEN, token_type: "Bearer", expires_in: lifeSeconds };
    },
    ["subject_token", "subject_token_type", "resource", "scope"],
  );
  let held: { readonly path: string; readonly arrived: () => void; readonly released: Promise<void> } | undefined;
  provider.use(async (context, next) => {
    if (context.path === held?.path) {
      held.arrived();
      await held.released;
    }
    await next();
    const { body } = context;
    if (context.path !== "/token" || !isJsonObject(body)) return;
    asked.push(
      new URLSearchParams(Object.entries(context.oidc?.body ?? {}).map(([name, value]): [string, string] => [name, String(value)])),
    );
    for (const name of ["access_token", "refresh_token"]) if (typeof body[name] === "string") given.push(body[name]);
  });
  const answer = provider.callback();
  let failure: Parameters<AuthorizationServer["fail"]>[0];
  http.on("request", (request, response) => {
    void (async () => {
      if (request.url === "/token" && failure !== undefined)
        return failure === "cut" ? void response.destroy() : void response.writeHead(failure.status).end(failure.body);
      if (request.url?.startsWith("/interaction/") !== true) return answer(request, response);
      const account = /account=(\w+)/u.exec(request.headers.cookie ?? "")?.[1] ?? "nobody";
      const { prompt, params, grantId, session } = await provider.interactionDetails(request, response);
      if (prompt.name === "login") return provider.interactionFinished(request, response, { login: { accountId: account } });
      const grant =
        (grantId === undefined ? undefined : await provider.Grant.find(grantId)) ??
        new provider.Grant({ accountId: session?.accountId ?? account, clientId: String(params["client_id"]) });
      const scopes = SCOPES.filter((scope) => scope !== withheld).join(" ");
      grant.addOIDCScope(`openid offline_access ${scopes}`);
      grant.addResourceScope(String(params["resource"]), scopes);
      if (withheld !== undefined) grant.rejectOIDCScope(withheld);
      if (withheld !== undefined) grant.rejectResourceScope(String(params["resource"]), withheld);
      await provider.interactionFinished(
        request,
        response,
        { consent: { grantId: await grant.save() } },
        { mergeWithLastSubmission: true },
      );
    })();
  });
  return {
    issuer,
    given,
    asked,
    async accountOf(value) {
      const token = (await provider.AccessToken.find(value)) ?? (await provider.ClientCredentials.find(value));
      if (token === undefined || token.isExpired) return undefined;
      const scopes = [...token.scopes];
      return { account: "accountId" in token ? token.accountId : "a program", audience: String(token.aud), scopes };
    },
    async end(account, kinds) {
      for (const value of given) {
        const found = [await provider.AccessToken.find(value), await provider.RefreshToken.find(value)];
        for (const token of found) if (token?.accountId === account && kinds.some((kind) => kind === token.kind)) await token.destroy();
      }
    },
    hold(path) {
      const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      held = { path, arrived: arrived.resolve, released: released.promise };
      return { arrived: arrived.promise, release: released.resolve };
    },
    fail: (how) => void (failure = how),
    stop: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve());
        http.closeAllConnections();
      }),
    isValid: async (value) => (await provider.RefreshToken.find(value))?.isValid === true,
  };
}

export interface TicketServer {
  readonly url: string;
  /** The accounts that called, and the tokens that they sent. */
  readonly calls: readonly { readonly account: string; readonly token: string }[];
}

export interface TicketServerOptions {
  /** The authorization server that it names, read with each request. @default the one that it trusts */
  readonly names?: string;
  /** Its `scopes_supported`. */
  readonly offers?: readonly string[];
  /** Whether it refuses to list its tools, with the token in the refusal; read with each request. @default false */
  readonly hides?: boolean;
  /** Whether its tool says the token of the call as well. @default false */
  readonly repeatsToken?: boolean;
  /** Called before it lists its tools. */
  readonly beforeList?: (() => Promise<void>) | undefined;
  /** A call with a token that is not valid is refused once this has resolved. */
  readonly beforeRefusal?: (() => Promise<void>) | undefined;
  /** The scope without which it refuses calls with 403, and whether it refuses those with it as well. */
  readonly needed?: {
    readonly scope: string;
    readonly refuses?: boolean;
    /** A refusal is sent once this has resolved. */
    readonly beforeRefusal?: () => Promise<void>;
  };
}

/** Its tool says who calls. */
export async function ticketServer(authority: AuthorizationServer, options: TicketServerOptions = {}): Promise<TicketServer> {
  const { offers = ["tickets"], needed } = options;
  const http = createServer();
  const origin = await listening(http);
  const url = `${origin}/mcp`;
  const calls: { account: string; token: string }[] = [];
  const handler = createMcpHandler(({ authInfo }) => {
    const server = new McpServer({ name: "tickets", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", async () => {
      await options.beforeList?.();
      if (options.hides === true) throw new Error(`the token ${authInfo?.token} may list no tools`);
      return { tools: [{ name: "whoami", description: "Says who calls.", inputSchema: { type: "object" } }] };
    });
    server.setRequestHandler("tools/call", () => {
      const account = String(authInfo?.extra?.["account"]);
      calls.push({ account, token: authInfo?.token ?? "" });
      const repeated = options.repeatsToken === true ? ` with ${authInfo?.token}` : "";
      return { content: [{ type: "text", text: account + repeated }] };
    });
    return server;
  });
  const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
  let isCall = false;
  const verifier = {
    async verifyAccessToken(token: string) {
      const mayWait = isCall;
      const found = await authority.accountOf(token);
      if (mayWait && (found === undefined || found.audience !== url)) await options.beforeRefusal?.();
      if (found === undefined || found.audience !== url)
        throw new OAuthError(OAuthErrorCode.InvalidToken, `the token ${token} is not valid`);
      if (isCall && needed !== undefined && (needed.refuses === true || !found.scopes.includes(needed.scope))) {
        await needed.beforeRefusal?.();
        throw new OAuthError(OAuthErrorCode.InsufficientScope, `the scope ${needed.scope} is needed`);
      }
      return { token, clientId: "any", scopes: [...found.scopes], expiresAt: Date.now() / 1_000 + 60, extra: { account: found.account } };
    },
  };
  http.on("request", (incoming, outgoing) => {
    void (async () => {
      if (incoming.url?.startsWith("/.well-known/oauth-protected-resource") === true) {
        const metadata = { resource: url, authorization_servers: [options.names ?? authority.issuer], scopes_supported: offers };
        return void outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
      }
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const headers = new Headers(Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]));
      const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
      const request = new Request(url, { method: incoming.method ?? "GET", headers, ...body });
      let response: Response;
      try {
        isCall = chunks.some((chunk) => chunk.includes("tools/call"));
        const authInfo = await verifyBearerToken(headers.get("authorization"), { verifier, resourceMetadataUrl: metadataUrl });
        response = await handler.fetch(request, { authInfo });
      } catch (error: unknown) {
        const requiredScopes = needed === undefined ? {} : { requiredScopes: [needed.scope] };
        response = bearerAuthChallengeResponse(error, { resourceMetadataUrl: metadataUrl, ...requiredScopes });
      }
      outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(Buffer.from(await response.arrayBuffer()));
    })();
  });
  onTestFinished(() => handler.close());
  return { url, calls };
}

async function listening(http: Server): Promise<string> {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  const address = http.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
}
