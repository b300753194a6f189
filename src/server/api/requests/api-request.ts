/** A request of the HTTP API: as it was sent, and as its handler gets it, with its sender and its validated parts. */
import type { Runtime } from "../../../runtime/runtime.ts";
import type { Principal } from "../../auth/principal.ts";
import type { HeadRequest } from "../../http/request-head.ts";
import type { Count } from "./counted-bytes.ts";

/** A request before anything of it is judged, whichever server it came to. Its body is read once. */
export interface SentRequest extends HeadRequest {
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
  /** The body; undefined when it is longer. */
  text(maxBytes: number): Promise<string | undefined>;
  /** The same for those that need one, with the body that nothing has read. */
  whole(): Request;
  /** The same, whose body is counted: at once where its length is declared, else as it is read. */
  counted(count: Count): SentRequest;
}

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
  readonly request: SentRequest;
}
