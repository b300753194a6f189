/** Reads the credentials for servers: our own tables, and the keys of other systems. */
import type { McpOwnAuth, McpUserLoginAuth } from "../../engine/mcp/options.ts";
import type { ApiKey, RestAuth, RestOptions } from "../../engine/rest/rest-options.ts";
import { findDocumentUrlProblem } from "../../engine/mcp/login/client-document.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { kindOf, type TableReader } from "../table-reader.ts";
import type { ReadContext } from "../toolset/toolset-type.ts";

const REST_KINDS = ["bearer", "basic", "apiKey", "oauth2"] as const;
const OWN_KINDS = ["bearer", "basic", "client-credentials", "private-key-jwt"] as const;
const MCP_KINDS = [...OWN_KINDS, "user-login"] as const;
const PLACES = ["header", "query", "cookie"] as const;
const SENDS = ["basic", "body"] as const;

/** The credentials of an MCP server. The logins of its users are kept by the program. */
export type McpConfigAuth = McpOwnAuth | McpUserLogin;

type McpUserLogin = Omit<McpUserLoginAuth, "logins">;

/** Reads one string that may be a secret, and resolves its variables. @param meaning describes a required string; undefined = optional */
type Secret = (key: string, meaning: string | undefined) => string | undefined;

/** Reads one credential for all operations, several that are used together, or one for each security scheme of the document. */
export function readRestAuth(table: TableReader, context: ReadContext): RestOptions["auth"] {
  if (Array.isArray(table.value("auth"))) return table.tables("auth")?.flatMap((each) => readRestKind(each, context) ?? []);
  const auth = table.table("auth");
  if (auth === undefined) return context.otherWords ? readOtherAuths(table, context) : undefined;
  if (auth.has("type")) return readRestKind(auth, context);
  const readScheme = (scheme: TableReader | undefined): RestAuth | undefined => scheme && readRestKind(scheme, context);
  return Object.fromEntries(auth.mapEntries((name) => readScheme(auth.table(name))));
}

export function readMcpAuth(table: TableReader, context: ReadContext): McpConfigAuth | undefined {
  if (typeof table.peek("auth") === "string") {
    table.value("auth");
    table.report("auth", 'must be an object with a type, such as { type = "user-login" }, not a string.');
    return undefined;
  }
  const auth = table.table("auth");
  if (auth !== undefined) return readMcpKind(auth, context);
  return context.otherWords ? readOtherAuth(table, context) : undefined;
}

function readRestKind(table: TableReader, context: ReadContext): RestAuth | undefined {
  const type = table.choice("type", REST_KINDS, { required: true });
  const secret = secretReader(table, context);
  const auth = type === "bearer" || type === "basic" ? readSimple(type, secret) : readRestOther(type, table, secret);
  if (type === undefined) table.ignoreRest();
  table.reportUnknownKeys();
  return auth;
}

function readRestOther(type: "apiKey" | "oauth2" | undefined, table: TableReader, secret: Secret): RestAuth | undefined {
  if (type === "apiKey") {
    const name = secret("name", undefined);
    const place = table.choice("in", PLACES);
    const value = secret("value", "the key");
    return value === undefined ? undefined : { type, value, ...omitUndefined({ name, in: place }) };
  }
  if (type === undefined) return undefined;
  const tokenUrl = secret("tokenUrl", "where tokens are fetched");
  const clientId = secret("clientId", "the id of the client");
  const clientSecret = secret("clientSecret", "the secret of the client");
  const more = omitUndefined({ scopes: table.texts("scopes"), audience: table.text("audience"), send: table.choice("send", SENDS) });
  if (tokenUrl === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  return { type, tokenUrl, clientId, clientSecret, ...more };
}

function readMcpKind(table: TableReader, context: ReadContext): McpConfigAuth | undefined {
  if (table.peek("type") === "token-exchange") {
    table.report("type", NO_EXCHANGE);
    table.ignoreRest();
    return undefined;
  }
  if (table.peek("type") !== "user-login") return readOwnKind(table, context, MCP_KINDS);
  const type = "user-login";
  table.value("type");
  const auth = { type, ...readUserLogin(table, context) } as const;
  table.reportUnknownKeys();
  return auth;
}

const NO_EXCHANGE =
  'is "token-exchange", which needs a function that returns the token of each user, and a file cannot have one. Create the toolset in code: mcpToolset() with auth.subjectToken. Or let users log in: "user-login".';

function readUserLogin(table: TableReader, context: ReadContext): Omit<McpUserLogin, "type"> {
  const secret = secretReader(table, context);
  const clientSecret = secret("clientSecret", undefined);
  const login = omitUndefined({
    clientId: secret("clientId", undefined),
    clientMetadataUrl: table.text("clientMetadataUrl"),
    clientSecret,
    scope: table.text("scope"),
    issuer: table.text("issuer"),
  });
  if (clientSecret !== undefined && (login.clientId === undefined || login.issuer === undefined))
    table.report("clientSecret", "needs clientId and issuer, the only authorization server that it is sent to.");
  const problem = login.clientMetadataUrl === undefined ? undefined : findDocumentUrlProblem(login.clientMetadataUrl);
  if (problem !== undefined) table.report("clientMetadataUrl", `${problem}.`);
  else if (login.clientMetadataUrl !== undefined && login.clientId !== undefined)
    table.report("clientMetadataUrl", "is not needed next to clientId: one of them is enough.");
  const lister = table.table("listWith");
  const listWith = lister === undefined ? undefined : readOwnKind(lister, context, OWN_KINDS);
  return { ...login, ...omitUndefined({ listWith }) };
}

/** Reads the program's own credentials. @param kinds the types that are allowed here, for the message about another one */
function readOwnKind(table: TableReader, context: ReadContext, kinds: readonly McpConfigAuth["type"][]): McpOwnAuth | undefined {
  const type = table.choice("type", kinds, { required: true });
  const secret = secretReader(table, context);
  if (type === undefined || type === "user-login") {
    table.ignoreRest();
    return undefined;
  }
  const auth = type === "bearer" || type === "basic" ? readSimple(type, secret) : readMcpOther(type, table, secret);
  table.reportUnknownKeys();
  return auth;
}

function readMcpOther(type: "client-credentials" | "private-key-jwt", table: TableReader, secret: Secret): McpOwnAuth | undefined {
  const clientId = secret("clientId", "the id of the client");
  const more = omitUndefined({ scope: table.text("scope"), issuer: table.text("issuer") });
  if (type === "client-credentials") {
    const clientSecret = secret("clientSecret", "the secret of the client");
    return clientId === undefined || clientSecret === undefined ? undefined : { type, clientId, clientSecret, ...more };
  }
  const privateKey = secret("privateKey", "the key in PEM");
  const algorithm = table.requiredText("algorithm", 'such as "ES256"');
  return clientId === undefined || privateKey === undefined || algorithm === undefined
    ? undefined
    : { type, clientId, privateKey, algorithm, ...more };
}

type SimpleAuth = Extract<RestAuth, { readonly type: "bearer" | "basic" }>;

function readSimple(type: SimpleAuth["type"], secret: Secret): SimpleAuth | undefined {
  if (type === "bearer") {
    const token = secret("token", "the bearer token");
    return token === undefined ? undefined : { type, token };
  }
  const username = secret("username", "the name of the user");
  const password = secret("password", "the password");
  return username === undefined || password === undefined ? undefined : { type, username, password };
}

/** Reads `bearer_token: …` or `basic_auth: [name, password]`; a token wins over a password. */
function readOtherAuth(table: TableReader, context: ReadContext): SimpleAuth | undefined {
  const token = table.has("bearer_token") ? secretReader(table, context)("bearer_token", "the bearer token") : undefined;
  const basic = readBasicPair(table, context);
  return token === undefined ? basic : { type: "bearer", token };
}

/** Like `readOtherAuth`, and `api_key: {name, value, location}` in addition. */
function readOtherAuths(table: TableReader, context: ReadContext): RestOptions["auth"] {
  const auth = readOtherAuth(table, context);
  const apiKey = readOtherKey(table, context);
  return auth === undefined || apiKey === undefined ? (auth ?? apiKey) : [auth, apiKey];
}

/** Reads `api_key` of an MCP server as an additional header. Any other location is reported, because these servers only get headers. */
export function readKeyHeader(table: TableReader, context: ReadContext): Readonly<Record<string, string>> {
  const key = context.otherWords ? readOtherKey(table, context) : undefined;
  if (key === undefined) return {};
  const { name = "", in: place, value } = key;
  if (place === "header") return { [name]: value };
  table.report("api_key", `an MCP server is sent a key in a header only, not in the ${place}.`);
  return {};
}

function readOtherKey(table: TableReader, context: ReadContext): ApiKey | undefined {
  const key = table.table("api_key");
  const keySecret = key === undefined ? undefined : secretReader(key, context);
  const name = keySecret?.("name", "what the header or query parameter is called");
  const value = keySecret?.("value", "the key");
  const place = key?.choice("location", PLACES) ?? "header";
  key?.reportUnknownKeys();
  return name === undefined || value === undefined ? undefined : { type: "apiKey", in: place, name, value };
}

function readBasicPair(table: TableReader, { variables }: ReadContext): Extract<RestAuth, { readonly type: "basic" }> | undefined {
  const [username, password, ...more] = table.texts("basic_auth") ?? [];
  if (username === undefined) return undefined;
  if (password === undefined || more.length > 0) {
    table.report(
      "basic_auth",
      `must be an array of a name and a password, not ${kindOf(table.value("basic_auth"))} of ${1 + more.length}.`,
    );
    return undefined;
  }
  const place = [...table.path, "basic_auth"];
  return {
    type: "basic",
    username: variables.resolveSent(username, [...place, 0]),
    password: variables.resolveSent(password, [...place, 1]),
  };
}

function secretReader(table: TableReader, { variables }: ReadContext): Secret {
  return (key, meaning) => {
    const written = meaning === undefined ? table.text(key) : table.requiredText(key, meaning);
    return written === undefined ? undefined : variables.resolveSent(written, [...table.path, key]);
  };
}
