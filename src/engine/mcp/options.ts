import { MIN_LENGTH_IN_ANSWER, addressCredentials, decodeUrlPart, isCredentialName, pickCredentials } from "../../core/secrets/redact.ts";
import type { AuthProvider, OAuthClientProvider } from "@modelcontextprotocol/client";
import type { Effects } from "../../core/resources/effects.ts";
import { ToolError } from "../../core/error.ts";
import { encodeBasicCredentials } from "../../net/basic-credentials.ts";
import { passwordOfHeader, wordsOfHeader } from "../../net/header-credentials.ts";
import type { OptionNames } from "../../core/known-keys.ts";
import type { JsonObject } from "../../core/base/json.ts";
import { isTokenCount } from "../../core/formats/token-counts.ts";
import type { UserLogins } from "./login/user-logins.ts";
import type { HttpClientOptions } from "../../net/http-request.ts";
import type { ServerCommand } from "../../processes/server-command.ts";

/** A command to start, an address, or a transport that the program makes. */
export type McpOptions = McpCommandOptions | McpUrlOptions | McpTransportOptions;

/** A server that runs as a child process and communicates over its standard input and output. */
export interface McpCommandOptions extends ServerCommand, McpCommonOptions {
  readonly url?: never;
  readonly transport?: never;
}

/** A server over HTTP. */
export interface McpUrlOptions extends McpCommonOptions, Pick<HttpClientOptions, "verifyTls" | "ca"> {
  readonly command?: never;
  /**
   * http or https. A name and password in it are sent as basic authentication. A private address, or `localhost`, is allowed if it is written here
   * itself. Without a path, `/mcp` and `/sse` are tried if there is no server at `/`.
   */
  readonly url: string | URL;
  /** `http` is Streamable HTTP, `sse` the older transport of two addresses; `auto` tries them in this order. @default "auto" */
  readonly transport?: "auto" | "http" | "sse";
  /** Sent with every request to the server's own origin, and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly auth?: McpAuth;
  /** See `HttpClientOptions.allowPrivate`; an authorization server is reached by the same rules. */
  readonly allowPrivate?: readonly string[];
}

/** A server behind a transport of the program, such as one in the same process. */
export interface McpTransportOptions extends McpCommonOptions {
  readonly command?: never;
  readonly url?: never;
  /**
   * Makes a transport to the server, which is not started yet. Called for each connection: when the toolset opens, and after a connection was lost.
   * The transport is closed with the connection, and also if opening was cancelled before it was made. In code only: a configuration file cannot have
   * it.
   */
  readonly transport: () => McpTransport | Promise<McpTransport>;
}

/**
 * The `Transport` of the official SDK, version 1 or 2: for example one half of `InMemoryTransport.createLinkedPair()`. Messages are copied and
 * checked like those of a child process.
 */
export interface McpTransport {
  start(): Promise<void>;
  send(message: { readonly jsonrpc: "2.0" }, options?: never): Promise<void>;
  close(): Promise<void>;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: never, extra?: never) => void) | undefined;
}

/** Options of every MCP server. */
export interface McpCommonOptions {
  /** Whether the server's hints that a tool only reads or may be repeated are believed. @default false: its hints only add caution */
  readonly trustAnnotations?: boolean;
  /** Use only these tools: names, `*` for any characters. @default all of them */
  readonly include?: readonly string[];
  /** Leave out these tools, even if `include` matches them: names, `*` for any characters. */
  readonly exclude?: readonly string[];
  /**
   * Effects by tool name, `*` for any characters, in place of those from the server's hints; the first match is used. A tool without a match is
   * undeclared, unless hints are believed.
   */
  readonly effects?: Readonly<Record<string, Effects>>;
  /**
   * New names of tools, by the server's names. `include`, `exclude` and `effects` use the server's names, and everything else, such as `permission`,
   * the new ones. A name that no included tool has, or that two tools would have, is an error.
   */
  readonly rename?: Readonly<Record<string, string>>;
  /** Maximum number of tools; a longer list is refused. Integer ≥ 1. @default 100_000 */
  readonly maxTools?: number;
  /** Folders or other places that the server may work in. @default none */
  readonly roots?: readonly McpRoot[];
  /** Answers the server's sampling requests, at most 16 in one call. @default sampling is not offered */
  readonly sampling?: McpSampler;
  /** Further values to redact in errors and logs, by name, such as a secret in an argument or in the path of `url`. @default none */
  readonly secrets?: Readonly<Record<string, string>>;
  /** The era of the protocol: up to 2025-11-25, from 2026-07-28, or the newest that the server supports. @default "auto" */
  readonly protocol?: "auto" | "legacy" | "modern";
}

/** A folder that an MCP server may work in. */
export interface McpRoot {
  /** A `file:` address. */
  readonly uri: string;
  readonly name?: string;
}

/** Takes the params of `sampling/createMessage` and resolves with its result. Rejecting refuses it. */
export type McpSampler = (
  params: JsonObject,
  context: { readonly asker: string; readonly signal: AbortSignal },
) => JsonObject | Promise<JsonObject>;

/** Credentials for an MCP server. */
export type McpAuth =
  | McpBearerAuth
  | McpBasicAuth
  | McpClientCredentialsAuth
  | McpPrivateKeyAuth
  | McpOAuth
  | McpUserLoginAuth
  | McpTokenExchangeAuth;

/** Credentials of this program, not of one of its users. */
export type McpOwnAuth = McpBearerAuth | McpBasicAuth | McpClientCredentialsAuth | McpPrivateKeyAuth;

/** A token in the request (RFC 6750). */
export interface McpBearerAuth {
  readonly type: "bearer";
  readonly token: string;
}

/** A user and a password (RFC 7617). */
export interface McpBasicAuth {
  readonly type: "basic";
  readonly username: string;
  readonly password: string;
}

/** OAuth 2.1 without a person: the grant `client_credentials` with a secret. */
export interface McpClientCredentialsAuth {
  readonly type: "client-credentials";
  readonly clientId: string;
  readonly clientSecret: string;
  /** Space-separated. */
  readonly scope?: string;
  /** The only authorization server that the secret may be sent to. @default the one that the MCP server names */
  readonly issuer?: string;
}

/** OAuth 2.1 without a person: the grant `client_credentials` with a signed assertion. */
export interface McpPrivateKeyAuth {
  readonly type: "private-key-jwt";
  readonly clientId: string;
  /** PEM, or a JWK. */
  readonly privateKey: string | Readonly<Record<string, unknown>>;
  /** `ES256`, `RS256`. */
  readonly algorithm: string;
  readonly scope?: string;
  /** The only authorization server that the assertion may be sent to. @default the one that the MCP server names */
  readonly issuer?: string;
}

/** OAuth 2.1 with a person, by a provider of the official client. */
export interface McpOAuth {
  readonly type: "oauth";
  /** Stores registration, tokens and verifier. Its `redirectToAuthorization` only gets http or https addresses. */
  readonly provider: OAuthClientProvider | AuthProvider;
  /**
   * Waits until the person has returned from the address that `redirectToAuthorization` got, and resolves with the query of that request, with `code`
   * and `iss`. Without it, a server that requires a login cannot be opened.
   */
  readonly callback?: (signal: AbortSignal) => Promise<URLSearchParams>;
}

/**
 * OAuth 2.1 for each user: the principal of a call (`context.data.principal`, else the single local user) logs in to the server once, and the call is
 * sent with that user's token. A call without a token asks its user to open a page; if it cannot ask, it ends with `permission_denied` and the
 * address of the page.
 */
export interface McpUserLoginAuth {
  readonly type: "user-login";
  /** Stores the tokens and serves the pages of logins. */
  readonly logins: UserLogins;
  /** A client that is registered at the authorization server. @default the client registers itself */
  readonly clientId?: string;
  /**
   * The https address of a document that describes the client. At authorization servers that read such documents (OAuth Client ID Metadata Document)
   * it is the client's id; at others the client registers itself. Not with `clientId`. If the pages of `logins` are at an https origin, they serve
   * such a document at `/upstreams/client.json`, which is used for logins on these pages only. @default none
   */
  readonly clientMetadataUrl?: string;
  /** Requires `issuer`. */
  readonly clientSecret?: string;
  /** Space-separated. @default the scope that the server asks for */
  readonly scope?: string;
  /** The only authorization server that users are sent to. @default the one that the MCP server names */
  readonly issuer?: string;
  /** Credentials for listing the tools. Without them, the tools are those that a logged-in user gets, and before the first login a tool `login`. */
  readonly listWith?: McpOwnAuth;
}

/** OAuth 2.1 for each user without a login: a token of the user is exchanged for one of the server (RFC 8693). */
export interface McpTokenExchangeAuth {
  readonly type: "token-exchange";
  /** The only authorization server that tokens are requested from. */
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Space-separated. @default the scope that the server asks for */
  readonly scope?: string;
  /** Returns the token of a user to exchange; called whenever a new one is needed. Throwing or rejecting ends the call. */
  readonly subjectToken: (user: string) => string | Promise<string>;
  /** @default "urn:ietf:params:oauth:token-type:access_token" */
  readonly subjectTokenType?: string;
  /** Credentials for listing the tools. */
  readonly listWith: McpOwnAuth;
}

export const MCP_OPTIONS: OptionNames<McpOptions> = {
  command: true,
  args: "strings",
  env: "object",
  secrets: "object",
  cwd: "string",
  url: true,
  transport: true,
  headers: "object",
  auth: true,
  allowPrivate: true,
  verifyTls: "boolean",
  ca: true,
  trustAnnotations: "boolean",
  include: true,
  exclude: true,
  effects: true,
  rename: true,
  maxTools: true,
  roots: "array",
  sampling: true,
  protocol: true,
};

/** The address, including any name and password in it. */
export function serverUrl(options: McpUrlOptions): URL {
  const text = String(options.url);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== "http:" && url?.protocol !== "https:")
    throw new ToolError("invalid_argument", "The url of an MCP server must begin with http:// or https://.");
  return url;
}

/** The address of a server for messages: without a name, password, query or fragment. */
export function redactUrl(url: URL): string {
  return url.origin + url.pathname;
}

/** A header as an argument, such as that of `--header`, or after `--header=`. */
const HEADER_ARGUMENT = /^(?:-{1,2}[\w-]+=)?([\w-]+): *(\S.*)$/su;
const SECRET_NAME = /token|secret|password|passwd|pwd|credential|auth|(?:^|[-_])(?:api)?[-_]?key$|apikey/iu;

/** The secrets of a server, by the text that replaces each in messages. */
export function collectSecrets(options: McpOptions): Readonly<Record<string, string>> {
  const secrets: Record<string, string> = {};
  const addSecret = (name: string, value: unknown): void => {
    if (typeof value === "string" && value !== "" && !isTokenCount(name, value)) secrets[name] = value;
  };
  for (const [name, value] of Object.entries(options.secrets ?? {})) addSecret(name, value);
  if (options.url === undefined) {
    if (options.command === undefined) return secrets;
    for (const [name, value] of Object.entries(options.env ?? {})) addSecret(name, value);
    addArgumentSecrets(options.args ?? [], addSecret);
    return secrets;
  }
  for (const [name, value] of Object.entries(options.headers ?? {})) addHeaderSecrets(name, value, addSecret);
  const url = serverUrl(options);
  const [username, password] = [decodeUrlPart(url.username), decodeUrlPart(url.password)];
  addSecret("password", password);
  if (password === "") addSecret("user token", username); // a key, which many services take as the name of a user without a password
  if (username !== "") addSecret("credentials", encodeBasicCredentials({ username, password }));
  for (const [name, value] of url.searchParams) {
    addSecret(name, value);
    addSecret(`${name} encoded`, encodeURIComponent(value));
  }
  addAuthSecrets(options.auth, addSecret);
  return secrets;
}

/** The credentials of a server, which are struck out of its answers as well: some repeat their environment or their request. */
export function collectCredentials(options: McpOptions): Readonly<Record<string, string>> {
  return pickCredentials(collectSecrets(options));
}

type AddSecret = (name: string, value: unknown) => void;

/** Adds the value of a header, the part after a word such as `Bearer`, the password that `Basic` encodes, and the values of cookies. */
function addHeaderSecrets(name: string, value: string, addSecret: AddSecret): void {
  addSecret(name, value);
  addSecret(`${name} value`, /^\w+ +([^ ].*)$/u.exec(value)?.[1]);
  addSecret(`${name} password`, passwordOfHeader(value));
  if (!isCredentialName(name)) return;
  const values = wordsOfHeader(value).filter((word) => word.length >= MIN_LENGTH_IN_ANSWER);
  for (const [index, word] of values.entries()) addSecret(`${name} value ${index + 1}`, word);
}

function addAuthSecrets(auth: McpAuth | undefined, addSecret: AddSecret): void {
  if (auth?.type === "bearer") addSecret("token", auth.token);
  if (auth?.type === "basic") {
    addSecret("password", auth.password);
    addSecret("credentials", encodeBasicCredentials(auth));
  }
  if (auth?.type === "client-credentials") addSecret("clientSecret", auth.clientSecret);
  if (auth?.type === "private-key-jwt") addSecret("privateKey", auth.privateKey);
  if (auth?.type !== "user-login" && auth?.type !== "token-exchange") return;
  addSecret("client secret", auth.clientSecret);
  addAuthSecrets(auth.listWith, addSecret);
}

/** Collects the values of `--token=…`, `--api-key …`, `API_TOKEN=…` and `--header "Authorization: …"`, and passwords and keys in addresses. */
function addArgumentSecrets(args: readonly string[], addSecret: AddSecret): void {
  for (const [index, argument] of args.entries()) {
    const [, option = "", value] = /^-{0,2}([\w.-]+)(?:=(.*))?$/su.exec(argument) ?? [];
    if (SECRET_NAME.test(option) && value !== undefined) addSecret(option, value);
    else if (SECRET_NAME.test(option) && argument.startsWith("-") && args[index + 1]?.startsWith("-") === false)
      addSecret(option, args[index + 1]);
    const [, header = "", content = ""] = HEADER_ARGUMENT.exec(argument) ?? [];
    if (isCredentialName(header)) addHeaderSecrets(header, content, addSecret);
    for (const [name, secret] of Object.entries(addressCredentials(`argument ${index + 1}`, argument))) addSecret(name, secret);
  }
}
