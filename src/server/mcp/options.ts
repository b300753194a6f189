/** The options of an MCP server, and their defaults. */
import { escapeControls } from "../../core/base/escape-invisible.ts";
import { quoteValue } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";
import { safeLog } from "../../core/system/safe-log.ts";
import { systemPorts } from "../../core/system/system-ports.ts";
import { createNameMatcher } from "../../policy/permission.ts";
import type { VisibilityRules } from "../../policy/visibility.ts";
import type { Principal } from "../auth/principal.ts";
import type { McpProvider } from "./provider.ts";
import type { TaskSettings } from "./tasks/tasks.ts";

/** Options of every MCP server, whatever the transport. */
export interface McpServerOptions {
  /** The name of the server. @default "haft" */
  readonly name?: string;
  /** @default "0.0.0" */
  readonly version?: string;
  /** Instructions for the client's model on how to use the tools. */
  readonly instructions?: string;
  /** Serve only these toolsets. @default all */
  readonly toolsets?: readonly string[];
  /**
   * List only these tools, by patterns over qualified names. With `findToolsToolset({ callTool: true })` of `haft/find-tools`, a client's model can
   * find and call the others: `["catalog::*", "haft::*"]`, and pinned tools.
   * @default all
   */
  readonly only?: readonly string[];
  /**
   * `connection`: the calls of one connection share a session, so that state works, and run concurrently as far as their effects allow. A request
   * over HTTP of the revision 2026-07-28 has no connection and no session.
   * @default "connection"
   */
  readonly session?: "connection" | "none";
  /** Extra tools about the tools. `validate`: `haft_validate_input` checks an input without a call. @default none */
  readonly tools?: { readonly validate?: boolean };
  /** Resources, prompts and completions of the program itself, besides those of connected MCP servers. */
  readonly providers?: readonly McpProvider[];
  /** Maximum number of entries on one page of a list. Integer ≥ 1. @default 1_000 */
  readonly pageSize?: number;
  /** How long a client may cache a list, in milliseconds. @default 10_000 */
  readonly listTtlMs?: number;
  /** Maximum calls waiting for a client's answer, over all clients, except those of older revisions over stdio. Integer ≥ 0. @default 1_000 */
  readonly maxSuspended?: number;
  /** How long such a call waits for the answer, in milliseconds. @default 600_000 */
  readonly suspendedTtlMs?: number;
  /** When long calls are answered with a task, for clients that support tasks; see `McpTaskOptions`. `false` for never. @default {} */
  readonly tasks?: false | McpTaskOptions;
  /**
   * Returns which of the server's tools a caller may see and call: rules as in `ExecuteOptions.allow`. Called with every request of a caller that the
   * `authenticator` accepts. If a caller may use no tool of a connected server, its resources, prompts and log messages are hidden too.
   * @default all, for every caller
   */
  readonly toolsFor?: (principal: Principal) => VisibilityRules | undefined;
  /** Clock, ids and log, for tests. */
  readonly ports?: { readonly clock?: Clock; readonly ids?: Ids; readonly log?: Log };
}

/**
 * When a call becomes a task, and how long tasks are kept.
 *
 * A client gets a task only if it says so with the call: by the extension `io.modelcontextprotocol/tasks` (2026-07-28), or by asking for one
 * (2025-11-25). A call of a tool with the `mode` `background` or `stateful` becomes a task at once. A task runs as a background job in a session of
 * its own; with a store that outlives the process, a later server continues it.
 */
export interface McpTaskOptions {
  /** How long a call may run before it becomes a task, in milliseconds. @default 5_000 */
  readonly taskAfterMs?: number;
  /** How long a task can be queried after it has ended, in milliseconds. Integer ≥ 1. @default 86_400_000 */
  readonly ttlMs?: number;
  /** The polling interval for clients, in milliseconds; at most half of `ttlMs`. Integer ≥ 1. @default 1_000 */
  readonly pollIntervalMs?: number;
  /** Maximum number of tasks, including ended ones that are kept. Calls beyond it are answered when they end. @default 10_000 */
  readonly maxTasks?: number;
}

const TASK_OPTIONS: OptionNames<McpTaskOptions> = { taskAfterMs: true, ttlMs: true, pollIntervalMs: true, maxTasks: true };

export const SERVER_OPTIONS: OptionNames<McpServerOptions> = {
  name: "string",
  version: "string",
  instructions: "string",
  toolsets: "array",
  only: true,
  session: true,
  tools: true,
  providers: true,
  pageSize: true,
  listTtlMs: true,
  maxSuspended: true,
  suspendedTtlMs: true,
  tasks: true,
  toolsFor: "function",
  ports: "object",
};

/** `McpServerOptions` with all defaults applied. */
export interface Settings {
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  readonly toolsets: ReadonlySet<string> | undefined;
  readonly isListed: (qualifiedName: string) => boolean;
  readonly session: "connection" | "none";
  readonly validate: boolean;
  readonly providers: readonly McpProvider[];
  readonly pageSize: number;
  readonly listTtlMs: number;
  readonly maxSuspended: number;
  readonly suspendedTtlMs: number;
  readonly tasks: TaskSettings | undefined;
  readonly toolsFor: McpServerOptions["toolsFor"];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** Applies the defaults. @throws ToolError `invalid_argument` for an invalid option */
export function settingsOf(options: McpServerOptions): Settings {
  const {
    session = "connection",
    pageSize = 1_000,
    listTtlMs = 10_000,
    maxSuspended = 1_000,
    suspendedTtlMs = 600_000,
    ports = {},
  } = options;
  if (options.tools !== undefined) checkKnownKeys(options.tools, { validate: true }, "The option tools of an MCP server");
  checkIntegers({ pageSize }, 1);
  checkIntegers({ listTtlMs, maxSuspended, suspendedTtlMs }, 0);
  if (session !== "connection" && session !== "none")
    throw new ToolError("invalid_argument", `The option session of an MCP server is "connection" or "none", not ${quoteValue(session)}.`);
  return {
    name: options.name ?? "haft",
    version: options.version ?? "0.0.0",
    instructions: options.instructions,
    toolsets: options.toolsets === undefined ? undefined : new Set(options.toolsets),
    isListed: createListFilter(options.only),
    session,
    validate: options.tools?.validate ?? false,
    providers: options.providers ?? [],
    pageSize,
    listTtlMs,
    maxSuspended,
    suspendedTtlMs,
    tasks: options.tasks === false ? undefined : taskSettings(options.tasks ?? {}),
    toolsFor: options.toolsFor,
    clock: ports.clock ?? systemPorts.clock,
    ids: ports.ids ?? systemPorts.ids,
    log: createEscapingLog(safeLog(ports.log ?? systemPorts.log)),
  };
}

/** @throws ToolError `invalid_argument` for an invalid option */
function taskSettings(options: McpTaskOptions): TaskSettings {
  checkKnownKeys(options, TASK_OPTIONS, "The option tasks of an MCP server");
  const { taskAfterMs = 5_000, ttlMs = 86_400_000, pollIntervalMs = 1_000, maxTasks = 10_000 } = options;
  checkIntegers({ taskAfterMs, maxTasks }, 0);
  checkIntegers({ ttlMs, pollIntervalMs }, 1);
  // at a longer interval a client would find its task expired
  return { taskAfterMs, ttlMs, pollIntervalMs: Math.min(pollIntervalMs, Math.ceil(ttlMs / 2)), maxTasks };
}

/** @throws ToolError `invalid_argument` for an invalid pattern */
function createListFilter(only: readonly string[] | undefined): Settings["isListed"] {
  if (only === undefined) return () => true;
  const matches = createNameMatcher(only, "only");
  return (name) => matches(name) !== undefined;
}

/** @throws ToolError `invalid_argument` for a number that is not an integer or too small */
export function checkIntegers(values: Readonly<Record<string, number>>, least: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new ToolError(
      "invalid_argument",
      `The option ${name} of an MCP server is ${quoteValue(value)}; it takes an integer from ${least}.`,
    );
  }
}

/** Escapes control characters and line breaks, so that third-party names and errors cannot span or forge log lines. */
function createEscapingLog(log: Log): Log {
  return {
    debug: (message, fields) => log.debug(escapeControls(message), fields),
    warn: (message, fields) => log.warn(escapeControls(message), fields),
  };
}
