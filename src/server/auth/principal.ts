/** The senders of requests, and the scopes that say what each may do. */
import type { JsonObject } from "../../core/base/json.ts";
import type { RuleSubject } from "../../policy/access-rules.ts";
import type { HeadRequest, RequestHead } from "../http/request-head.ts";
import type { PermissionRules } from "../../policy/permission.ts";

/** `admin` includes all others; none of the others includes another. */
export type Scope = "read" | "execute" | "simulate" | "approve" | "admin";

/** Every scope, that which includes all last. */
export const SCOPES: readonly Scope[] = Object.freeze(["read", "execute", "simulate", "approve", "admin"]);

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
  /** Patterns of the key itself, which only narrow what the rules of the server allow. */
  readonly tools?: PermissionRules;
  /** The principal that made its session key, as rules look at it: it has no tool that this one has not. */
  readonly maker?: RuleSubject;
  /** When its credentials end, in wall-clock milliseconds: its streams end then. @default never */
  readonly expiresAt?: number;
}

/** Finds the sender of a request by its credentials. */
export interface Authenticator {
  /**
   * Undefined = no (or wrong) credentials: answered with 401. Never throws for what a request holds. Where it cannot be known now whether they are right, it
   * rejects with a ToolError `unavailable`: answered with 503, so that clients keep them.
   */
  authenticate(request: Request): Promise<Principal | undefined>;
  /**
   * The same for one that looks at nothing but the head of a request: the server then makes no `Request` of every request over HTTP.
   *
   * @internal
   */
  authenticateHead?(head: RequestHead): Promise<Principal | undefined>;
  /**
   * Whether the credentials of a principal that was let in were revoked since: asked once a second while it has streams open. True for principals of others.
   *
   * @default they hold until `expiresAt` of the principal
   */
  isValid?(principal: Principal): Promise<boolean>;
}

/** The functions that find a sender by the head of a request alone. */
const HEAD_ALONE = new WeakSet<object>();

/** Says of an authenticator, or of the prototype of some, that what it has now looks at the head alone. What replaces it or wraps it does not. */
export function byHeadAlone<Asked extends Authenticator>(authenticator: Asked): Asked {
  HEAD_ALONE.add(functionOf(authenticator));
  return authenticator;
}

/** Whether an authenticator wants nothing of a request but its head, and was not made another one by a spread or a subclass. */
export function looksAtHeadAlone(authenticator: Authenticator): boolean {
  return authenticator.authenticateHead !== undefined && HEAD_ALONE.has(functionOf(authenticator));
}

function functionOf(authenticator: Authenticator): object {
  return Reflect.get(authenticator, "authenticate");
}

/** Asks an authenticator, with no more of the request than it looks at. */
export function senderOf(authenticator: Authenticator, request: Request | HeadRequest): Promise<Principal | undefined> {
  const byHead = looksAtHeadAlone(authenticator) ? authenticator.authenticateHead?.(request) : undefined;
  return byHead ?? authenticator.authenticate(request instanceof Request ? request : request.toRequest());
}

/** Whether a principal may do what needs this scope. */
export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has("admin");
}

/**
 * Asks one authenticator after the other; the first that knows the sender decides, and one that rejects ends it: what a later one allows may be more. Without
 * any, no sender is known.
 */
export function firstOf(...authenticators: readonly Authenticator[]): Authenticator {
  const authenticateHead = async (head: RequestHead): Promise<Principal | undefined> => {
    for (const authenticator of authenticators) {
      const principal = await authenticator.authenticateHead?.(head);
      if (principal !== undefined) return principal;
    }
    return undefined;
  };
  const authenticate = async (request: Request): Promise<Principal | undefined> => {
    for (const authenticator of authenticators) {
      const principal = await authenticator.authenticate(request);
      if (principal !== undefined) return principal;
    }
    return undefined;
  };
  const first: Authenticator = {
    authenticate,
    async isValid(principal) {
      for (const authenticator of authenticators) if ((await authenticator.isValid?.(principal)) === false) return false;
      return true;
    },
  };
  return authenticators.every(looksAtHeadAlone) ? byHeadAlone({ ...first, authenticateHead }) : first;
}
