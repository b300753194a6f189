/** A request of the HTTP API as its handler gets it: its sender and its validated parts. */
import type { Runtime } from "../../runtime/runtime.ts";
import type { Principal } from "../auth/principal.ts";

/** Validated against the route's schemas: a handler reads fields without looking again. */
export interface ApiRequest<Params = unknown, Query = unknown, Body = unknown> {
  readonly principal: Principal;
  readonly runtime: Runtime;
  /** Of the path, decoded. */
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the client has gone. Ends waits and streams; cancels no call. */
  readonly signal: AbortSignal;
  readonly request: Request;
}
