/** Where other MCP clients keep their servers, and the keys they use, as tables of data for `ClientServer`. */
import type { KeyPath } from "../../documents/key-positions.ts";

/** The place of a table or array of servers. */
export interface ClientFormat {
  readonly at: readonly string[];
  /** Whether the place holds a single server, whose name is `name` of the file. @default false */
  readonly single?: boolean;
  /** Whether its servers have no names, and are named after their places. @default false */
  readonly nameless?: boolean;
  /** Number of milliseconds in one unit of `timeout`. @default 1 */
  readonly timeoutUnit?: number;
}

/** In the order in which they are read: of several servers with one name, the first is used. */
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

/** Paths of clients whose `timeout` is in seconds, which the place of their servers does not show: Cline, Roo, older Kilo Code, Crush. */
const IN_SECONDS = /(?:^|[/\\])(?:\.(?:roo|kilocode)[/\\]|(?:(?:cline_)?mcp_settings|\.?crush)\.json$)/u;
/** A smaller `timeout` of an unknown client is left out: it may be in seconds, and no call could finish in so few milliseconds. */
export const MIN_TIMEOUT = 1000;
/** Paths of clients that replace `$NAME` as well. */
const BARE_VARIABLES = /(?:^|[/\\])(?:\.gemini|\.qwen|\.copilot|goose|\.?crush\.json)(?:[/\\]|$)/u;

/** Properties of a client that only the path of its file shows. */
export interface ClientTraits {
  /** Number of milliseconds in one unit of `timeout`. */
  readonly timeoutUnit: number;
  /** Whether `$NAME` is a variable. */
  readonly bareVariables: boolean;
}

export function clientOf(path: string): ClientTraits {
  return { timeoutUnit: IN_SECONDS.test(path) ? 1000 : 1, bareVariables: BARE_VARIABLES.test(path) };
}

/** Tables in which a client nests some of the keys of a server: Cline and Zed the first two, Continue the last. */
export const NESTED = ["transport", "command", "requestOptions"] as const;

/** The keys of other clients for each of ours; the first that exists is used. */
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

/** Keys that are false for a disabled server: `enable` is an alias in all of our files, `isActive` is that of Cherry Studio. */
export const ENABLED = ["enabled", "enable", "isActive"] as const;

/** Keys that name variables: of the token for `Authorization`, of those that the server inherits, and of headers. */
export const VARIABLE_KEYS = {
  token: ["bearer_token_env_var", "bearer_token_env", "bearerTokenEnv", "bearerTokenEnvVar"],
  inherited: ["env_vars", "env_keys"],
  headers: ["env_http_headers"],
} as const;

/** Keys of timeouts of calls and of opening, with their units in milliseconds. The unit of `timeout` is that of the client. */
export const TIMEOUTS = {
  timeoutMs: { tool_timeout_sec: 1000, toolTimeoutMs: 1, requestTimeoutMs: 1, read_timeout_seconds: 1000 },
  openTimeoutMs: { startup_timeout_sec: 1000, startup_timeout_ms: 1, startupTimeoutMs: 1, connectionTimeout: 1, initTimeout: 1 },
} as const satisfies Record<string, Readonly<Record<string, number>>>;

/** The names of transports; undefined = any that the server speaks. */
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

/** Values of keys that mark servers as built into their client. */
export const PARTS_OF_CLIENT: readonly { readonly key: string; readonly values: readonly string[] }[] = [
  { key: "type", values: ["builtin", "platform", "frontend", "inline_python"] }, // Goose
  { key: "source", values: ["extension"] }, // Zed
];

const APPROVALS = "is ignored: calls are allowed under [permission], and asked for under [approval].";
const LOGINS =
  'is ignored: a token goes into headers, such as Authorization = "Bearer ${TOKEN}"; or write auth = { type = "user-login" }, and log in with haft mcp login.';

/** Notes on keys that have another place here. Any other key gets the note that it is not used. */
export const NOTES_BY_KEY: ReadonlyMap<string, string> = new Map([
  ...["trust", "autoApprove", "alwaysAllow", "default_tools_approval_mode", "tool_permissions"].map((key) => [key, APPROVALS] as const),
  ...["oauth", "auth", "oauth_resource", "scopes", "authProviderType"].map((key) => [key, LOGINS] as const),
  ["headersHelper", "is ignored: no program is run for headers; write them, with variables, into headers."],
  ["http_headers_helper", "is ignored: no program is run for headers; write them, with variables, into headers."],
  ["platform_overrides", "is ignored: write the command for this system into command and args."],
]);

/** Lists outside the tables of servers, by which Gemini and Qwen, in current and older versions, exclude some servers. */
export const CHOSEN_SERVERS: readonly (readonly string[])[] = [
  ["mcp", "allowed"],
  ["mcp", "excluded"],
  ["allowMCPServers"],
  ["excludeMCPServers"],
];

/** The key under which opencode enables tools by server and tool name, such as `"github_*": false`. */
export const TOOL_SWITCHES = "tools";

/** Keys that are not needed for the server. */
export const IGNORED_KEYS: ReadonlySet<string> = new Set(["name", "$schema", "source", "bundled", "display_name"]);

/** A note on a value that is read and not used, with its place. */
export interface Note {
  readonly path: KeyPath;
  readonly text: string;
}
