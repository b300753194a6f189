/** Where other MCP clients keep their servers, and the words they use: tables of data, read by `ClientServer`. */
import type { KeyPath } from "../../documents/key-positions.ts";

/** One table, or array, of servers. */
export interface ClientFormat {
  readonly at: readonly string[];
  /** The place holds one server, whose name is `name` of the file. @default false */
  readonly single?: boolean;
  /** Its servers have no names, and are named by their places. @default false */
  readonly nameless?: boolean;
  /** Milliseconds of one unit of `timeout`. @default 1 */
  readonly timeoutUnit?: number;
}

/** In the order in which they are read: of two servers with one name the first is taken. */
export const CLIENT_FORMATS: readonly ClientFormat[] = [
  { at: ["mcpServers"] }, // Claude, Cursor, Windsurf, Cline, Gemini, Qwen, Copilot, Kiro; an array in Continue's YAML
  { at: ["servers"] }, // VS Code
  { at: ["mcp_servers"] }, // Codex, Grok
  { at: ["context_servers"], timeoutUnit: 1000 }, // Zed
  { at: ["mcp", "servers"] }, // settings.json of VS Code, fast-agent
  { at: ["settings", "mcp", "servers"] }, // a workspace of VS Code
  { at: ["mcp"] }, // opencode, Kilo, Crush
  { at: ["extensions"], timeoutUnit: 1000 }, // Goose
  { at: ["amp.mcpServers"] },
  { at: ["experimental", "modelContextProtocolServers"], nameless: true }, // config.json of Continue
  { at: ["server", "mcp_config"], single: true }, // the manifest of an MCP bundle
];

/** Clients whose `timeout` is in seconds, although its place says nothing of it: Cline, Roo, Kilo Code of before, and Crush. */
const IN_SECONDS = /(?:^|[/\\])(?:\.(?:roo|kilocode)[/\\]|(?:(?:cline_)?mcp_settings|\.?crush)\.json$)/u;
/** Fewer milliseconds than these are seconds of a client that is not known: no call would have the time to be answered. */
export const MIN_TIMEOUT = 1000;
/** Clients that replace `$NAME` as well. */
const BARE_VARIABLES = /(?:^|[/\\])(?:\.gemini|\.qwen|\.copilot|goose|\.?crush\.json)(?:[/\\]|$)/u;

/** Properties of a client that its files do not say themselves. */
export interface ClientTraits {
  /** Milliseconds of one unit of `timeout`. */
  readonly timeoutUnit: number;
  /** `$NAME` is a variable. */
  readonly bareVariables: boolean;
}

export function clientOf(path: string): ClientTraits {
  return { timeoutUnit: IN_SECONDS.test(path) ? 1000 : 1, bareVariables: BARE_VARIABLES.test(path) };
}

/** Tables in which a client puts some of the keys of a server: Cline and Zed the first two, Continue the last. */
export const NESTED = ["transport", "command", "requestOptions"] as const;

/** The keys of other clients for each of ours; the first that is there counts. */
export const KEYS = {
  command: ["command", "cmd", "path"],
  args: ["args"],
  env: ["env", "environment", "envs"],
  url: ["url", "serverUrl", "httpUrl", "uri", "baseUrl", "endpoint"],
  headers: ["headers", "http_headers"],
  cwd: ["cwd", "working_dir"],
  type: ["type", "transport"],
  include: ["includeTools", "enabled_tools", "available_tools", "tools", "allowedTools"],
  exclude: ["excludeTools", "disabled_tools", "disabledTools"],
} as const;

/** Keys that are false for a server that is switched off; the last is that of Cherry Studio. */
export const ENABLED = ["enabled", "isActive"] as const;

/** Names of variables: of the token that goes into `Authorization`, of those that the server inherits, and of headers. */
export const VARIABLE_KEYS = {
  token: ["bearer_token_env_var", "bearer_token_env", "bearerTokenEnv", "bearerTokenEnvVar"],
  inherited: ["env_vars", "env_keys"],
  headers: ["env_http_headers"],
} as const;

/** Limits of calls and of opening, with the milliseconds of their unit; `timeout` has that of its client. */
export const TIMEOUTS = {
  timeoutMs: { tool_timeout_sec: 1000, toolTimeoutMs: 1, requestTimeoutMs: 1, read_timeout_seconds: 1000 },
  openTimeoutMs: { startup_timeout_sec: 1000, startup_timeout_ms: 1, startupTimeoutMs: 1, connectionTimeout: 1, initTimeout: 1 },
} as const satisfies Record<string, Readonly<Record<string, number>>>;

/** The words for transports; undefined = whichever the server speaks. */
export const TRANSPORT_WORDS: ReadonlyMap<string, "stdio" | "http" | "sse" | undefined> = new Map([
  ["stdio", "stdio"],
  ["local", "stdio"],
  ["http", "http"],
  ["sse", "sse"],
  ["streamable-http", "http"],
  ["streamableHttp", "http"],
  ["streamable_http", "http"],
  ["remote", undefined],
]);

/** Servers that only their client has, by the values of the keys that say so. */
export const PARTS_OF_CLIENT: readonly { readonly key: string; readonly values: readonly string[] }[] = [
  { key: "type", values: ["builtin", "platform", "frontend", "inline_python"] }, // Goose
  { key: "source", values: ["extension"] }, // Zed
];

const APPROVALS = "is not taken over: calls are allowed under [permission], and asked for under [approval].";
const LOGINS =
  'is not taken over: a token goes into headers, such as Authorization = "Bearer ${TOKEN}"; or write auth = { type = "user-login" }, and log in with haft mcp login.';

/** The notes on keys that have another place here; of any other key it is said that it is not used. */
export const ELSEWHERE: ReadonlyMap<string, string> = new Map([
  ...["trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode", "tool_permissions"].map((key) => [key, APPROVALS] as const),
  ...["oauth", "auth", "oauth_resource", "scopes", "authProviderType"].map((key) => [key, LOGINS] as const),
  ["headersHelper", "is not taken over: no program is run for headers; write them, with variables, into headers."],
  ["http_headers_helper", "is not taken over: no program is run for headers; write them, with variables, into headers."],
  ["platform_overrides", "is not taken over: write the command of this system into command and args."],
]);

/** Lists of servers outside of their tables, by which a client leaves some of them alone: Gemini and Qwen, now and before. */
export const CHOSEN_SERVERS: readonly (readonly string[])[] = [
  ["mcp", "allowed"],
  ["mcp", "excluded"],
  ["allowMCPServers"],
  ["excludeMCPServers"],
];

/** Switches of tools by their names behind those of servers, such as `"github_*": false`: opencode. */
export const TOOL_SWITCHES = "tools";

/** Keys that say nothing about the server. */
export const MEANINGLESS: ReadonlySet<string> = new Set(["name", "$schema", "source", "bundled", "display_name"]);

/** A note on a value that is read and not used, with its place. */
export interface Note {
  readonly path: KeyPath;
  readonly text: string;
}
