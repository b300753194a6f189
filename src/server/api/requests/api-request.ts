/** A request of the HTTP API: as it was received, and as its handler gets it, with its principal and its validated parts. */
import type { Runtime } from "../../../runtime/runtime.ts";
import type { Principal } from "../../auth/principal.ts";
import type { HeadRequest } from "../../http/request-head.ts";
import type { Count } from "./count-bytes.ts";

/** A request before authentication and validation, from any HTTP server. Its body can be read once. */
export interface SentRequest extends HeadRequest {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Reads the body; undefined if it is larger than `maxBytes`. */
  text(maxBytes: number): Promise<string | undefined>;
  /** The request as a `Request`, with its unread body. */
  toRequestWithBody(): Request;
  /** The same request with its body counted: at once if its length is declared, otherwise as it is read. */
  countBody(count: Count): SentRequest;
}

/** A request validated against the schemas of its route, so that a handler need not check fields again. */
export interface ApiRequest<Params = unknown, Query = unknown, Body = unknown> {
  readonly principal: Principal;
  readonly runtime: Runtime;
  /** Parameters of the path, decoded. */
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the client has disconnected. Ends waits and streams, but cancels no call. */
  readonly signal: AbortSignal;
  readonly request: SentRequest;
}
