/** One `tools/call`, from the input to an output or to the job that goes on with it. */
import type { ToolContext } from "../../core/context.ts";
import type { EngineRequest } from "../../core/engine.ts";
import { isJsonObject } from "../../core/base/json.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";
import type { Answering } from "./answer-request.ts";
import type { Caller } from "./caller.ts";
import type { McpConnection } from "./connection.ts";
import { requestWithInput } from "./input-rounds.ts";
import { parameterHeaders, sendsParameterHeaders, writeParameterHeaders } from "./parameter-headers.ts";
import { toToolOutput } from "./result.ts";
import { taskIn, taskJob } from "./task.ts";

export interface CallToolOptions {
  readonly context: ToolContext;
  readonly answering: Answering;
  readonly clock: Clock;
  /** What the server calls the tool. */
  readonly name: string;
  /** Puts what goes wrong later, in a job, in the words of a call. */
  readonly explain: (error: unknown) => unknown;
}

/** Returns a `ToolOutput`, or a `Job` when the server goes on with the work after its answer. */
export async function callTool(connection: McpConnection, request: EngineRequest, options: CallToolOptions): Promise<unknown> {
  const { tool, input } = request;
  const { context, answering, clock, explain } = options;
  const { signal, simulated, sessionId: session } = context;
  const caller: Caller = { session, ask: (question, asker) => context.ask(question, asker), signal, simulated };
  const isTask = connection.era === "modern" || wantsTask(tool, connection);
  const params: JsonObject = { name: options.name, arguments: input, ...(isTask && connection.era === "legacy" ? { task: {} } : {}) };
  const onProgress: ToolContext["progress"] = (update) => context.progress(update);
  const headers = sendsParameterHeaders(connection) ? headersOf(tool, input) : {};
  const answer = await connection.callers.during(caller, () =>
    requestWithInput(connection, "tools/call", params, { signal, headers, onProgress, caller, answering, clock }),
  );
  const finish = (result: unknown): unknown => toToolOutput(result, answering.server);
  const task = isTask ? taskIn(answer, connection.era) : undefined;
  return task === undefined ? finish(answer) : taskJob(task, { connection, caller, answering, clock, signal, onProgress, finish, explain });
}

/** In the older era a tool is called as a task only when it cannot be called otherwise. */
function wantsTask(tool: Tool, { identity }: McpConnection): boolean {
  let offered: unknown = identity.capabilities["tasks"];
  for (const step of ["requests", "tools", "call"]) offered = isJsonObject(offered) ? offered[step] : undefined;
  return offered !== undefined && tool.metadata?.["taskSupport"] === "required";
}

function headersOf(tool: Tool, input: JsonObject): Readonly<Record<string, string>> {
  const declared = parameterHeaders(tool.inputSchema);
  return typeof declared === "string" ? {} : writeParameterHeaders(declared, input);
}
