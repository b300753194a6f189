/** The options of an MCP server, and their defaults. */
import { quoted } from "../../core/base/wording.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Ids, Log } from "../../core/ports.ts";
import { systemPorts } from "../../core/system-ports.ts";
import { nameMatcher } from "../../policy/permission.ts";
import type { VisibilityRules } from "../../policy/visibility.ts";
import type { Principal } from "../auth/principal.ts";
import type { McpProvider } from "./provider.ts";
import type { TaskSettings } from "./tasks/tasks.ts";

/** Options of every MCP server of ours, whatever it is reached through. */
export interface McpServerOptions {
  /** The name of the server. @default "haft" */
  readonly name?: string;
  /** @default "0.0.0" */
  readonly version?: string;
  /** How its tools are best used, for the client's model. */
  readonly instructions?: string;
  /** Serve only these toolsets. @default all */
  readonly toolsets?: readonly string[];
  /**
   * List only these tools, by patterns over qualified names. With `findToolsToolset({ callTool: true })` of `haft/find-tools` a client's
   * model finds and calls the others: `["catalog::*", "haft::*"]`, and what is pinned. @default all
   */
  readonly only?: readonly string[];
  /**
   * `connection`: the calls of one connection share a session, so that state works, and run side by side as far as their effects
   * allow. A request over HTTP of the revision 2026-07-28 has no connection and no session. @default "connection"
   */
  readonly session?: "connection" | "none";
  /** Tools about the tools. `validate`: `haft_validate_input` checks an input without a call. @default none */
  readonly tools?: { readonly validate?: boolean };
  /** Resources, prompts and completions of the program itself, besides those of connected MCP servers. */
  readonly providers?: readonly McpProvider[];
  /** Most entries of one page of a list. Integer ≥ 1. @default 1_000 */
  readonly pageSize?: number;
  /** How long a client may keep a list, in milliseconds. @default 10_000 */
  readonly listTtlMs?: number;
  /** How many calls may wait for an answer of the client at a time, over all clients; not those of older revisions over standard input. Integer ≥ 0. @default 1_000 */
  readonly maxSuspended?: number;
  /** How long such a call waits for it, in milliseconds. @default 600_000 */
  readonly suspendedTtlMs?: number;
  /** Calls that take long are answered with a task, to clients that know tasks; see `McpTaskOptions`. `false`: never. @default {} */
  readonly tasks?: false | McpTaskOptions;
  /**
   * Which tools a caller sees and may call, of those that the server has: rules as `ExecuteOptions.allow` takes them. Asked with every
   * request of a caller that the `authenticator` knows. A connected server of whose tools it may use none is hidden from it with its
   * resources, prompts and log. @default all, for every caller
   */
  readonly toolsFor?: (principal: Principal) => VisibilityRules | undefined;
  /** Clock, ids and log, for tests. */
  readonly ports?: { readonly clock?: Clock; readonly ids?: Ids; readonly log?: Log };
}

/**
 * When a call becomes a task, and how long a task is kept.
 *
 * Only a client that says so with the call is given a task: by the extension `io.modelcontextprotocol/tasks` (2026-07-28), or by asking for
 * one (2025-11-25). A tool whose `mode` is `background` or `stateful` becomes one at once. A task runs as a background job of a session
 * of its own; with a store that outlives the process, a later server continues it.
 */
export interface McpTaskOptions {
  /** How long a call may run before it becomes a task, in milliseconds. @default 5_000 */
  readonly taskAfterMs?: number;
  /** How long a task that has ended can be asked for, in milliseconds. Integer ≥ 1. @default 86_400_000 */
  readonly ttlMs?: number;
  /** The interval at which clients are to ask, in milliseconds; half of `ttlMs` where that is less. Integer ≥ 1. @default 1_000 */
  readonly pollIntervalMs?: number;
  /** Most tasks, those that have ended and are kept included; what comes after is answered when it ends. @default 10_000 */
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

/** The same with nothing left open. */
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

/** @throws ToolError `invalid_argument` for what cannot work */
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
  checkWhole({ pageSize }, 1);
  checkWhole({ listTtlMs, maxSuspended, suspendedTtlMs }, 0);
  if (session !== "connection" && session !== "none")
    throw new ToolError("invalid_argument", `The option session of an MCP server is "connection" or "none", not ${quoted(session)}.`);
  return {
    name: options.name ?? "haft",
    version: options.version ?? "0.0.0",
    instructions: options.instructions,
    toolsets: options.toolsets === undefined ? undefined : new Set(options.toolsets),
    isListed: listedBy(options.only),
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
    log: plainLog(ports.log ?? systemPorts.log),
  };
}

/** @throws ToolError `invalid_argument` for what cannot work */
function taskSettings(options: McpTaskOptions): TaskSettings {
  checkKnownKeys(options, TASK_OPTIONS, "The option tasks of an MCP server");
  const { taskAfterMs = 5_000, ttlMs = 86_400_000, pollIntervalMs = 1_000, maxTasks = 10_000 } = options;
  checkWhole({ taskAfterMs, maxTasks }, 0);
  checkWhole({ ttlMs, pollIntervalMs }, 1);
  // At a longer interval a client would find no task any more
  return { taskAfterMs, ttlMs, pollIntervalMs: Math.min(pollIntervalMs, Math.ceil(ttlMs / 2)), maxTasks };
}

/** @throws ToolError `invalid_argument` for a pattern that cannot be */
function listedBy(only: readonly string[] | undefined): Settings["isListed"] {
  if (only === undefined) return () => true;
  const matches = nameMatcher(only, "only");
  return (name) => matches(name) !== undefined;
}

/** @throws ToolError `invalid_argument` for a number that is not whole or too small */
export function checkWhole(values: Readonly<Record<string, number>>, least: number): void {
  for (const [name, value] of Object.entries(values)) {
    if (Number.isSafeInteger(value) && value >= least) continue;
    throw new ToolError("invalid_argument", `The option ${name} of an MCP server is ${quoted(value)}; it takes an integer from ${least}.`);
  }
}

/** One message, one line, whatever third-party names and errors hold. */
function plainLog(log: Log): Log {
  return {
    debug: (message, fields) => log.debug(plain(message), fields),
    warn: (message, fields) => log.warn(plain(message), fields),
  };
}

function plain(message: string): string {
  return message.replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/gu, (character) =>
    JSON.stringify(character)
      .slice(1, -1)
      .replace(/^[^\\]/u, "?"),
  );
}
