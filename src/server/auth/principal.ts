/** The senders of requests, and the scopes that say what each may do. */
import type { JsonObject } from "../../core/base/json.ts";

/** `admin` includes all others; none of the others includes another. */
export type Scope = "read" | "execute" | "simulate" | "approve" | "admin";

/** The sender of a request. */
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

/** Finds the sender of a request by its credentials. */
export interface Authenticator {
  /** Undefined = no (or wrong) credentials: answered with 401. Never throws for what a request holds. */
  authenticate(request: Request): Promise<Principal | undefined>;
}
