/** Types of the context that handlers of a server instance get. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { ToolError } from "../../core/error.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { CallLog } from "../auth/call-log.ts";
import type { Principal } from "../auth/principal.ts";
import type { ChangeNotifier } from "./change-notifier.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";
import type { Peers } from "./peers.ts";
import type { Connection } from "./round.ts";
import type { ServerModule } from "./sdk.ts";
import type { Suspensions } from "./suspensions.ts";
import type { Tasks } from "./tasks/tasks.ts";
import type { ToolList } from "./tool-list.ts";

export interface SharedState {
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly sdk: ServerModule;
  readonly tools: ToolList;
  readonly peers: Peers;
  readonly suspensions: Suspensions;
  readonly changeNotifier: ChangeNotifier;
  /** Connections that have set a log level. */
  readonly loggingConnections: Set<HandlerContext>;
  /** Work of the requests in progress. */
  readonly activeWork: Set<Pick<Exchange<unknown>, "cancel" | "signal">>;
  /** undefined if tasks are not served. */
  readonly tasks: Tasks | undefined;
  /** Whether calls are cancelled, or about to be. */
  readonly isStopping: boolean;
  /** Records calls outside sessions; undefined without a store. */
  readonly calls: CallLog | undefined;
}

export interface Caller {
  readonly id: string;
  /** undefined if callers are not authenticated. */
  readonly principal: Principal | undefined;
}

/** Properties of one connection. */
export interface ConnectionInfo {
  readonly era: "legacy" | "modern";
  readonly caller: Caller;
  /** Whether changes are sent to this instance itself. */
  readonly receivesChanges: boolean;
  /** Ids of the requests in progress, if needed. */
  readonly requests?: Set<RequestId>;
  /** Called with the id of a request that gets no answer because the client has cancelled it. */
  readonly onUnanswered?: (id: RequestId) => void;
  /** Returns the session of the connection; undefined if it has none. */
  session(): RuntimeSession | undefined;
}

/** An id that the client gave a request. */
export type RequestId = string | number;

/** A request as the SDK passes it on, validated as far as the protocol defines it. */
export interface McpRequest {
  readonly params?: Readonly<Record<string, unknown>>;
}

export type Handler = (request: McpRequest, context: ServerContext) => unknown;

export interface CallHandlerContext {
  readonly gateway: SharedState;
  /** Adapts answers to the client's revision. */
  readonly server: Pick<Server, "projectCallToolResult" | "getClientCapabilities" | "getNegotiatedProtocolVersion">;
  readonly connection: Connection;
  readonly info: ConnectionInfo;
}

export interface HandlerContext extends CallHandlerContext {
  readonly server: Server;
  /** Registers the handler of a method. Errors of the handler become protocol errors. */
  readonly handle: (method: string, handler: Handler) => void;
  /** Registers the handler of `tools/call`, whose answers the SDK neither validates nor changes: they are complete, and may be tasks. */
  readonly handleCalls: (handler: Handler) => void;
  /** Registers the handler of a method that the SDK has no schema for; the handler itself validates the parameters. */
  readonly handleOther: (method: string, handler: Handler) => void;
  /** Adds a function that is called once, when the connection is closed. */
  readonly onClose: (end: () => void) => void;
}

/** The only caller of a server without authentication. */
export const LOCAL_CALLER: Caller = Object.freeze({ id: "local", principal: undefined });

/** The `session` of a connection whose calls share none. */
export function noSession(): undefined {
  return undefined;
}

/** Reads a string parameter. @throws ToolError `invalid_input` if it is not a string */
export function textParam({ params }: McpRequest, name: string): string {
  const value = params?.[name];
  if (typeof value !== "string") throw new ToolError("invalid_input", `The request needs ${name}: a string.`);
  return value;
}
