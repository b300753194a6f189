/** The context of the handlers of one server instance. */
import type { Server, ServerContext } from "@modelcontextprotocol/server";
import { ToolError } from "../../core/error.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";
import type { CallLog } from "../auth/call-log.ts";
import type { Principal } from "../auth/principal.ts";
import type { Announcer } from "./announcer.ts";
import type { Exchange } from "./exchange.ts";
import type { Settings } from "./options.ts";
import type { Peers } from "./peers.ts";
import type { Connection } from "./round.ts";
import type { ServerModule } from "./sdk.ts";
import type { Suspensions } from "./suspensions.ts";
import type { Tasks } from "./tasks/tasks.ts";
import type { ToolList } from "./tool-list.ts";

/** The state that all connections share. */
export interface Shared {
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly sdk: ServerModule;
  readonly tools: ToolList;
  readonly peers: Peers;
  readonly suspensions: Suspensions;
  readonly announcer: Announcer;
  /** The connections that have set a log level. */
  readonly logged: Set<Serving>;
  /** The work of the requests that are being answered. */
  readonly works: Set<Pick<Exchange<unknown>, "cancel" | "signal">>;
  /** Undefined where none are served. */
  readonly tasks: Tasks | undefined;
  /** Calls are cancelled, or are about to be. */
  readonly isStopping: boolean;
  /** Keeps the calls that no session has; undefined without a store. */
  readonly calls: CallLog | undefined;
}

/** The caller that sends the requests of a connection. */
export interface Caller {
  readonly id: string;
  /** Undefined where callers are not told apart. */
  readonly principal: Principal | undefined;
}

/** The parts that a connection adds to the instance that serves it. */
export interface ConnectionInfo {
  readonly era: "legacy" | "modern";
  readonly caller: Caller;
  /** Changes are sent to this instance itself. */
  readonly isTold: boolean;
  /** The ids of the requests that are being answered, where they are needed. */
  readonly requests?: Set<RequestId>;
  /** Called with the id of a request that gets no answer, because the client has cancelled it. */
  readonly unanswered?: (id: RequestId) => void;
  /** The session of the connection; undefined where it has none. */
  session(): RuntimeSession | undefined;
}

/** As the client numbers its requests. */
export type RequestId = string | number;

/** A request as the SDK hands it over, checked by it as far as the protocol goes. */
export interface McpRequest {
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Answers one request. */
export type Handler = (request: McpRequest, context: ServerContext) => unknown;

/** The parts that answer a call. */
export interface CallServing {
  readonly gateway: Shared;
  /** Shapes answers for the revision of the client. */
  readonly server: Pick<Server, "projectCallToolResult" | "getClientCapabilities" | "getNegotiatedProtocolVersion">;
  readonly connection: Connection;
  readonly info: ConnectionInfo;
}

export interface Serving extends CallServing {
  readonly server: Server;
  /** Answers one method. An error of the handler is answered as an error of the protocol. */
  readonly handle: (method: string, handler: Handler) => void;
  /** The same for `tools/call`, whose answers the SDK neither checks nor changes: what we make is whole, and may be a task. */
  readonly handleCalls: (handler: Handler) => void;
  /** The same for a method that the SDK has no schema of; its parameters are checked by the handler alone. */
  readonly handleOther: (method: string, handler: Handler) => void;
  /** Called once, when the instance's connection is closed. */
  readonly atEnd: (end: () => void) => void;
}

/** The one caller of a server that does not tell callers apart. */
export const LOCAL_CALLER: Caller = Object.freeze({ id: "local", principal: undefined });

/** The `session` of a connection whose calls have none in common. */
export function noSession(): undefined {
  return undefined;
}

/** @throws ToolError `invalid_input` when it is not a string */
export function textParam({ params }: McpRequest, name: string): string {
  const value = params?.[name];
  if (typeof value !== "string") throw new ToolError("invalid_input", `The request needs ${name}: a string.`);
  return value;
}
