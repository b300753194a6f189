/** How a server lets requests in: the authenticators, the rules for tools, the challenges, and the list of what was refused. */
import type { AccessStore } from "../../core/access-store.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { Clock, Log } from "../../core/ports.ts";
import type { ExecuteOptions } from "../../call/execute-options.ts";
import { AccessRules, type AccessRule } from "../../policy/access-rules.ts";
import { httpClient } from "../../net/http-client.ts";
import { guardedFetch } from "../../net/guarded-fetch.ts";
import type { Visibility } from "../../policy/visibility.ts";
import { challenge, metadataUrl, resourceMetadata } from "./challenge.ts";
import { CredentialWatch } from "./credential-watch.ts";
import { nameFor, offeredNames, widenedNames } from "./issuer-scopes.ts";
import { issuerTokens, type IssuerTokensOptions } from "./issuer-tokens.ts";
import { Keys, type DelegatedSessionKey, type IssuedKey } from "./keys.ts";
import { addressOf } from "../http/client-address.ts";
import type { HeadRequest, RequestHead } from "../http/request-head.ts";
import { firstOf, hasScope, looksAtHeadAlone, senderOf, type Authenticator, type Principal, type Scope } from "./principal.ts";
import { RefusalLog, type Refusal } from "./refusal-log.ts";

/** An issuer of tokens, and the private addresses where its keys may be. */
export interface IssuerOptions extends Omit<IssuerTokensOptions, "audience"> {
  /** @default `resource` of the server */
  readonly audience?: string | readonly string[];
  /** Hosts and networks besides public ones that its keys may be fetched from. @default none */
  readonly allowPrivate?: readonly string[];
}

/** The senders that are let in, and the rules of each. */
export interface ServerAccessOptions {
  /** Where its keys are, and what it refused is kept. Without it there are neither. */
  readonly access?: AccessStore | undefined;
  readonly issuers?: readonly IssuerOptions[];
  /** Asked before keys and issuers, such as `staticToken`. */
  readonly others?: readonly Authenticator[];
  /** @default every principal may use all tools of the runtime */
  readonly rules?: readonly AccessRule[];
  /** The address of the server as its clients know it. Needed where an issuer gives tokens. */
  readonly resource?: string;
}

const OPTIONS: OptionNames<ServerAccessOptions> = { access: true, issuers: "array", others: "array", rules: "array", resource: true };

/** The answer to a request that is not let in, or may not do this. */
export interface Denial {
  readonly status: 401 | 403;
  readonly reason: string;
  readonly hint: string;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string;
  readonly principal?: Principal;
}

/** The sender of a request, or why it is denied. */
export type Admission =
  | { readonly principal: Principal; readonly denial?: undefined }
  | { readonly denial: Denial; readonly principal?: undefined };

/** @throws ToolError `invalid_argument`; `unavailable` where an issuer needs a package that is not installed. By rejecting */
export async function openServerAccess(
  options: ServerAccessOptions,
  ports: { readonly clock: Clock; readonly log: Log },
): Promise<ServerAccess> {
  checkKnownKeys(options, OPTIONS, "openServerAccess()");
  const { access, issuers = [], others = [], resource } = options;
  const tokens: Authenticator[] = [];
  for (const { allowPrivate = [], ...issuer } of issuers) {
    const audience = issuer.audience ?? (resource === undefined ? undefined : audiencesOf(resource));
    if (audience === undefined || resource === undefined)
      throw new ToolError(
        "invalid_argument",
        `Tokens of ${issuer.issuer} need the resource that they are for: the address of this server.`,
      );
    const fetch = guardedFetch(httpClient({ allowPrivate, maxRedirects: 0 }, ports));
    tokens.push(await issuerTokens({ ...issuer, audience }, { ...ports, fetch }));
  }
  const keys = access === undefined ? undefined : new Keys(access, ports);
  const authenticator = firstOf(...others, ...(keys === undefined ? [] : [keys]), ...tokens);
  return new ServerAccess(options, { ports, authenticator, keys });
}

export class ServerAccess implements Authenticator {
  readonly #options: ServerAccessOptions;
  readonly #authenticator: Authenticator;
  readonly #keys: Keys | undefined;
  readonly #watch: CredentialWatch;
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
    this.#watch = new CredentialWatch({ authenticator, ...ports });
    this.#rules = new AccessRules(options.rules ?? []);
    this.#refusals = options.access === undefined ? undefined : new RefusalLog(options.access, ports);
    const hasIssuers = options.issuers !== undefined && options.issuers.length > 0;
    this.#metadataUrl = hasIssuers && options.resource !== undefined ? metadataUrl(options.resource) : undefined;
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.#authenticator.authenticate(request);
  }

  /** @internal Whether requests need no more than a head for their senders to be found. */
  get looksAtHeadAlone(): boolean {
    return looksAtHeadAlone(this.#authenticator);
  }

  /** @internal As `authenticate`, of a request that may be no `Request` yet. */
  sender(request: Request | HeadRequest): Promise<Principal | undefined> {
    return senderOf(this.#authenticator, request);
  }

  async isValid(principal: Principal): Promise<boolean> {
    return (await this.#authenticator.isValid?.(principal)) ?? true;
  }

  /** Calls `end` once when the credentials of a principal have ended. The returned function stops that. */
  watch(principal: Principal, end: () => void): () => void {
    return this.#watch.watch(principal, end);
  }

  /** Finds the sender of a request and whether it has the scope. Keeps the refusal where it has not. @throws ToolError `unavailable` where that cannot be known now. By rejecting */
  admit(request: Request, { scope, from }: { readonly scope: Scope; readonly from?: string }): Promise<Admission> {
    return this.admitHead(request, { scope, ...omitUndefined({ from }) });
  }

  /** @internal As `admit`, of a request that may be no `Request` yet. */
  async admitHead(
    request: Request | HeadRequest,
    { scope, from }: { readonly scope: Scope | undefined; readonly from?: string },
  ): Promise<Admission> {
    const principal = await this.sender(request);
    if (principal !== undefined && (scope === undefined || hasScope(principal, scope))) return { principal };
    const denial = principal === undefined || scope === undefined ? this.#unknown(request, scope) : this.#lacking(principal, scope);
    this.noteRefusal({ request, status: denial.status, reason: denial.reason, principal: principal?.id, from });
    return { denial };
  }

  /** Makes a session key out of the rights of a principal. @throws ToolError `unavailable` without a store of keys; as `Keys.delegate`. By rejecting */
  delegate(key: DelegatedSessionKey, maker: Principal): Promise<IssuedKey> {
    const claims = maker.claims === undefined ? {} : { claims: this.#rules.usedClaims(maker.claims) };
    return this.#ownKeys().delegate(key, { ...maker, ...claims });
  }

  /** Ends a key of a session for the principal that made it, or for an admin. @throws ToolError `not_found`, `unavailable`. By rejecting */
  async revokeSessionKey(key: { readonly id: string; readonly sessionId: string }, by: Principal): Promise<void> {
    await this.#ownKeys().revokeSessionKey(key, by);
  }

  /** Ends the keys of a session that was removed. */
  async revokeKeysOf(sessionId: string): Promise<void> {
    await this.#keys?.revokeOf(sessionId);
  }

  #ownKeys(): Keys {
    if (this.#keys !== undefined) return this.#keys;
    throw new ToolError("unavailable", "The server keeps no keys.", {
      operatorHint: "It is given a store of keys by openServerAccess({ access }).",
    });
  }

  /** The tools that a principal sees in lists and may call; undefined = all that the runtime offers. */
  visibilityOf(principal: Principal): Visibility | undefined {
    return this.#rules.visibilityOf(principal);
  }

  /** The options of every call that is made for a principal: its id in events, itself in `context.data`, and the tools it may use. */
  callOptions(principal: Principal): Pick<ExecuteOptions, "principal" | "data" | "allow"> {
    const allow = this.visibilityOf(principal);
    return { principal: principal.id, data: { principal }, ...(allow === undefined ? {} : { allow }) };
  }

  /** The metadata document of RFC 9728, which is open to everybody; undefined for every other request. */
  metadataResponse(request: Request): Response | undefined {
    const { resource, issuers = [] } = this.#options;
    if (this.#metadataUrl === undefined || resource === undefined || request.method !== "GET") return undefined;
    if (new URL(request.url).pathname !== this.#metadataUrl.pathname) return undefined;
    const scopes = new Set(issuers.flatMap(offeredNames));
    const document = resourceMetadata({ resource, issuers: issuers.map(({ issuer }) => issuer), scopes: [...scopes] });
    return Response.json(document, { headers: { "cache-control": "max-age=3600", "access-control-allow-origin": "*" } });
  }

  /** Keeps a request that was refused for another reason, such as its origin or too many of them. */
  noteRefusal(refusal: Refusal): void {
    this.#refusals?.note({ ...refusal, from: refusal.from ?? addressOf(refusal.request) });
  }

  /** Resolves when every refusal is in the store. */
  async settled(): Promise<void> {
    await this.#refusals?.settled();
  }

  #unknown({ headers }: RequestHead, scope: Scope | undefined): Denial {
    const isGiven = headers.get("authorization") !== null;
    const resourceUrl = this.#metadataUrl?.href;
    return {
      status: 401,
      reason: isGiven ? "The credentials are not valid: unknown, expired or revoked." : "The request has no credentials.",
      hint: "Send Authorization: Bearer with a key or token of this server.",
      challenge: challenge({
        resourceMetadata: resourceUrl,
        error: isGiven ? "invalid_token" : undefined,
        scope: scope === undefined ? undefined : this.#commonName(scope),
      }),
    };
  }

  #lacking(principal: Principal, scope: Scope): Denial {
    const names = [...principal.scopes].join(", ");
    return {
      status: 403,
      reason: `This needs the scope ${scope}.`,
      hint: `${principal.name} has ${names === "" ? "none" : names}.`,
      challenge: challenge({
        resourceMetadata: this.#metadataUrl?.href,
        error: "insufficient_scope",
        scope: this.#scopeNames(principal, scope),
      }),
      principal,
    };
  }

  /** The scope that a request without a token is to ask an issuer for. Undefined where the issuers have different names for it. */
  #commonName(scope: Scope): string | undefined {
    const names = new Set(this.#options.issuers?.map((issuer) => nameFor(scope, issuer)));
    return names.size === 1 ? [...names][0] : undefined;
  }

  /** By the names that the issuer of its token has for them. */
  #scopeNames({ id, claims }: Principal, scope: Scope): string | undefined {
    const issuer = this.#options.issuers?.find((one) => id.startsWith(`token:${one.issuer}#`));
    return issuer === undefined ? scope : widenedNames(scope, issuer, claims)?.join(" ");
  }
}

/** The ways in which clients write the address of a server: those that read it as a URL put a slash behind a host. */
function audiencesOf(resource: string): readonly string[] {
  if (!URL.canParse(resource)) return [resource];
  const { href, origin } = new URL(resource);
  return [...new Set([resource, href, ...(href === `${origin}/` ? [origin] : [])])];
}
