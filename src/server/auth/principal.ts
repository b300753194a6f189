/** Principals, which send requests, and the scopes that say what each may do. */
import type { JsonObject } from "../../core/base/json.ts";
import type { RuleSubject } from "../../policy/access-rules.ts";
import type { HeadRequest, RequestHead } from "../http/request-head.ts";
import type { PermissionRules } from "../../policy/permission.ts";

/** Scopes of principals. `admin` includes all others; the others are independent. */
export type Scope = "read" | "execute" | "simulate" | "approve" | "admin";

/** Every scope, `admin` last. */
export const SCOPES: readonly Scope[] = Object.freeze(["read", "execute", "simulate", "approve", "admin"]);

/** The sender of a request. */
export interface Principal {
  /** Stable id: `key:ab12…`, `session:…`, `token:<issuer>#<subject>`, `local`. Used in events, lists and the audit. */
  readonly id: string;
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  /** Set for a session key, which may see only this session. */
  readonly sessionId?: string;
  /** Claims of a bearer token, for access rules. */
  readonly claims?: JsonObject;
  /** Patterns of the key itself, which can only narrow what the server's rules allow. */
  readonly tools?: PermissionRules;
  /** The maker of a session key, for access rules: the key may use no tool that its maker may not use. */
  readonly maker?: RuleSubject;
  /** When its credentials end, in wall-clock milliseconds; its streams end at that time. @default never */
  readonly expiresAt?: number;
}

/** Finds the sender of a request by its credentials. */
export interface Authenticator {
  /**
   * Returns undefined if the credentials are missing or wrong: the server responds with 401. Never throws because of the contents of a request.
   * Rejects with a ToolError `unavailable` if the credentials cannot be checked now: the server responds with 503, so that clients keep them.
   */
  authenticate(request: Request): Promise<Principal | undefined>;
  /**
   * Does the same from the head of a request alone, so that the server need not make a `Request` for every HTTP request.
   *
   * @internal
   */
  authenticateHead?(head: RequestHead): Promise<Principal | undefined>;
  /**
   * Whether the credentials of an accepted principal are still valid. Called once a second while the principal has streams open. Must be true for
   * principals of other authenticators.
   *
   * @default they are valid until `expiresAt` of the principal
   */
  isValid?(principal: Principal): Promise<boolean>;
  /**
   * Looks up a principal by its id, with the rights that it has now, for calls of it that continue after a restart of the server. Resolves to a
   * principal without tools (`tools: { allow: [] }`) if its credentials were revoked, and to undefined for an id that it does not know. Credentials
   * that have expired are no reason: what was begun in time may end.
   *
   * @default nothing is known but the id: such a call keeps the tools that some name and claims would have by the rules of the server
   */
  find?(id: string): Promise<Principal | undefined>;
}

/** `authenticate` functions that read only the head of a request. */
const HEAD_ONLY = new WeakSet<object>();

/** Marks the `authenticate` that an authenticator or prototype has now as reading only the request head. Replacements and wrappers are not marked. */
export function markHeadOnly<Asked extends Authenticator>(authenticator: Asked): Asked {
  HEAD_ONLY.add(authenticateFunctionOf(authenticator));
  return authenticator;
}

/** Whether an authenticator reads only the head of a request, and its `authenticate` was not replaced by a spread or a subclass. */
export function readsHeadOnly(authenticator: Authenticator): boolean {
  return authenticator.authenticateHead !== undefined && HEAD_ONLY.has(authenticateFunctionOf(authenticator));
}

function authenticateFunctionOf(authenticator: Authenticator): object {
  return Reflect.get(authenticator, "authenticate");
}

/** Calls an authenticator with the head alone if it reads no more than that. */
export function authenticateSender(authenticator: Authenticator, request: Request | HeadRequest): Promise<Principal | undefined> {
  const byHead = readsHeadOnly(authenticator) ? authenticator.authenticateHead?.(request) : undefined;
  return byHead ?? authenticator.authenticate(request instanceof Request ? request : request.toRequest());
}

/** Whether a principal has a scope, directly or as an admin. */
export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.has(scope) || scopes.has("admin");
}

/**
 * Combines authenticators: they are called in order and the first that returns a principal decides. A rejection ends the search, since a later
 * authenticator could grant more. Without any authenticator every sender is unknown.
 */
export function combineAuthenticators(...authenticators: readonly Authenticator[]): Authenticator {
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
    find: (id) => findPrincipal(authenticators, id),
  };
  return authenticators.every(readsHeadOnly) ? markHeadOnly({ ...first, authenticateHead }) : first;
}

/** Asks authenticators in order which principal has an id; undefined if none knows it. */
export async function findPrincipal(authenticators: readonly Pick<Authenticator, "find">[], id: string): Promise<Principal | undefined> {
  for (const authenticator of authenticators) {
    const principal = await authenticator.find?.(id);
    if (principal !== undefined) return principal;
  }
  return undefined;
}
