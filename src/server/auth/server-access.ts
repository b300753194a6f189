/** Decides which requests a server accepts: authenticators, rules for tools, challenges, and the log of refusals. */
import type { AccessStore } from "../../core/store/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { checkArgument, hasMethods } from "../../core/check-argument.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import { safeLog } from "../../core/system/safe-log.ts";
import type { ExecuteOptions } from "../../call/execute-options.ts";
import { AccessRules, type AccessRule } from "../../policy/access-rules.ts";
import { httpClient } from "../../net/http-client.ts";
import { guardedFetch } from "../../net/guarded-fetch.ts";
import type { Visibility } from "../../policy/visibility.ts";
import { formatChallenge, metadataUrl, resourceMetadata } from "./challenge.ts";
import { CredentialWatch } from "./credential-watch.ts";
import { findScopeName, listOfferedNames, widenScopeNames } from "./issuer-scopes.ts";
import { issuerTokens, type IssuerTokensOptions } from "./issuer-tokens.ts";
import { Keys, type DelegatedSessionKey, type IssuedKey } from "./keys.ts";
import { addressOf } from "../http/client-address.ts";
import type { HeadRequest, RequestHead } from "../http/request-head.ts";
import {
  combineAuthenticators,
  hasScope,
  readsHeadOnly,
  authenticateSender,
  type Authenticator,
  type Principal,
  type Scope,
} from "./principal.ts";
import { RefusalLog, type Refusal } from "./refusal-log.ts";

/** An issuer of tokens, and private addresses from which its keys may be fetched. */
export interface IssuerOptions extends Omit<IssuerTokensOptions, "audience"> {
  /** @default `resource` of the server */
  readonly audience?: string | readonly string[];
  /** Hosts and networks with private addresses that its keys may be fetched from. @default none */
  readonly allowPrivate?: readonly string[];
}

/** Options of `openServerAccess`. */
export interface ServerAccessOptions {
  /** The store of keys and refusals. Without it there are no keys, and refusals are not kept. */
  readonly access?: AccessStore | undefined;
  readonly issuers?: readonly IssuerOptions[];
  /** Authenticators that are called before keys and issuers, such as `staticToken`. */
  readonly others?: readonly Authenticator[];
  /** @default every principal may use all tools of the runtime */
  readonly rules?: readonly AccessRule[];
  /** The address of the server as its clients know it. Needed if there are issuers. */
  readonly resource?: string;
}

const OPTIONS: OptionNames<ServerAccessOptions> = { access: true, issuers: "array", others: "array", rules: "array", resource: true };

/** The response to a request that is not accepted, or lacks a scope. */
export interface Denial {
  readonly status: 401 | 403;
  readonly reason: string;
  readonly hint: string;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string;
  readonly principal?: Principal;
}

/** The sender of a request, or why the request is denied. */
export type Admission =
  | { readonly principal: Principal; readonly denial?: undefined }
  | { readonly denial: Denial; readonly principal?: undefined };

/** Opens the access of a server. @throws ToolError `invalid_argument`; `unavailable` if an issuer needs a missing package; as a rejection */
export async function openServerAccess(
  options: ServerAccessOptions,
  ports: { readonly clock: Clock; readonly log: Log },
): Promise<ServerAccess> {
  checkKnownKeys(options, OPTIONS, "openServerAccess()");
  const arePorts = hasMethods(ports?.clock, "wallTime") && hasMethods(ports?.log, "warn");
  checkArgument(arePorts, "openServerAccess()", "the ports clock and log", ports, "runtime.ports has both.");
  const safePorts = { clock: ports.clock, log: safeLog(ports.log) };
  const { access, issuers = [], others = [], resource } = options;
  const tokens: Authenticator[] = [];
  for (const { allowPrivate = [], ...issuer } of issuers) {
    const audience = issuer.audience ?? (resource === undefined ? undefined : listAudiences(resource));
    if (audience === undefined || resource === undefined)
      throw new ToolError("invalid_argument", `Tokens of ${issuer.issuer} need a resource: the address of this server.`);
    const fetch = guardedFetch(httpClient({ allowPrivate, maxRedirects: 0 }, safePorts));
    tokens.push(await issuerTokens({ ...issuer, audience }, { ...safePorts, fetch }));
  }
  const keys = access === undefined ? undefined : new Keys(access, safePorts);
  const authenticator = combineAuthenticators(...others, ...(keys === undefined ? [] : [keys]), ...tokens);
  return new ServerAccess(options, { ports: safePorts, authenticator, keys });
}

export class ServerAccess implements Authenticator {
  readonly #options: ServerAccessOptions;
  readonly #authenticator: Authenticator;
  readonly #keys: Keys | undefined;
  readonly #credentialWatch: CredentialWatch;
  readonly #rules: AccessRules;
  readonly #refusals: RefusalLog | undefined;
  readonly #metadataUrl: URL | undefined;

  /** @internal Use `openServerAccess`. */
  constructor(
    options: ServerAccessOptions,
    {
      ports,
      authenticator,
      keys,
    }: {
      readonly ports: { readonly clock: Clock; readonly log: Log };
      readonly authenticator: Authenticator;
      readonly keys?: Keys | undefined;
    },
  ) {
    this.#keys = keys;
    this.#options = options;
    this.#authenticator = authenticator;
    this.#credentialWatch = new CredentialWatch({ authenticator, ...ports });
    this.#rules = new AccessRules(options.rules ?? []);
    this.#refusals = options.access === undefined ? undefined : new RefusalLog(options.access, ports);
    const hasIssuers = options.issuers !== undefined && options.issuers.length > 0;
    this.#metadataUrl = hasIssuers && options.resource !== undefined ? metadataUrl(options.resource) : undefined;
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.#authenticator.authenticate(request);
  }

  /** @internal Whether senders are found by the head of a request alone. */
  get readsHeadOnly(): boolean {
    return readsHeadOnly(this.#authenticator);
  }

  /** @internal Like `authenticate`, also for the head of a request. */
  authenticateSender(request: Request | HeadRequest): Promise<Principal | undefined> {
    return authenticateSender(this.#authenticator, request);
  }

  async isValid(principal: Principal): Promise<boolean> {
    return (await this.#authenticator.isValid?.(principal)) ?? true;
  }

  /** Calls `end` once when the credentials of a principal have ended. Returns a function that stops watching. */
  watch(principal: Principal, end: () => void): () => void {
    return this.#credentialWatch.watch(principal, end);
  }

  /** Authenticates a request and checks its scope; records a denial. @throws ToolError `unavailable` if that is not possible now, as a rejection */
  admit(request: Request, { scope, from }: { readonly scope: Scope; readonly from?: string }): Promise<Admission> {
    return this.admitHead(request, { scope, ...omitUndefined({ from }) });
  }

  /** @internal Like `admit`, also for the head of a request. */
  async admitHead(
    request: Request | HeadRequest,
    { scope, from }: { readonly scope: Scope | undefined; readonly from?: string },
  ): Promise<Admission> {
    const principal = await this.authenticateSender(request);
    if (principal !== undefined && (scope === undefined || hasScope(principal, scope))) return { principal };
    const denial =
      principal === undefined || scope === undefined
        ? this.#unknownSenderDenial(request, scope)
        : this.#missingScopeDenial(principal, scope);
    this.noteRefusal({ request, status: denial.status, reason: denial.reason, principal: principal?.id, from });
    return { denial };
  }

  /** Makes a session key from a principal's rights. @throws ToolError `unavailable` without a store of keys; as `Keys.delegate`; as a rejection */
  delegate(key: DelegatedSessionKey, maker: Principal): Promise<IssuedKey> {
    const claims = maker.claims === undefined ? {} : { claims: this.#rules.pickUsedClaims(maker.claims) };
    return this.#requireKeys().delegate(key, { ...maker, ...claims });
  }

  /** Revokes a session key for the principal that made it, or for an admin. @throws ToolError `not_found`, `unavailable`, as a rejection */
  async revokeSessionKey(key: { readonly id: string; readonly sessionId: string }, by: Principal): Promise<void> {
    await this.#requireKeys().revokeSessionKey(key, by);
  }

  /** Revokes the keys of a removed session. */
  async revokeKeysOf(sessionId: string): Promise<void> {
    await this.#keys?.revokeOf(sessionId);
  }

  #requireKeys(): Keys {
    if (this.#keys !== undefined) return this.#keys;
    throw new ToolError("unavailable", "The server has no key store.", {
      operatorHint: "Pass a key store: openServerAccess({ access }).",
    });
  }

  /** The tools that a principal sees in lists and may call; undefined for all that the runtime offers. */
  visibilityOf(principal: Principal): Visibility | undefined {
    return this.#rules.visibilityOf(principal);
  }

  /**
   * The tools that a principal may use now, by its id alone: for calls of it that continue after a restart. None if its key was revoked; undefined for
   * all that the runtime offers. The claims of a token are not known then, so rules with `claims` take no tool away.
   *
   * @throws ToolError `store_failed`, as a rejection
   */
  readonly currentRules = (principalId: string): Promise<Visibility | undefined> =>
    findCurrentRules(principalId, { rules: this.#rules, authenticator: this.#authenticator });

  /** The options of every call for a principal: its id in events, the principal in `context.data`, and the tools it may use. */
  callOptions(principal: Principal): Pick<ExecuteOptions, "principal" | "data" | "allow"> {
    const allow = this.visibilityOf(principal);
    return { principal: principal.id, data: { principal }, ...(allow === undefined ? {} : { allow }) };
  }

  /** The metadata document of RFC 9728, which needs no credentials; undefined for every other request. */
  metadataResponse(request: Request): Response | undefined {
    const { resource, issuers = [] } = this.#options;
    if (this.#metadataUrl === undefined || resource === undefined || request.method !== "GET") return undefined;
    if (new URL(request.url).pathname !== this.#metadataUrl.pathname) return undefined;
    const scopes = new Set(issuers.flatMap(listOfferedNames));
    const document = resourceMetadata({ resource, issuers: issuers.map(({ issuer }) => issuer), scopes: [...scopes] });
    return Response.json(document, { headers: { "cache-control": "max-age=3600", "access-control-allow-origin": "*" } });
  }

  /** Records a request that was refused for another reason, such as its origin or a rate limit. */
  noteRefusal(refusal: Refusal): void {
    this.#refusals?.record({ ...refusal, from: refusal.from ?? addressOf(refusal.request) });
  }

  /** Resolves when every refusal is in the store. */
  async settled(): Promise<void> {
    await this.#refusals?.settled();
  }

  #unknownSenderDenial({ headers }: RequestHead, scope: Scope | undefined): Denial {
    const isGiven = headers.get("authorization") !== null;
    const resourceUrl = this.#metadataUrl?.href;
    return {
      status: 401,
      reason: isGiven ? "The credentials are not valid: unknown, expired or revoked." : "The request has no credentials.",
      hint: "Send Authorization: Bearer with a key or token of this server.",
      challenge: formatChallenge({
        resourceMetadata: resourceUrl,
        error: isGiven ? "invalid_token" : undefined,
        scope: scope === undefined ? undefined : this.#commonScopeName(scope),
      }),
    };
  }

  #missingScopeDenial(principal: Principal, scope: Scope): Denial {
    const names = [...principal.scopes].join(", ");
    return {
      status: 403,
      reason: `This needs the scope ${scope}.`,
      hint: `${principal.name} has ${names === "" ? "none" : names}.`,
      challenge: formatChallenge({
        resourceMetadata: this.#metadataUrl?.href,
        error: "insufficient_scope",
        scope: this.#scopeNames(principal, scope),
      }),
      principal,
    };
  }

  /** The scope that a request without a token should ask an issuer for; undefined if the issuers have different names for it. */
  #commonScopeName(scope: Scope): string | undefined {
    const names = new Set(this.#options.issuers?.map((issuer) => findScopeName(scope, issuer)));
    return names.size === 1 ? [...names][0] : undefined;
  }

  /** The scopes to ask for, by the names of the issuer of the principal's token. */
  #scopeNames({ id, claims }: Principal, scope: Scope): string | undefined {
    const issuer = this.#options.issuers?.find((one) => id.startsWith(`token:${one.issuer}#`));
    return issuer === undefined ? scope : widenScopeNames(scope, issuer, claims)?.join(" ");
  }
}

/** The ways in which clients write the address of a server: those that parse it as a URL add a slash to a bare host. */
function listAudiences(resource: string): readonly string[] {
  if (!URL.canParse(resource)) return [resource];
  const { href, origin } = new URL(resource);
  return [...new Set([resource, href, ...(href === `${origin}/` ? [origin] : [])])];
}

/** As `ServerAccess.currentRules`, for a process that accepts no requests. */
export async function findCurrentRules(
  principalId: string,
  { rules, authenticator }: { readonly rules: AccessRules; readonly authenticator: Pick<Authenticator, "find"> },
): Promise<Visibility | undefined> {
  const principal = await authenticator.find?.(principalId);
  return principal === undefined ? rules.mostFor(principalId) : rules.visibilityOf(principal);
}

/** @internal The access with which a server was made, or that of its authenticator alone. */
export function toServerAccess(auth: Authenticator, ports: { readonly clock: Clock; readonly log: Log }): ServerAccess {
  if (auth instanceof ServerAccess) return auth;
  return new ServerAccess({}, { ports, authenticator: auth, ...(auth instanceof Keys ? { keys: auth } : {}) });
}
