/** One row of the table of routes. */
import type { Scope } from "../../auth/principal.ts";

/** Parameters by name. */
export type Parameters = Readonly<Record<string, object>>;

/** One operation of the HTTP API, as data. */
export interface Route {
  readonly method: "GET" | "POST" | "DELETE";
  /** Parameters in braces, as OpenAPI has them: `/v1/tools/{toolName}`. */
  readonly path: `/${string}`;
  /** The scope that a principal needs; `any`: it gives a principal what is its own, whatever its scopes; `none`: it is open to everybody. */
  readonly scope: Scope | "any" | "none";
  readonly summary: string;
  readonly description?: string;
  readonly params?: Parameters;
  /** One that may have a `place` is answered by a process that has the place, where no other one has the session open. */
  readonly query?: Parameters;
  /** The schema of a JSON body. */
  readonly body?: object;
  /** A body that is not JSON. */
  readonly bodyType?: "application/jsonl";
  /** Its body may be left out. */
  readonly bodyOptional?: true;
  /** @default 200 */
  readonly status?: 201 | 204;
  /** The schema of the JSON that it answers with; left out with 204 and `answerType`. */
  readonly answer?: object;
  /** An answer that is not JSON. */
  readonly answerType?: "application/jsonl" | "text/plain; version=0.0.4" | "text/event-stream";
  /** The same URL is an event stream for those who accept `text/event-stream`. */
  readonly streams?: true;
  /** It may answer 202 with a `Location` when the work takes longer than `waitMs`. */
  readonly mayTakeLong?: true;
  /** It works in its session, in the process that has that open: where that is another one of the same store, it is passed on to it. */
  readonly inSession?: true;
  /** Takes an `Idempotency-Key`. */
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
