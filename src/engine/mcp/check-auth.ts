/** Checks the credentials of an MCP server before anything starts. */
import { ToolError } from "../../core/error.ts";
import { unknownKey, type OptionNames } from "../../core/known-keys.ts";
import { documentProblem } from "./login/client-document.ts";
import type { McpAuth, McpOwnAuth, McpTokenExchangeAuth, McpUserLoginAuth } from "./options.ts";

const AUTH_FIELDS: { readonly [Type in McpAuth["type"]]: OptionNames<Extract<McpAuth, { readonly type: Type }>> } = {
  bearer: { type: true, token: true },
  basic: { type: true, username: true, password: true },
  "client-credentials": { type: true, clientId: true, clientSecret: true, scope: true, issuer: true },
  "private-key-jwt": { type: true, clientId: true, privateKey: true, algorithm: true, scope: true, issuer: true },
  oauth: { type: true, provider: true, callback: true },
  "user-login": {
    type: true,
    logins: true,
    clientId: true,
    clientMetadataUrl: true,
    clientSecret: true,
    scope: true,
    issuer: true,
    listWith: true,
  },
  "token-exchange": {
    type: true,
    issuer: true,
    clientId: true,
    clientSecret: true,
    scope: true,
    subjectToken: true,
    subjectTokenType: true,
    listWith: true,
  },
};

const OWN_TYPES: readonly string[] = ["bearer", "basic", "client-credentials", "private-key-jwt"] satisfies McpOwnAuth["type"][];

/** @throws ToolError `invalid_argument` for credentials that cannot work; what is secret is not quoted */
export function checkAuth(auth: McpAuth): void {
  const texts = auth.type === "bearer" ? [auth.token] : auth.type === "basic" ? [auth.username, auth.password] : [];
  if (texts.some((text) => typeof text !== "string" || text === "" || /[^\u0020-\u007e]/u.test(text))) {
    throw wrong(`The ${auth.type} credentials must be printable ASCII and not empty.`);
  }
  oneOf("auth.type", auth.type, Object.keys(AUTH_FIELDS));
  const unknown = unknownKey(auth, AUTH_FIELDS[auth.type], "mcpEngine({ auth })");
  if (unknown !== undefined) throw unknown;
  if (auth.type === "user-login") checkUserLogin(auth);
  if (auth.type === "token-exchange") checkTokenExchange(auth);
}

function checkUserLogin({ logins, clientId, clientMetadataUrl, clientSecret, issuer, listWith }: McpUserLoginAuth): void {
  if (typeof logins?.tokenSource !== "function") throw wrong("auth.logins must be what new UserLogins() gives.");
  if (clientSecret !== undefined && (clientId === undefined || issuer === undefined))
    throw wrong("auth.clientSecret needs auth.clientId and auth.issuer, the only authorization server that it is sent to.");
  const problem = clientMetadataUrl === undefined ? undefined : documentProblem(clientMetadataUrl);
  if (problem !== undefined) throw wrong(`auth.clientMetadataUrl ${problem}.`);
  if (clientId !== undefined && clientMetadataUrl !== undefined)
    throw wrong("auth.clientId and auth.clientMetadataUrl are given; one of them is enough.");
  if (listWith !== undefined) checkListWith(listWith);
}

function checkTokenExchange({ issuer, clientId, clientSecret, subjectToken, listWith }: McpTokenExchangeAuth): void {
  for (const [name, value] of Object.entries({ issuer, clientId, clientSecret }))
    if (typeof value !== "string" || value === "") throw wrong(`auth.${name} must be a string that is not empty.`);
  if (typeof subjectToken !== "function") throw wrong("auth.subjectToken must be a function.");
  checkListWith(listWith);
}

function checkListWith(auth: McpOwnAuth): void {
  oneOf("auth.listWith.type", auth?.type, OWN_TYPES);
  checkAuth(auth);
}

export function oneOf(name: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) throw wrong(`${name} is ${JSON.stringify(value)}; it takes ${allowed.join(", ")}.`);
}

export function wrong(message: string): ToolError {
  return new ToolError("invalid_argument", message);
}
