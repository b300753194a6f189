/** Handlers of `tools/list` and `tools/call`. */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ProgressUpdate } from "../../core/context.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { Clock } from "../../core/ports.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { ExecuteOptions } from "../../call/execute-options.ts";
import type { CallOrigin } from "../auth/call-log.ts";
import { continueTrace } from "../continue-trace.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { toClientResult } from "./answer-call.ts";
import type { CallAnswer } from "./call-result.ts";
import { withClient } from "./client.ts";
import type { ExchangeRound } from "./exchange.ts";
import { serveExchange, type ExchangeWork } from "./serve-exchange.ts";
import { INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_STARTED_DATA } from "../../engine/mcp/rpc-codes.ts";
import {
  noSession,
  textParam,
  type CallHandlerContext,
  type McpRequest,
  type HandlerContext,
  type SharedState,
} from "./handler-context.ts";
import { ServedTask, type TaskEnd } from "./tasks/served-task.ts";
import { runTaskCall } from "./tasks/task-call.ts";
import { toTaskEnd } from "./tasks/task-end.ts";
import { TASKS_EXTENSION, chooseTask, type TaskChoice } from "./tasks/task-offer.ts";
import type { OfferedTool } from "./tool-list.ts";
import { VALIDATE_NAME, validateCall, type KnownTools } from "./validate-tool.ts";
import { visibilityOfCaller } from "./visibility-of-caller.ts";

export function addToolHandlers(handlerContext: HandlerContext): void {
  const { gateway, handle, handleCalls } = handlerContext;
  const { sdk, tools } = gateway;
  handle("tools/list", ({ params }) => {
    const cursor = params?.["cursor"];
    gateway.changeNotifier.announceChanges();
    const { connection, info } = handlerContext;
    const page = tools.page(typeof cursor === "string" ? cursor : undefined, {
      era: connection.era,
      visible: visibilityOfCaller(gateway.settings, info.caller),
      hasSession: info.session !== noSession,
    });
    if (page === undefined) throw new sdk.ProtocolError(INVALID_PARAMS, "Invalid cursor: list from the beginning.");
    return { tools: page.items, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) };
  });
  handleCalls((request, context) => answerCall(handlerContext, request, context));
}

/** Answers `tools/call`. @throws a protocol error, thrown or as a rejection */
export function answerCall(
  handlerContext: CallHandlerContext,
  request: McpRequest,
  context: ServerContext,
): CallAnswer | Promise<JsonObject> {
  const { gateway } = handlerContext;
  const { sdk, tools } = gateway;
  const name = textParam(request, "name");
  const args = request.params?.["arguments"] ?? {};
  const refused = (errorCode: ErrorCode, toolName: string = name): void =>
    gateway.calls?.recordRefused(originOf(handlerContext, context), { toolName, errorCode });
  if (!isJsonObject(args)) {
    refused("invalid_input");
    throw new sdk.ProtocolError(INVALID_PARAMS, "The arguments of a tool must be an object.");
  }
  if (name === VALIDATE_NAME && gateway.settings.validate) return validateCall(args, knownTools(handlerContext));
  const tool = tools.find(name);
  const visible = visibilityOfCaller(gateway.settings, handlerContext.info.caller);
  if (tool === undefined || visible?.permits(tool.registered.qualifiedName) === false) {
    if (tool === undefined) refused("not_found");
    else refused("permission_denied", tool.registered.qualifiedName);
    throw new sdk.ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
  }
  return serveExchange<JsonObject>({ request, context, handlerContext }, (work) =>
    callTool({ tool, args, request, context, handlerContext }, work),
  );
}

interface ToolCallRequest {
  readonly tool: OfferedTool;
  readonly args: JsonObject;
  readonly request: McpRequest;
  readonly context: ServerContext;
  readonly handlerContext: CallHandlerContext;
}

async function callTool(callRequest: ToolCallRequest, { exchange, client }: ExchangeWork<JsonObject>): Promise<JsonObject> {
  const { args, request, context, handlerContext } = callRequest;
  const { gateway, info, connection } = handlerContext;
  const { tool, qualifiedName } = callRequest.tool.registered;
  const options: ExecuteOptions = {
    signal: exchange.signal,
    concurrent: true, // a client sends several calls at once; one that waits for a person must not block the others
    ask: client.ask,
    ...callerOptions(handlerContext),
    onProgress: createProgressReporter(() => exchange.round, gateway.settings.clock),
  };
  const call = { name: qualifiedName, input: args };
  const session = info.session();
  const readTraceField = createTraceReader(context);
  const choice = chooseTask(handlerContext, tool, { request, context });
  if (choice === "needs-tasks") throw needsTasksError(handlerContext);
  const resultContext = { serving: handlerContext, client, tool, hasCallSession: session !== undefined && !hasOwnSession(choice) };
  if (typeof choice === "object" && gateway.tasks !== undefined) {
    const { runtime, settings, tasks } = gateway;
    const toEnd = (result: ToolResult): Promise<TaskEnd> => toTaskEnd(result, resultContext);
    const runTask = () => runTaskCall({ runtime, settings, tasks }, { ...choice, call, options, session, exchange, client, toEnd });
    const resultOrTask = await continueTrace(runtime, readTraceField, () => withClient(client, runTask));
    gateway.changeNotifier.announceChanges();
    if (!(resultOrTask instanceof ServedTask)) return await toClientResult(resultOrTask, resultContext);
    return connection.era === "modern" ? { ...resultOrTask.facts, resultType: "task" } : { task: resultOrTask.legacyFacts };
  }
  const callOptions = choice === "wait" ? { ...options, background: false } : options;
  const executeOutsideSession = (): Promise<ToolResult> => gateway.runtime.execute(call, callOptions);
  const execute = (): Promise<ToolResult> => {
    if (session !== undefined) return session.execute(call, callOptions);
    return gateway.calls === undefined
      ? executeOutsideSession()
      : gateway.calls.recordCalls(originOf(handlerContext, context), executeOutsideSession);
  };
  const result = await continueTrace(gateway.runtime, readTraceField, () => withClient(client, execute));
  gateway.changeNotifier.announceChanges();
  if (gateway.isStopping && result.status === "cancelled" && result.error.outcome === "not_started")
    throw stoppingProtocolError(gateway.sdk, result.name);
  return await toClientResult(result, resultContext);
}

/** Whether the call runs in a session that only its task has. */
function hasOwnSession(choice: TaskChoice): boolean {
  return typeof choice === "object" && choice.isImmediate;
}

/** The error for a call that has not begun, and for a request that arrives while stopping: both may be sent again, to the next server. */
export function stoppingProtocolError(sdk: SharedState["sdk"], toolName?: string): Error {
  const why =
    toolName === undefined ? "The server is stopping." : `The server is stopping: ${toolName} was not started, and may be called again.`;
  return new sdk.ProtocolError(INTERNAL_ERROR, why, NOT_STARTED_DATA);
}

/** Origin of the calls, for the audit. */
function originOf({ info }: CallHandlerContext, context: ServerContext): CallOrigin {
  return { via: "mcp", principal: info.caller.principal?.id, traceparent: createTraceReader(context)("traceparent") };
}

/** Reads trace headers from `_meta` if it names a trace, otherwise from the HTTP request. */
function createTraceReader({ mcpReq, http }: ServerContext): (name: string) => string | undefined {
  const meta: Readonly<Record<string, unknown>> = mcpReq["_meta"] ?? {};
  if (typeof meta["traceparent"] !== "string") return (name) => http?.req?.headers.get(name) ?? undefined;
  return (name) => {
    const field = Object.hasOwn(meta, name) ? meta[name] : undefined;
    return typeof field === "string" ? field : undefined;
  };
}

/** Options from the caller: rules, which also apply to nested calls, and the principal, which handlers can read. */
function callerOptions({ gateway, info }: CallHandlerContext): Pick<ExecuteOptions, "allow" | "data" | "principal"> {
  const { principal } = info.caller;
  const data = principal === undefined ? undefined : { principal };
  return omitUndefined({ allow: visibilityOfCaller(gateway.settings, info.caller), data, principal: principal?.id });
}

/** The error for a tool that exchanges messages while it runs, which a waiting request cannot do. */
function needsTasksError({ gateway: { sdk }, connection }: CallHandlerContext): Error {
  if (connection.era === "modern")
    return new sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } });
  return new sdk.ProtocolError(METHOD_NOT_FOUND, "This tool can only be called as a task.");
}

/**
 * Reports progress with the token of the request that waits now; after a question it is another one. Values that do not grow are dropped, as the
 * protocol requires, and so are reports that come too often: they would pile up for a client that does not read.
 */
function createProgressReporter(currentRound: () => ExchangeRound | undefined, clock: Clock): (update: ProgressUpdate) => void {
  let last: number | undefined;
  let sent = 0;
  let nextAt = 0;
  return ({ done, total, message }) => {
    const round = currentRound();
    if (round?.progressToken === undefined) return;
    const progress = done ?? (last ?? 0) + 1;
    if (last !== undefined && progress <= last) return;
    if (sent >= FREE_REPORTS && clock.now() < nextAt) return;
    last = progress;
    sent++;
    nextAt = clock.now() + REPORT_EVERY_MS;
    round.notify("notifications/progress", {
      progressToken: round.progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    });
  };
}

/** Number of reports per call that are sent at once; later ones are sent at most once per REPORT_EVERY_MS. */
const FREE_REPORTS = 100;
const REPORT_EVERY_MS = 100;

/** The tools that the caller may see. */
function knownTools({ gateway: { tools, runtime, settings }, info }: CallHandlerContext): KnownTools {
  const visible = visibilityOfCaller(settings, info.caller);
  const find = (name: string): OfferedTool | undefined => {
    const tool = tools.find(name);
    return tool === undefined || visible?.permits(tool.registered.qualifiedName) === false ? undefined : tool;
  };
  return {
    overloads: (name) => {
      const tool = find(name);
      return tool === undefined ? [] : runtime.registry.overloads(tool.registered.qualifiedName);
    },
    names: () => tools.names().filter((name) => find(name) !== undefined),
  };
}
