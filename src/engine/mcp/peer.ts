/** The features of a connected MCP server besides its tools, for a gateway that passes them on as JSON. */
import type { QuestionAnswer, Question } from "../../core/approvals/ask.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError, type ToolErrorOptions } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/** Options of a request to an MCP server that is not a tool call. */
export interface PeerOptions {
  readonly signal: AbortSignal;
  /** Asks a person the server's questions; see `ToolContext.ask`. @default every question is declined */
  readonly ask?: (question: Question, asker: string) => Promise<QuestionAnswer>;
}

/** A notification of a server. */
export interface PeerNotification {
  readonly method:
    | "notifications/message"
    | "notifications/prompts/list_changed"
    | "notifications/resources/list_changed"
    | "notifications/resources/updated"
    | "notifications/tools/list_changed";
  /** As the server sent it, without the transport's own `_meta`. */
  readonly params: JsonObject;
}

/** The identity and the capabilities that the server declares. */
export interface PeerIdentity {
  /** The negotiated revision of the protocol: `2025-11-25`, `2026-07-28`. */
  readonly protocolVersion: string;
  /** The capabilities as declared: `{ resources: { subscribe: true } }`. */
  readonly capabilities: JsonObject;
  /** Name and version as the server claims them. */
  readonly serverInfo: JsonObject | undefined;
  /** The server's instructions for its use: untrusted text. */
  readonly instructions: string | undefined;
}

/**
 * One MCP server, of either era and over any transport.
 *
 * Every method sends one request of the protocol with the given `params`, and resolves with the server's result object without `resultType` and the
 * transport's own `_meta`; the caller interprets it. Questions of the server (`input_required`, elicitation) go to `options.ask`. Lists are returned
 * page by page.
 *
 * @throws PeerError for a JSON-RPC error of the server; `ToolError` `unavailable` if it is not open or lacks the capability, `network_error` if the
 * connection was lost, `cancelled` if the signal aborts; all as rejections
 */
export interface McpPeer {
  /** The toolset's name, "" before `open`. */
  readonly name: string;
  /** Undefined while the engine is not open. Kept while a lost server is being restarted. */
  readonly identity: PeerIdentity | undefined;
  /** `{ cursor? }` → `{ resources, nextCursor? }` */
  listResources(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ cursor? }` → `{ resourceTemplates, nextCursor? }` */
  listResourceTemplates(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{ contents }` */
  readResource(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{}`: from then on its `notifications/resources/updated` are passed on, in both eras, and also after a reconnect. */
  subscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{}` */
  unsubscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ cursor? }` → `{ prompts, nextCursor? }` */
  listPrompts(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ name, arguments? }` → `{ messages, description? }` */
  getPrompt(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ ref, argument, context? }` → `{ completion }` */
  complete(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ level }` → `{}`: from then on log messages of the server are passed on as `notifications/message`. */
  setLogLevel(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** Calls `listener` for each notification, in order, until the returned function is called. Errors of a listener are only logged. */
  onNotification(listener: (notification: PeerNotification) => void): () => void;
}

/** A JSON-RPC error of the server, with the ToolError that Haft makes of it. */
export class PeerError extends ToolError {
  readonly rpcCode: number;
  readonly rpcMessage: string;
  readonly rpcData: JsonValue | undefined;

  constructor(code: ErrorCode, message: string, options: ToolErrorOptions & RpcError) {
    super(code, message, options);
    this.rpcCode = options.rpcCode;
    this.rpcMessage = options.rpcMessage;
    this.rpcData = options.rpcData;
  }
}

/** Whether the error came as a JSON-RPC error, also if another copy of the library made it. */
export function isPeerError(error: ToolError): error is PeerError {
  return "rpcCode" in error && typeof error.rpcCode === "number";
}

export interface RpcError {
  readonly rpcCode: number;
  readonly rpcMessage: string;
  readonly rpcData?: JsonValue | undefined;
}

/** The key under which an engine, or a wrapper around one, has its peer; read by `mcpPeerOf`. */
export const MCP_PEER: unique symbol = Symbol("haft.mcp-peer");

/** The peer of an engine's server; undefined for an engine that is not an MCP client. */
export function mcpPeerOf(engine: Engine): McpPeer | undefined {
  return hasPeer(engine) ? engine[MCP_PEER] : undefined;
}

function hasPeer(engine: Engine): engine is Engine & { readonly [MCP_PEER]: McpPeer } {
  return typeof engine === "object" && engine !== null && MCP_PEER in engine;
}
