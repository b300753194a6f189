/** The client at the other end of the call that runs: what a handler can ask of it beyond its answer. */
import { checkArgument } from "../../core/check-argument.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import type { QuestionAnswer, Question } from "../../core/ask.ts";
import type { ToolContext } from "../../core/context.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/** How grave a message to an MCP client is (RFC 5424). */
export type McpLogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** How a client of the server is asked for input. */
export interface InputOptions {
  /** The name of the request among those of its call, on the wire. @default its kind and number */
  readonly key?: string;
  /** Aborts when the answer is not wanted any more: the client is notified, and the method rejects or answers `cancel`. */
  readonly signal?: AbortSignal;
}

/**
 * The MCP client that made the call. Its methods reject with `cancelled` once the call has ended.
 *
 * Where it speaks 2026-07-28, requests that are made at the same time go out in one answer, and the handler waits in memory until
 * the client comes back with what it was asked for.
 */
export interface McpClient {
  /** `legacy`: up to 2025-11-25. `modern`: from 2026-07-28. */
  readonly era: "legacy" | "modern";
  /** As it declared them. */
  readonly capabilities: JsonObject;
  /** As `ToolContext.ask`: answers `cancel` when the client cannot ask anybody. */
  elicit(question: Question, options?: InputOptions): Promise<QuestionAnswer>;
  /** Has the client's model write a message: `sampling/createMessage`. @throws ToolError `unavailable` when it has none. By rejecting */
  sample(params: JsonObject, options?: InputOptions): Promise<JsonObject>;
  /** `{ roots }`: the folders that the client works in. @throws ToolError `unavailable` when it has none. By rejecting */
  listRoots(options?: InputOptions): Promise<JsonObject>;
  /** Sends a log message, if the client wants those of this level. */
  log(level: McpLogLevel, data: JsonValue, logger?: string): void;
}

const CURRENT = new AsyncLocalStorage<McpClient>();

/** The client behind a call, also for the calls that its handler makes; undefined for calls that did not come over MCP, and in a simulation. */
export function mcpClientOf(context: Pick<ToolContext, "simulated">): McpClient | undefined {
  return checkedContext(context).simulated ? undefined : CURRENT.getStore();
}

function checkedContext<Given>(context: Given): Given {
  checkArgument(typeof context === "object" && context !== null, "mcpClientOf()", "the context of a call", context);
  return context;
}

/** As `mcpClientOf`, where there is no context: in an approver. */
export function currentClient(): McpClient | undefined {
  return CURRENT.getStore();
}

export function withClient<T>(client: McpClient, work: () => T): T {
  return CURRENT.run(client, work);
}
