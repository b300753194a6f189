/** The type of a row in the table of routes. */
import type { Scope } from "../../auth/principal.ts";

export type Parameters = Readonly<Record<string, object>>;

/** One operation of the HTTP API, as data. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Parameters in braces, as in OpenAPI: `/v1/tools/{toolName}`. */
  readonly path: `/${string}`;
  /** The scope that a principal needs. `any`: any known principal, for routes that return its own data; `none`: no credentials are needed. */
  readonly scope: Scope | "any" | "none";
  readonly summary: string;
  readonly description?: string;
  readonly params?: Parameters;
  /** A route that declares `place` is answered by a process that has the place, unless another process has the session open. */
  readonly query?: Parameters;
  /** The schema of a JSON body. */
  readonly body?: object;
  /** The media type of a body that is not JSON. */
  readonly bodyType?: "application/jsonl";
  /** Whether the body is optional. */
  readonly bodyOptional?: true;
  /** @default 200 */
  readonly status?: 201 | 204;
  /** The schema of the JSON response; omitted with 204 and `answerType`. */
  readonly answer?: object;
  /** The media type of a response that is not JSON. */
  readonly answerType?: "application/jsonl" | "text/plain; version=0.0.4" | "text/event-stream";
  /** Whether the same URL returns an event stream to clients that accept `text/event-stream`. */
  readonly streams?: true;
  /** Whether the same URL returns bytes, also in part, to clients that accept `application/octet-stream`. */
  readonly asBytes?: true;
  /** Whether it may answer 202 with a `Location` if the work takes longer than `waitMs`. */
  readonly mayTakeLong?: true;
  /** Whether it must run in the process that has its session open; other processes of the store forward the request there. */
  readonly inSession?: true;
  /** Whether it takes an `Idempotency-Key`. */
  readonly keyed?: true;
  /** A request for the documentation and the tests. */
  readonly example: {
    readonly params?: Readonly<Record<string, string>>;
    readonly query?: Readonly<Record<string, string>>;
    readonly body?: unknown;
  };
}

/** Routes by operation id. */
export type Routes = Readonly<Record<string, Route>>;
