/** Who sends a request, and how a server finds that out. */
import type { JsonObject } from "../../core/base/json.ts";

/** What a principal may do: each scope stands alone, `admin` includes all. */
export type Scope = "read" | "execute" | "simulate" | "approve" | "admin";

/** Who sends a request. */
export interface Principal {
  /** Stable id: `key:ab12…`, `session:…`, `token:<issuer>#<subject>`, `local`. In events, lists and the audit. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** A session key sees this session only. */
  readonly sessionId?: string;
  /** Claims of a bearer token, for rules. */
  readonly claims?: JsonObject;
}

/** Says who sends a request. */
export interface Authenticator {
  /** Undefined = no (or wrong) credentials: answered with 401. Never throws for what a request holds. */
  authenticate(request: Request): Promise<Principal | undefined>;
}
