/** The MCP client that made the running call, and what a handler can request from it. */
import { checkArgument } from "../../core/check-argument.ts";
import { AsyncLocalStorage } from "node:async_hooks";
import type { QuestionAnswer, Question } from "../../core/approvals/ask.ts";
import type { ToolContext } from "../../core/context.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/** Severity of a log message to an MCP client (RFC 5424). */
export type McpLogLevel = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";

/** Options of a request for input to an MCP client. */
export interface InputOptions {
  /** The name of the request among those of its call, in the protocol. @default its kind and number */
  readonly key?: string;
  /** Its abort withdraws the request: the client is notified, and the method rejects or answers `cancel`. */
  readonly signal?: AbortSignal;
}

/**
 * The MCP client that made the call. Its methods reject with `cancelled` once the call has ended.
 *
 * If the client speaks 2026-07-28, concurrent requests are sent in one response, and the handler waits in memory until the client returns with the
 * answers.
 */
export interface McpClient {
  /** `legacy`: up to 2025-11-25. `modern`: from 2026-07-28. */
  readonly era: "legacy" | "modern";
  /** Capabilities that the client declared. */
  readonly capabilities: JsonObject;
  /** Like `ToolContext.ask`; answers `cancel` if the client cannot ask a person. */
  elicit(question: Question, options?: InputOptions): Promise<QuestionAnswer>;
  /** Lets the client's model write a message: `sampling/createMessage`. @throws ToolError `unavailable` if the client has no model, as a rejection */
  sample(params: JsonObject, options?: InputOptions): Promise<JsonObject>;
  /** Returns `{ roots }`: the folders that the client works in. @throws ToolError `unavailable` if the client has none, as a rejection */
  listRoots(options?: InputOptions): Promise<JsonObject>;
  /** Sends a log message, if the client wants messages of this level. */
  log(level: McpLogLevel, data: JsonValue, logger?: string): void;
}

const clientStorage = new AsyncLocalStorage<McpClient>();

/** The client that made a call, also for nested calls; undefined for calls that did not come over MCP, and in a simulation. */
export function mcpClientOf(context: Pick<ToolContext, "simulated">): McpClient | undefined {
  return checkContext(context).simulated ? undefined : clientStorage.getStore();
}

function checkContext<Given>(context: Given): Given {
  checkArgument(typeof context === "object" && context !== null, "mcpClientOf()", "the context of a call", context);
  return context;
}

/** Like `mcpClientOf`, for code without a context, such as an approver. */
export function currentClient(): McpClient | undefined {
  return clientStorage.getStore();
}

export function withClient<T>(client: McpClient, work: () => T): T {
  return clientStorage.run(client, work);
}
