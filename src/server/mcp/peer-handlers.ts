/** Handlers that pass resources, prompts, completion and the log level through to the servers that offer them. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { ToolError } from "../../core/error.ts";
import { sleep } from "../../processes/sleep.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { PeerOptions } from "../../engine/mcp/peer.ts";
import type { McpClient, McpLogLevel } from "./client.ts";
import { pageOf } from "./page.ts";
import type { Asker } from "./peers.ts";
import { isUsable, type Source } from "./source.ts";
import { isLogLevel, leastUrgent } from "./round.ts";
import { serveExchange } from "./serve-exchange.ts";
import { INVALID_PARAMS } from "../../engine/mcp/rpc-codes.ts";
import { textParam, type McpRequest, type HandlerContext } from "./handler-context.ts";
import { visibilityOfCaller } from "./visibility-of-caller.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";

const LOG_LEVEL_TIMEOUT_MS = 10_000;
/** How long the response to a client waits for the servers, in milliseconds. */
const LOG_LEVEL_GRACE_MS = 1_000;

/** Registers the handlers. Returns a function that says whether the connection is subscribed to a resource now. */
export function addPeerHandlers(handlerContext: HandlerContext): (uri: string) => boolean {
  const { server, connection, handle } = handlerContext;
  const { resources, prompts, completions } = server.getCapabilities();
  if (connection.era === "legacy") addLogLevel(handlerContext);
  if (prompts !== undefined) addPrompts(handlerContext);
  if (completions !== undefined) handle("completion/complete", (request, context) => complete(handlerContext, request, context));
  return resources === undefined ? () => false : addResources(handlerContext);
}

/** A server has one log level for all clients: the least urgent that any client wants. Each client is sent only the levels it wants. */
function addLogLevel(handlerContext: HandlerContext): void {
  const { gateway, connection, handle, onClose } = handlerContext;
  const { peers, settings, loggingConnections } = gateway;
  const isSeenBy = ({ info }: HandlerContext, source: Source): boolean =>
    peers.isVisible(source, visibilityOfCaller(settings, info.caller));
  const levelOf = (source: Source): McpLogLevel | undefined =>
    leastUrgent([...loggingConnections].filter((one) => isSeenBy(one, source)).map((one) => one.connection.logLevel));
  onClose(() => void loggingConnections.delete(handlerContext));
  handle("logging/setLevel", async (request) => {
    const level = textParam(request, "level");
    if (!isLogLevel(level)) throw new ToolError("invalid_input", `There is no log level ${JSON.stringify(level)}.`);
    connection.logLevel = level;
    const options = { signal: AbortSignal.timeout(LOG_LEVEL_TIMEOUT_MS) };
    loggingConnections.add(handlerContext);
    const seen = peers.sources().filter((source) => isSeenBy(handlerContext, source));
    const set = seen.map(async (source) => source.setLogLevel?.({ level: levelOf(source) ?? level }, options));
    // a server that hangs does not delay the response
    await Promise.race([Promise.allSettled(set), sleep(settings.clock, LOG_LEVEL_GRACE_MS, undefined, { background: true })]);
    return {};
  });
}

function addPrompts(handlerContext: HandlerContext): void {
  const { gateway, handle } = handlerContext;
  handle("prompts/list", (request, { mcpReq }) =>
    listPage(handlerContext, request, { method: "listPrompts", field: "prompts", key: "name", signal: mcpReq.signal }),
  );
  handle("prompts/get", (request, context) =>
    serveExchange<JsonObject>({ request, context, handlerContext }, async ({ exchange, client }) => {
      const { signal } = exchange;
      const { source, own } = await gateway.peers.findPrompt(textParam(request, "name"), askerOf(handlerContext, signal));
      const answer = source.getPrompt?.({ ...withoutMeta(request), name: own }, { signal, ask: createAsk(client) });
      return answer === undefined ? throwNotOffered(source, "prompts") : rejectOnAbort(answer, signal);
    }),
  );
}

function addResources(handlerContext: HandlerContext): (uri: string) => boolean {
  const { gateway, handle } = handlerContext;
  handle("resources/list", (request, { mcpReq }) =>
    listPage(handlerContext, request, { method: "listResources", field: "resources", key: "uri", signal: mcpReq.signal }),
  );
  handle("resources/templates/list", (request, { mcpReq }) =>
    listPage(handlerContext, request, {
      method: "listResourceTemplates",
      field: "resourceTemplates",
      key: "uriTemplate",
      signal: mcpReq.signal,
    }),
  );
  handle("resources/read", async (request, context) => {
    const uri = textParam(request, "uri");
    try {
      return await serveExchange<JsonObject>({ request, context, handlerContext }, ({ exchange, client }) =>
        gateway.peers.read({ ...withoutMeta(request), uri }, { ...askerOf(handlerContext, exchange.signal), ask: createAsk(client) }),
      );
    } catch (error: unknown) {
      if (error instanceof ToolError && error.code === "not_found")
        throw new gateway.sdk.ProtocolError(INVALID_PARAMS, error.message, { uri });
      throw error;
    }
  });
  return handlerContext.connection.era === "legacy" ? addSubscriptions(handlerContext) : () => true;
}

/** Subscriptions of the older revision; clients of the newer one name the resources when they begin to listen. */
function addSubscriptions({ gateway, handle, info, onClose }: HandlerContext): (uri: string) => boolean {
  const watched = new Map<string, () => void>();
  handle("resources/subscribe", (request) => {
    const uri = textParam(request, "uri");
    if (watched.size >= MAX_SUBSCRIPTIONS)
      throw new ToolError("invalid_input", `At most ${MAX_SUBSCRIPTIONS} resources can be subscribed to.`);
    if (!watched.has(uri)) watched.set(uri, gateway.changeNotifier.watch(uri, visibilityOfCaller(gateway.settings, info.caller)));
    return {};
  });
  handle("resources/unsubscribe", (request) => {
    const uri = textParam(request, "uri");
    watched.get(uri)?.();
    watched.delete(uri);
    return {};
  });
  onClose(() => {
    for (const stop of watched.values()) stop();
    watched.clear();
  });
  return (uri) => watched.has(uri);
}

const MAX_SUBSCRIPTIONS = 1_000;

/** Completes an argument of a prompt or template, by the server that has it. */
async function complete(handlerContext: HandlerContext, request: McpRequest, { mcpReq }: ServerContext): Promise<JsonObject> {
  const { peers } = handlerContext.gateway;
  const { signal } = mcpReq;
  const asker = askerOf(handlerContext, signal);
  const params = withoutMeta(request);
  const ref = isJsonObject(params["ref"]) ? params["ref"] : {};
  if (ref["type"] === "ref/prompt" && typeof ref["name"] === "string") {
    const { source, own } = await peers.findPrompt(ref["name"], asker);
    return rejectOnAbort(completeAt(source, { ...params, ref: { ...ref, name: own } }, signal), signal);
  }
  if (ref["type"] !== "ref/resource" || typeof ref["uri"] !== "string")
    throw new ToolError("invalid_input", "A completion needs a ref/prompt with a name or a ref/resource with a uri.");
  const source = (await peers.findTemplate(ref["uri"], asker)) ?? (await peers.findResource(ref["uri"], asker));
  if (source === undefined) throw new ToolError("not_found", `No resource template ${JSON.stringify(ref["uri"])}.`);
  return rejectOnAbort(completeAt(source, params, signal), signal);
}

/** No values if the source has no completions: this server announces them for all sources if one has them. */
function completeAt(source: Source, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
  return (isUsable(source, "completions") ? source.complete?.(params, { signal }) : undefined) ?? NO_COMPLETION;
}

const NO_COMPLETION: Promise<JsonObject> = Promise.resolve(Object.freeze({ completion: { values: [], hasMore: false } }));

interface ListRequest {
  readonly method: "listPrompts" | "listResources" | "listResourceTemplates";
  readonly field: string;
  /** The key that identifies an entry. */
  readonly key: string;
  readonly signal: AbortSignal;
}

async function listPage(
  handlerContext: HandlerContext,
  { params }: McpRequest,
  { method, field, key, signal }: ListRequest,
): Promise<JsonObject> {
  const { gateway } = handlerContext;
  const cursor = params?.["cursor"];
  const items = await gateway.peers.list(method, askerOf(handlerContext, signal));
  const keyOf = (item: JsonObject): string => String(item[key]);
  const page = pageOf(items, { cursor: typeof cursor === "string" ? cursor : undefined, size: gateway.settings.pageSize, key: keyOf });
  if (page === undefined) throw new gateway.sdk.ProtocolError(INVALID_PARAMS, "Invalid cursor: list from the beginning.");
  return { [field]: page.items, ...(page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }) };
}

function askerOf({ gateway, info }: HandlerContext, signal: AbortSignal): Asker {
  return { signal, visible: visibilityOfCaller(gateway.settings, info.caller) };
}

/** The parameters for a peer, without the metadata of this connection. */
function withoutMeta({ params = {} }: McpRequest): JsonObject {
  const { _meta, ...own } = params;
  const copy = copyJson(own).value;
  return isJsonObject(copy) ? copy : {};
}

function createAsk(client: McpClient): NonNullable<PeerOptions["ask"]> {
  return (question, asker) => client.elicit(asker === "" ? question : { ...question, message: `${asker}: ${question.message}` });
}

function throwNotOffered({ name = "the program" }: Source, what: string): never {
  throw new ToolError("unavailable", `${name} lists ${what} that it does not provide.`);
}
