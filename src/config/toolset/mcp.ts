/** `type = "mcp"`: an MCP server, run by a command or reached by its address. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import type { Engine } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import { describeSystemError } from "../../toolsets/files/file-error.ts";
import { type JsonObject, copyJson, isJsonObject } from "../../core/base/json.ts";
import { knownTools } from "../../engine/known-tools.ts";
import { mcpEngine } from "../../engine/mcp.ts";
import type { UserLogins } from "../../engine/mcp/login/user-logins.ts";
import type { McpCommonOptions, McpOptions, McpUrlOptions } from "../../engine/mcp/options.ts";
import { perSession } from "../../engine/per-session.ts";
import { readKeyHeader, readMcpAuth, type McpConfigAuth } from "../tables/auth-config.ts";
import { COUNT, MILLISECONDS } from "../../core/base/number-bounds.ts";
import { readEffectsByName } from "../tables/effects-config.ts";
import { filePath } from "../file-path.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import type { TableReader } from "../table-reader.ts";
import { readVariables, type Variables } from "../variables.ts";
import type { BuildContext, CommonConfig, ConnectionConfig, ReadContext, ToolsetType } from "./toolset-type.ts";
import { findRenameProblems, type Rename } from "../../engine/rename-tools.ts";

export type McpConfig = CommonConfig & ConnectionConfig & McpServer & { readonly type: "mcp" };

/** How a server is started or reached. */
export type McpServer = (McpCommand | McpAddress) &
  Omit<McpCommonOptions, "trustAnnotations" | "roots" | "sampling"> & { readonly trustAnnotations: boolean };

interface McpCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The working folder: relative to the configuration file and inside its folder, or absolute. @default the folder of the configuration */
  readonly cwd?: string;
  readonly url?: never;
  readonly auth?: never;
}

/** `ca` is the path of a file. */
interface McpAddress extends Pick<McpUrlOptions, "command" | "transport" | "allowPrivate" | "verifyTls" | "ca"> {
  readonly url: string;
  readonly auth?: McpConfigAuth;
  readonly headers: Readonly<Record<string, string>>;
}

const TRANSPORTS = ["auto", "http", "sse"] as const;
const OTHER_TRANSPORTS = ["stdio", ...TRANSPORTS] as const;
const PROTOCOLS = ["auto", "legacy", "modern"] as const;
const STARTS = ["eager", "lazy"] as const;

export const mcpType: ToolsetType<McpConfig> = {
  keyAtFault: ({ url }) => (url === undefined ? "command" : "url"),
  read(table, common, context) {
    const server = readMcpServer(table, context);
    const connection = readConnection(table);
    return server === undefined ? undefined : { type: "mcp", ...common, ...server, ...connection };
  },
  build(_place, config, context) {
    const { openTimeoutMs } = config;
    return { toolset: { engine: createMcpEngine(config, context), ...omitUndefined({ openTimeoutMs }) } };
  },
};

/** Reads the settings of a toolset whose engine connects to a server. */
export function readConnection(table: TableReader): ConnectionConfig {
  return omitUndefined({
    openTimeoutMs: table.number("openTimeoutMs", MILLISECONDS),
    isolation: table.choice("isolation", ["session"]),
    start: table.choice("start", STARTS),
  });
}

/** Reads the keys of a server, also for an engine. Reports if there is neither a command nor a url. */
export function readMcpServer(table: TableReader, context: ReadContext): McpServer | undefined {
  const isCommand = table.has("command") || !(table.has("url") || (context.otherWords && table.has("base_url")));
  const server = isCommand ? readCommand(table, context) : readAddress(table, context);
  const common = {
    trustAnnotations: table.flag("trustAnnotations") ?? false,
    ...omitUndefined({
      include: table.texts("include", emptyName),
      exclude: table.texts("exclude", emptyName),
      effects: table.section("effects", readEffectsByName),
      rename: readRename(table),
      maxTools: table.number("maxTools", COUNT),
      protocol: table.choice("protocol", PROTOCOLS),
    }),
  };
  return server === undefined ? undefined : { ...server, ...common };
}

function emptyName(name: string): string | undefined {
  return name === "" ? "must not be empty: the name of a tool, * for any characters." : undefined;
}

function readCommand(table: TableReader, context: ReadContext): McpCommand | undefined {
  const { variables, otherWords } = context;
  const both = table.has("url");
  if (both) table.report("url", "a server has a command or a url, not both.");
  if (both || otherWords) table.value("url");
  table.choice(transportKey(table, otherWords), ["stdio"]);
  const [command, ...first] = readProgram(table, otherWords);
  const written = [...first, ...(table.texts("args") ?? [])];
  const argsKey = first.length > 0 ? "command" : "args";
  const args = written.map((text, index) => variables.resolve(text, [...table.path, argsKey, first.length > 0 ? index + 1 : index]));
  const envKey = otherWords && table.has("environment") ? "environment" : "env";
  const env = variables.resolveAll(table.textTable(envKey) ?? {}, [...table.path, envKey]);
  const cwd = table.text("cwd");
  if (command === undefined) return undefined;
  const more = {
    secrets: secretsIn(written, variables),
    cwd: cwd === undefined ? undefined : variables.path(cwd, [...table.path, "cwd"]),
  };
  return { command, args, env, ...omitUndefined(more) };
}

/** A path, or a text too short to be a secret: redacted, it would make errors unclear. */
const NO_SECRET = /^(?:[/~.]|[A-Za-z]:[\\/]|.{0,3}$)/su;
/** The scheme and the host of an address, whose password is redacted in any case. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/iu;

/** The values of the variables in texts that may be secrets, by name; undefined if there are none. */
function secretsIn(texts: readonly string[], { environment }: Variables): Readonly<Record<string, string>> | undefined {
  const variables = texts.flatMap((text) => Object.entries(readVariables(text.replace(ORIGIN, ""), environment)));
  const secrets = variables.filter(([, value]) => !NO_SECRET.test(value));
  return secrets.length === 0 ? undefined : Object.fromEntries(secrets);
}

/** Returns the key of the transport. In files of other clients, where toolsets have no type, `type` is an alias of `transport`. */
function transportKey(table: TableReader, otherWords: boolean): "transport" | "type" {
  return otherWords && !table.has("transport") && table.has("type") && table.value("type") !== "mcp" ? "type" : "transport";
}

/** Reads the program. A descriptor may have the program and its arguments in one array. */
function readProgram(table: TableReader, otherWords: boolean): readonly string[] {
  const meaning = "the program that runs the server; its arguments go in args";
  if (otherWords && Array.isArray(table.value("command"))) {
    const list = table.texts("command") ?? [];
    if (list.length === 0) table.report("command", `must not be empty: ${meaning}.`);
    return list;
  }
  if (Array.isArray(table.value("command"))) {
    table.report("command", `must be a string, not an array: ${meaning}.`);
    return [];
  }
  const command = table.requiredText("command", table.has("command") ? meaning : `${meaning}; or "url", where the server is`);
  return command === undefined ? [] : [command];
}

function readAddress(table: TableReader, context: ReadContext): McpAddress | undefined {
  const { variables, otherWords } = context;
  const key = otherWords && !table.has("url") ? "base_url" : "url";
  const written = table.requiredText(key, "the address of the server");
  const url = written === undefined ? undefined : variables.resolveSent(written, [...table.path, key], { mustHaveText: true });
  const typeKey = transportKey(table, otherWords);
  const transport = otherWords ? table.choice(typeKey, OTHER_TRANSPORTS) : table.choice(typeKey, TRANSPORTS);
  if (transport === "stdio") table.report(typeKey, 'a server with a url is reached by "http" or "sse"; "stdio" needs a command.');
  const headers = {
    ...readKeyHeader(table, context),
    ...variables.resolveAllSent(table.textTable("headers") ?? {}, [...table.path, "headers"]),
  };
  const tls = readTls(table, context);
  const auth = readMcpAuth(table, context);
  if (url === undefined || url === "") return undefined;
  return {
    url,
    headers,
    ...omitUndefined({
      transport: transport === "stdio" ? undefined : transport,
      auth,
      secrets: secretsIn([written ?? "", ...Object.values(table.textTable("headers") ?? {})], variables),
      allowPrivate: table.texts("allowPrivate", findAllowPrivateFault),
    }),
    ...tls,
  };
}

/** Reads `verifyTls` and `ca`, or `verify` of other systems, which can be either. */
export function readTls(
  table: TableReader,
  { variables, otherWords }: ReadContext,
): { readonly verifyTls?: boolean; readonly ca?: string } {
  const key = otherWords && typeof table.value("verify") === "string" ? "verify" : "ca";
  const flag = otherWords && typeof table.value("verify") === "boolean" ? "verify" : "verifyTls";
  const written = table.text(key);
  const ca = written === undefined ? undefined : variables.path(written, [...table.path, key]);
  return omitUndefined({ verifyTls: table.flag(flag), ca });
}

/** Returns the engine of a server, not yet opened: lazy, or one per session, as configured. */
export function createMcpEngine(
  config: McpServer & ConnectionConfig,
  { folder, memory, logins }: Pick<BuildContext, "folder" | "memory" | "logins">,
): Engine {
  const options = toMcpOptions(config, { folder, logins });
  checkLoginSettings(config);
  if (config.isolation === "session") return perSession(() => mcpEngine(options));
  const engine = mcpEngine(options);
  if (config.start !== "lazy" || memory === undefined) return engine;
  return knownTools(engine, { memory, identity: identityOf(options), ...omitUndefined({ openTimeoutMs: config.openTimeoutMs }) });
}

/** @throws ToolError `invalid_config`, whose message begins with the key */
function checkLoginSettings({ auth, isolation, start }: McpServer & ConnectionConfig): void {
  if (auth?.type !== "user-login") return;
  const key = isolation === "session" ? "isolation" : start === "lazy" ? "start" : undefined;
  if (key === undefined) return;
  throw new ToolError(
    "invalid_config",
    `${key} cannot be "${key === "start" ? "lazy" : "session"}" where users log in: each of them has a connection of their own.`,
  );
}

function toMcpOptions(config: McpServer, { folder, logins }: { readonly folder: string; readonly logins: UserLogins }): McpOptions {
  const { trustAnnotations, include, exclude, effects, rename, maxTools, protocol, secrets } = config;
  const common = { trustAnnotations, ...omitUndefined({ secrets, include, exclude, effects, rename, maxTools, protocol }) };
  if (config.url === undefined) {
    const { command, args, env, cwd = folder } = config;
    return { ...common, command, args, env, cwd: filePath(cwd, folder) };
  }
  const { url, transport, headers, auth, allowPrivate, verifyTls, ca } = config;
  const pem = ca === undefined ? undefined : readAuthorities(filePath(ca, folder));
  const own = auth?.type === "user-login" ? { ...auth, logins } : auth;
  return { ...common, url, headers, ...omitUndefined({ transport, auth: own, allowPrivate, verifyTls, ca: pem }) };
}

const MAX_CA_BYTES = 4 * 1024 * 1024;

/** Reads certificates, only of regular files: a pipe or device could block. @throws ToolError `invalid_config` for a file that cannot be read */
export function readAuthorities(path: string): string {
  const file = openCertificateFile(path);
  try {
    const info = fstatSync(file);
    if (info.isFile() && info.size <= MAX_CA_BYTES) return readFileSync(file, "utf8");
    throw new ToolError("invalid_config", `ca must be a PEM file of at most ${MAX_CA_BYTES} bytes, and ${path} is not one.`);
  } finally {
    closeSync(file);
  }
}

function openCertificateFile(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (thrown: unknown) {
    throw new ToolError("invalid_config", `ca: ${path} cannot be read: ${describeSystemError(thrown)}.`, { cause: thrown });
  }
}

/** Returns the options as JSON, which all of them are. */
function identityOf(options: McpOptions): JsonObject {
  const { value } = copyJson(options);
  return isJsonObject(value) ? value : {};
}

/** Undefined if there is no table. A renaming that is invalid for any server is reported at its place. */
export function readRename(table: TableReader): Rename | undefined {
  const rename = table.textTable("rename");
  if (rename === undefined) return undefined;
  const at = table.table("rename");
  for (const { from, problem } of findRenameProblems(rename)) at?.report(from, problem);
  return rename;
}
