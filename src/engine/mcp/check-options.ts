/** Checks the options of an MCP server before anything starts. */
import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import { ToolError } from "../../core/error.ts";
import { isOptionsObject, quoteValue, describeValueType } from "../../core/base/wording.ts";
import { checkArgument } from "../../core/check-argument.ts";
import { checkKnownKeys, findUnknownKeyError, type OptionNames } from "../../core/known-keys.ts";
import { checkRename } from "../rename-tools.ts";
import { findDocumentUrlProblem } from "./login/client-document.ts";
import { MCP_OPTIONS, serverUrl } from "./options.ts";
import type {
  McpAuth,
  McpCommandOptions,
  McpOptions,
  McpOwnAuth,
  McpTokenExchangeAuth,
  McpTransportOptions,
  McpUrlOptions,
  McpUserLoginAuth,
} from "./options.ts";

/** @throws ToolError `invalid_argument` for options that cannot work; the message quotes no secrets */
export function checkOptions(options: McpOptions): void {
  checkKnownKeys(options, MCP_OPTIONS, "mcpEngine()");
  if (options.url !== undefined) checkUrl(options);
  else if (options.transport === undefined) checkCommand(options);
  else checkTransport(options);
  const { maxTools, roots = [], sampling, protocol = "auto" } = options;
  checkNumber(maxTools, "maxTools", COUNT);
  if (roots.some((root) => typeof root?.uri !== "string" || !root.uri.startsWith("file:")))
    throw invalidOption("Each of the roots of an MCP server needs a uri that begins with file:");
  if (sampling !== undefined && typeof sampling !== "function") throw invalidOption("sampling must be a function.");
  checkOneOf("protocol", protocol, ["auto", "legacy", "modern"]);
  checkToolSelection(options);
  checkRename(options.rename);
}

function checkToolSelection({ include = [], exclude = [], effects = {} }: McpOptions): void {
  for (const [key, patterns] of Object.entries({ include, exclude }))
    if (!Array.isArray(patterns) || patterns.some((pattern) => typeof pattern !== "string" || pattern === ""))
      throw invalidOption(`${key} must be an array of names of tools, such as ["read_*"].`);
  if (typeof effects !== "object" || effects === null || Object.values(effects).some((each) => typeof each !== "object" || each === null))
    throw invalidOption('effects must be an object of effects by tool name, such as { "read_*": readOnly() }.');
}

function checkCommand(options: McpCommandOptions): void {
  const { command, args = [], env = {} } = options;
  if (Array.isArray(command)) {
    throw invalidOption(
      `The command of an MCP server must be one string, the program that runs it, with its arguments in a separate array: ${describeCommandParts(command)}.`,
    );
  }
  if (typeof command !== "string" || command === "") {
    throw invalidOption('An MCP server needs a command, the program that runs it, such as "npx", a url, or in code a transport.');
  }
  const texts = [command, ...args, ...Object.keys(env), ...Object.values(env), options.cwd ?? ""];
  if (texts.some((text) => typeof text !== "string" || text.includes("\0"))) {
    throw invalidOption(`The arguments, variables and folder of the MCP server ${JSON.stringify(command)} must be strings without NUL.`);
  }
}

function checkTransport({ command, transport }: McpTransportOptions): void {
  if (command !== undefined) throw invalidOption("An MCP server has either a command or a transport, not both.");
  if (typeof transport === "function") return;
  throw invalidOption(
    `transport must be a function that makes a transport of the MCP SDK; it is ${typeof transport === "string" ? `${JSON.stringify(transport)}, which needs a url` : describeValueType(transport)}.`,
  );
}

/** The options that an array given as the command probably meant. */
function describeCommandParts([program = "npx", ...args]: readonly unknown[]): string {
  return `{ command: ${quoteValue(program)}, args: [${args.map(quoteValue).join(", ")}] }`;
}

/** Headers that the protocol or the connection sets. */
const PROTOCOL_HEADERS = new Set(["accept", "connection", "content-length", "content-type", "host", "last-event-id", "transfer-encoding"]);

/** Whether the connection sets this header itself, so that no option may. */
export function isProtocolHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return PROTOCOL_HEADERS.has(lower) || lower.startsWith("mcp-");
}

function checkUrl(options: McpUrlOptions): void {
  if (options.command !== undefined) throw invalidOption("An MCP server has either a command or a url, not both.");
  const url = serverUrl(options);
  const { transport = "auto", headers = {}, auth } = options;
  if (typeof transport === "function")
    throw invalidOption("An MCP server has either a url or a function that makes its transport, not both.");
  checkOneOf("transport", transport, ["auto", "http", "sse"]);
  if (transport === "sse" && options.protocol === "modern") throw invalidOption("The sse transport knows only the legacy protocol.");
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (isProtocolHeader(name)) throw invalidOption(`The header ${JSON.stringify(name)} belongs to the protocol.`);
    if (!/^[\w!#$%&'*+.^`|~-]+$/u.test(name)) throw invalidOption(`${JSON.stringify(name)} is not a name for a header.`);
    if (typeof value !== "string" || /[^\t\u0020-\u007e\u0080-\u00ff]/u.test(value))
      throw invalidOption(`The header ${name} must be printable text.`);
    if (lower === "authorization" && auth !== undefined)
      throw invalidOption("The header authorization and auth are both given; use only one of them.");
  }
  if (auth !== undefined) checkAuth(auth);
  if (auth !== undefined && url.username !== "")
    throw invalidOption("The url has a name and password, and auth is also given; use only one of them.");
}

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

function checkAuth(auth: McpAuth): void {
  checkArgument(isOptionsObject(auth), "mcpEngine({ auth })", "an object", auth, 'For example { type: "bearer", token }.');
  const texts = auth.type === "bearer" ? [auth.token] : auth.type === "basic" ? [auth.username, auth.password] : [];
  if (texts.some((text) => typeof text !== "string" || text === "" || /[^\u0020-\u007e]/u.test(text))) {
    throw invalidOption(`The ${auth.type} credentials must be printable ASCII and not empty.`);
  }
  checkOneOf("auth.type", auth.type, Object.keys(AUTH_FIELDS));
  const unknown = findUnknownKeyError(auth, AUTH_FIELDS[auth.type], "mcpEngine({ auth })");
  if (unknown !== undefined) throw unknown;
  if (auth.type === "user-login") checkUserLogin(auth);
  if (auth.type === "token-exchange") checkTokenExchange(auth);
}

function checkUserLogin({ logins, clientId, clientMetadataUrl, clientSecret, issuer, listWith }: McpUserLoginAuth): void {
  if (typeof logins?.tokenSource !== "function") throw invalidOption("auth.logins must be a UserLogins, as created by new UserLogins().");
  if (clientSecret !== undefined && (clientId === undefined || issuer === undefined))
    throw invalidOption("auth.clientSecret needs auth.clientId and auth.issuer, the only authorization server that it is sent to.");
  const problem = clientMetadataUrl === undefined ? undefined : findDocumentUrlProblem(clientMetadataUrl);
  if (problem !== undefined) throw invalidOption(`auth.clientMetadataUrl ${problem}.`);
  if (clientId !== undefined && clientMetadataUrl !== undefined)
    throw invalidOption("auth.clientId and auth.clientMetadataUrl are both given; use only one of them.");
  if (listWith !== undefined) checkListWith(listWith);
}

function checkTokenExchange({ issuer, clientId, clientSecret, subjectToken, listWith }: McpTokenExchangeAuth): void {
  for (const [name, value] of Object.entries({ issuer, clientId, clientSecret }))
    if (typeof value !== "string" || value === "") throw invalidOption(`auth.${name} must be a string that is not empty.`);
  if (typeof subjectToken !== "function") throw invalidOption("auth.subjectToken must be a function.");
  checkListWith(listWith);
}

function checkListWith(auth: McpOwnAuth): void {
  checkOneOf("auth.listWith.type", auth?.type, OWN_TYPES);
  checkAuth(auth);
}

function checkOneOf(name: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) throw invalidOption(`${name} is ${quoteValue(value)}; it takes ${allowed.join(", ")}.`);
}

function invalidOption(message: string): ToolError {
  return new ToolError("invalid_argument", message);
}
