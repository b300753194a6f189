/** The features of a connected MCP server besides its tools, for a gateway that passes them on: JSON in, JSON out. */
import type { QuestionAnswer, Question } from "../../core/ask.ts";
import type { Engine } from "../../core/engine.ts";
import { ToolError, type ToolErrorOptions } from "../../core/error.ts";
import type { ErrorCode } from "../../core/error-codes.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";

/** Options of a connection to an MCP server that is used without tools. */
export interface PeerOptions {
  readonly signal: AbortSignal;
  /** Puts what the server asks while it answers to a person; see `ToolContext.ask`. @default every question is declined */
  readonly ask?: (question: Question, asker: string) => Promise<QuestionAnswer>;
}

/** Something a server said without being asked. */
export interface PeerNotification {
  readonly method:
    | "notifications/message"
    | "notifications/prompts/list_changed"
    | "notifications/resources/list_changed"
    | "notifications/resources/updated"
    | "notifications/tools/list_changed";
  /** As the server sent it, without `_meta` of the transport's own. */
  readonly params: JsonObject;
}

/** The identity and the capabilities that the server declares. */
export interface PeerIdentity {
  /** The revision of the protocol that was agreed on: `2025-11-25`, `2026-07-28`. */
  readonly protocolVersion: string;
  /** Its capabilities as it declared them: `{ resources: { subscribe: true } }`. */
  readonly capabilities: JsonObject;
  /** Its own claim. */
  readonly serverInfo: JsonObject | undefined;
  /** How it wants to be used, as it wrote it: untrusted text. */
  readonly instructions: string | undefined;
}

/**
 * One MCP server, whichever era and transport it speaks.
 *
 * Every method sends one request of the protocol, with `params` as they are, and resolves with the server's result object as it
 * is, less `resultType` and the transport's own `_meta`: the caller interprets the result. Questions that come back
 * (`input_required`, elicitation) go to `options.ask` and are not seen here. Lists are pages, as the server cuts them.
 *
 * @throws PeerError, by rejecting, for a JSON-RPC error of the server; `ToolError` `unavailable` when it is not open or does not
 * offer such a thing, `network_error` when the connection was lost, `cancelled` when the signal aborts
 */
export interface McpPeer {
  /** The toolset's name, "" before `open`. */
  readonly name: string;
  /** Undefined while the engine is not open. It stays while a lost server is being started again. */
  readonly identity: PeerIdentity | undefined;
  /** `{ cursor? }` → `{ resources, nextCursor? }` */
  listResources(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ cursor? }` → `{ resourceTemplates, nextCursor? }` */
  listResourceTemplates(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{ contents }` */
  readResource(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{}`: `notifications/resources/updated` for it come from now on, in both eras, and after a reconnection too. */
  subscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ uri }` → `{}` */
  unsubscribe(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ cursor? }` → `{ prompts, nextCursor? }` */
  listPrompts(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ name, arguments? }` → `{ messages, description? }` */
  getPrompt(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ ref, argument, context? }` → `{ completion }` */
  complete(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** `{ level }` → `{}`: what the server logs from then on comes as `notifications/message`. */
  setLogLevel(params: JsonObject, options: PeerOptions): Promise<JsonObject>;
  /** Calls `listener` for each notification, in order; the returned function ends that. A listener that throws is logged and stays. */
  onNotification(listener: (notification: PeerNotification) => void): () => void;
}

/** A JSON-RPC error as the server answered it, besides the error that Haft makes of it. */
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

export interface RpcError {
  readonly rpcCode: number;
  readonly rpcMessage: string;
  readonly rpcData?: JsonValue | undefined;
}

/** Where an engine, or an engine around one, keeps its peer: `mcpPeerOf` looks here. */
export const MCP_PEER: unique symbol = Symbol("haft.mcp-peer");

/** The server behind an engine, or undefined for an engine that is no MCP client. */
export function mcpPeerOf(engine: Engine): McpPeer | undefined {
  return hasPeer(engine) ? engine[MCP_PEER] : undefined;
}

function hasPeer(engine: Engine): engine is Engine & { readonly [MCP_PEER]: McpPeer } {
  return typeof engine === "object" && engine !== null && MCP_PEER in engine;
}
