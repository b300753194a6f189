/** Turns configured credentials into the providers and headers that the transports of the official client take. */
import type { AuthProvider, FetchLike, OAuthClientProvider } from "@modelcontextprotocol/client";
import { ToolError } from "../../core/error.ts";
import type { Log } from "../../core/ports.ts";
import { isWebAddress } from "./web-address.ts";
import { decodeUrlPart } from "../../core/secrets/redact.ts";
import { serverUrl, type McpAuth, type McpUrlOptions } from "./options.ts";

type ClientModule = typeof import("@modelcontextprotocol/client");

interface ProviderOptions {
  readonly sdk: ClientModule;
  /** Called with every token, so that it can be redacted. */
  readonly onToken: (token: string) => void;
}

/** The provider for OAuth; undefined for credentials that are only a header. */
export function oauthProvider(
  auth: McpAuth | undefined,
  { sdk, onToken }: ProviderOptions,
): OAuthClientProvider | AuthProvider | undefined {
  const provider = makeProvider(auth, sdk);
  return provider && withTokenListener(provider, onToken);
}

function makeProvider(auth: McpAuth | undefined, sdk: ClientModule): OAuthClientProvider | AuthProvider | undefined {
  switch (auth?.type) {
    case "client-credentials": {
      const { clientId, clientSecret, scope, issuer } = auth;
      const provider = new sdk.ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: issuer ?? NO_ISSUER });
      if (issuer === undefined) provider.clientInformation = () => ({ client_id: clientId, client_secret: clientSecret });
      return withScope(provider, scope);
    }
    case "private-key-jwt": {
      const { clientId, algorithm, scope, issuer } = auth;
      const privateKey = typeof auth.privateKey === "string" ? auth.privateKey : { ...auth.privateKey };
      const provider = new sdk.PrivateKeyJwtProvider({ clientId, privateKey, algorithm, expectedIssuer: issuer ?? NO_ISSUER });
      if (issuer === undefined) provider.clientInformation = () => ({ client_id: clientId });
      return withScope(provider, scope);
    }
    case "oauth":
      return guardedProvider(auth.provider);
    default:
      return undefined;
  }
}

/** Given in place of a missing issuer, for which the official client prints a warning with its own name of the option; it is not used. */
const NO_ISSUER = "urn:haft:no-issuer";
/** The `auth` objects that were warned about: a server is connected to more than once. */
const WARNED = new WeakSet<McpAuth>();

/** Warns once if the MCP server chooses who gets the credentials of `auth`. */
export function warnIfIssuerIsMissing({ auth }: McpUrlOptions, { url, log }: { readonly url: string; readonly log: Log }): void {
  if ((auth?.type !== "client-credentials" && auth?.type !== "private-key-jwt") || auth.issuer !== undefined || WARNED.has(auth)) return;
  WARNED.add(auth);
  const sent = auth.type === "client-credentials" ? "The client secret" : "The signed assertion";
  log.warn(
    `${sent} for ${url} is sent to any authorization server that this MCP server names. Set issuer in its auth to the one that may get it.`,
  );
}

type OwnProvider = Pick<Required<OAuthClientProvider>, "prepareTokenRequest">;

/** Makes the provider request the configured scope instead of all scopes that the server offers. */
function withScope<Own extends OAuthClientProvider & OwnProvider>(provider: Own, scope: string | undefined): Own {
  if (scope === undefined) return provider;
  const prepare = provider.prepareTokenRequest.bind(provider);
  provider.prepareTokenRequest = () => prepare(scope);
  return provider;
}

/** Guards the provider against addresses that are not web pages: its `redirectToAuthorization` might open anything. */
export function guardedProvider<T extends OAuthClientProvider | AuthProvider>(provider: T): T {
  return new Proxy(provider, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: readonly unknown[]): unknown => {
        if (name === "redirectToAuthorization" && !isWebAddress(String(values[0]))) {
          throw new ToolError("permission_denied", "The login address of the authorization server is not an http or https address.");
        }
        return Reflect.apply(value, target, values);
      };
    },
  });
}

/** Calls the listener with the tokens that the provider returns, and with those that it is given to keep. */
function withTokenListener<T extends OAuthClientProvider | AuthProvider>(provider: T, onToken: (token: string) => void): T {
  const report = (value: unknown): void => {
    const tokens: readonly unknown[] =
      typeof value === "object" && value !== null ? [Reflect.get(value, "access_token"), Reflect.get(value, "refresh_token")] : [value];
    for (const token of tokens) if (typeof token === "string" && token !== "") onToken(token);
  };
  return new Proxy(provider, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...values: readonly unknown[]): unknown => {
        if (name === "saveTokens") report(values[0]);
        const returned: unknown = Reflect.apply(value, target, values);
        if (name !== "token" && name !== "tokens") return returned;
        if (!isThenable(returned)) return (report(returned), returned);
        return Promise.resolve(returned).then((given: unknown) => (report(given), given));
      };
    },
  });
}

function isThenable(value: unknown): boolean {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Adds the configured headers and credentials to requests to the server's origin, and to no others. */
export function withConfiguredHeaders(fetch: FetchLike, options: McpUrlOptions): FetchLike {
  const own = configuredHeaders(options);
  if (own.length === 0) return fetch;
  const { origin } = serverUrl(options);
  return (url, init) => {
    if (new URL(url).origin !== origin) return fetch(url, init);
    const headers = new Headers(init?.headers);
    for (const [name, value] of own) if (!headers.has(name)) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
}

/** The configured headers, and the credentials as a header. */
export function configuredHeaders(options: McpUrlOptions): readonly (readonly [string, string])[] {
  const { headers = {}, auth } = options;
  const own: (readonly [string, string])[] = Object.entries(headers);
  const { username, password } = serverUrl(options);
  if (auth?.type === "bearer") own.push(["authorization", `Bearer ${auth.token}`]);
  else if (auth?.type === "basic") own.push(["authorization", basicCredentials(auth.username, auth.password)]);
  else if (username !== "") own.push(["authorization", basicCredentials(decodeUrlPart(username), decodeUrlPart(password))]);
  return own;
}

function basicCredentials(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}
