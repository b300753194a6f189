/** `tools/list` and `tools/call`. */
import type { ServerContext } from "@modelcontextprotocol/server";
import type { ProgressUpdate } from "../../core/context.ts";
import type { Clock } from "../../core/ports.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import type { ExecuteOptions } from "../../call/execute-options.ts";
import { continueTrace } from "../continue-trace.ts";
import { toCallAnswer, type CallAnswer } from "./call-result.ts";
import { withClient } from "./client.ts";
import { serveExchange, type Work } from "./serve-exchange.ts";
import { INVALID_PARAMS, textParam, type Serving } from "./serving.ts";
import type { OfferedTool } from "./tool-list.ts";
import { VALIDATE_NAME, validateCall } from "./validate-tool.ts";

export function addToolHandlers(serving: Serving): void {
  const { gateway, handle } = serving;
  const { sdk, tools } = gateway;
  handle("tools/list", ({ params }) => {
    const cursor = params?.["cursor"];
    gateway.announcer.check();
    const page = tools.page(typeof cursor === "string" ? cursor : undefined);
    if (page === undefined) throw new sdk.ProtocolError(INVALID_PARAMS, "Invalid cursor: list from the beginning.");
    return { tools: page.items, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) };
  });
  handle("tools/call", async (request, context) => {
    const name = textParam(request, "name");
    const args = request.params?.["arguments"] ?? {};
    if (name === VALIDATE_NAME && gateway.settings.validate) return validateCall(isJsonObject(args) ? args : {}, knownTools(serving));
    const tool = tools.find(name);
    if (tool === undefined) throw new sdk.ProtocolError(INVALID_PARAMS, `Unknown tool: ${name}`);
    return serveExchange<JsonObject>({ request, context, serving }, (work) => callTool({ tool, args, context, serving }, work));
  });
}

interface Call {
  readonly tool: OfferedTool;
  readonly args: unknown;
  readonly context: ServerContext;
  readonly serving: Serving;
}

async function callTool({ tool, args, context, serving }: Call, { exchange, client }: Work<JsonObject>): Promise<JsonObject> {
  const { gateway, server, info } = serving;
  const { registered } = tool;
  const options: ExecuteOptions = {
    signal: exchange.signal,
    concurrent: true, // a client sends several calls at once, and one that waits for a person must not hold up the others
    ask: client.ask,
    onProgress: progressTo(context, gateway.settings.clock, (method, params) => exchange.round?.notify(method, params)),
  };
  const call = { name: registered.qualifiedName, input: args };
  const session = info.session();
  const execute = (): Promise<ToolResult> =>
    session === undefined ? gateway.runtime.execute(call, options) : session.execute(call, options);
  const result = await continueTrace(gateway.runtime, traceField(context), () => withClient(client, execute));
  gateway.announcer.check();
  if (result.status !== "ok" && client.missing !== undefined && client.era === "modern")
    throw new gateway.sdk.MissingRequiredClientCapabilityError({ requiredCapabilities: { ...client.missing } });
  const answer = toCallAnswer(result, registered.tool);
  return projected(server.projectCallToolResult.bind(server), answer, registered.tool.outputSchema);
}

/** Of `_meta`, which names the trace of the call; else of the HTTP request that brought it. */
function traceField({ mcpReq, http }: ServerContext): (name: string) => string | undefined {
  const meta: Readonly<Record<string, unknown>> = mcpReq["_meta"] ?? {};
  if (typeof meta["traceparent"] !== "string") return (name) => http?.req?.headers.get(name) ?? undefined;
  return (name) => {
    const field = Object.hasOwn(meta, name) ? meta[name] : undefined;
    return typeof field === "string" ? field : undefined;
  };
}

/** The older revision's clients take objects only as structured content: the SDK wraps the rest, and the schema as well. */
function projected(project: (result: never, schema: never) => object, answer: CallAnswer, outputSchema: unknown): JsonObject {
  const schema = typeof outputSchema === "boolean" ? {} : outputSchema;
  return project(answer as never, schema as never) as JsonObject; // the SDK's types name every field of both
}

/**
 * Reports to the token that the client gave. Values that do not grow are left out, as the protocol wants it, and so is what comes
 * too often: a client that does not read would have it pile up here.
 */
function progressTo(
  { mcpReq }: ServerContext,
  clock: Clock,
  notify: (method: string, params: JsonObject) => void,
): (update: ProgressUpdate) => void {
  const { progressToken } = mcpReq["_meta"] ?? {};
  let last: number | undefined;
  let sent = 0;
  let nextAt = 0;
  return ({ done, total, message }) => {
    if (progressToken === undefined) return;
    const progress = done ?? (last ?? 0) + 1;
    if (last !== undefined && progress <= last) return;
    if (sent >= FREE_REPORTS && clock.now() < nextAt) return;
    last = progress;
    sent++;
    nextAt = clock.now() + REPORT_EVERY_MS;
    notify("notifications/progress", {
      progressToken,
      progress,
      ...(total === undefined ? {} : { total }),
      ...(message === undefined ? {} : { message }),
    });
  };
}

/** So many reports of a call are passed on as they come; later ones at most once in so many milliseconds. */
const FREE_REPORTS = 100;
const REPORT_EVERY_MS = 100;

function knownTools({ gateway: { tools, runtime } }: Serving): Parameters<typeof validateCall>[1] {
  return {
    overloads: (name) => {
      const tool = tools.find(name);
      return tool === undefined ? [] : runtime.registry.overloads(tool.registered.qualifiedName);
    },
    names: () => tools.names(),
  };
}
