/** The API keys of a server, stored as hashes, and the authenticator that accepts them. */
// oxlint-disable-next-line no-restricted-imports -- a secret that the program's own ports could foresee would be none
import { randomBytes } from "node:crypto";
import { quoteValue } from "../../core/base/wording.ts";
import type { AccessStore, KeyMaker, KeyQuery, StoredKey } from "../../core/store/access-store.ts";
import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { checkVisibleName } from "../../core/base/visible-name.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { ToolError } from "../../core/error.ts";
import { checkString } from "../../core/check-argument.ts";
import type { Clock } from "../../core/ports.ts";
import { didYouMean } from "../../core/base/near-names.ts";
import type { RuleSubject } from "../../policy/access-rules.ts";
import type { PermissionRules } from "../../policy/permission.ts";
import { visibilityOf } from "../../policy/visibility.ts";
import { revokeSessionKeys } from "../../session/revoke-session-keys.ts";
import type { RequestHead } from "../http/request-head.ts";
import { bearerToken } from "./credentials.ts";
import { hashText, isSameSecret } from "../../net/secret.ts";
import { SCOPES, markHeadOnly, hasScope, type Authenticator, type Principal, type Scope } from "./principal.ts";

/** Options of a new key. */
export interface NewKey {
  /** A name for people, shown in lists and the audit. */
  readonly name: string;
  /** At least one. */
  readonly scopes: readonly Scope[];
  /** Patterns over qualified names: the tools that the key may see and call. @default all that the rules of the server allow */
  readonly allow?: readonly string[];
  /** Patterns over qualified names that are denied; takes precedence over `allow`. @default none */
  readonly deny?: readonly string[];
  /** How long the key is valid, in milliseconds. @default without end */
  readonly ttlMs?: number;
  /** The id of the principal that makes the key. */
  readonly createdBy?: string;
}

/** Options of a new key for one session. */
export interface NewSessionKey extends Omit<NewKey, "ttlMs"> {
  readonly sessionId: string;
  /** How long the key is valid, in milliseconds, at most a day. @default 900_000 */
  readonly ttlMs?: number;
}

/** Options of a session key that a principal makes for another. */
export interface DelegatedSessionKey {
  readonly name: string;
  readonly sessionId: string;
  /** Some of the scopes of its maker; never `admin`. */
  readonly scopes: readonly Scope[];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** In milliseconds, at most a day; ends no later than the maker's credentials. @default 900_000 */
  readonly ttlMs?: number;
}

/** A key that was made. */
export interface IssuedKey {
  /** The complete key, which is returned only here. */
  readonly key: string;
  readonly stored: StoredKey;
}

/** Options of `Keys`. */
export interface KeysOptions {
  readonly clock: Clock;
  /** How long a key that was read from the store is trusted, in milliseconds; another process may revoke it meanwhile. @default 1_000 */
  readonly cacheMs?: number;
}

/** Matches `haft_`, the id in hex, and the secret. */
const KEY = /^haft_([0-9a-f]{16})_([\w-]{43})$/u;
/** Matches the id of a key's principal. */
const PRINCIPAL_ID = /^(?:key|session):([0-9a-f]{16})$/u;
const SESSION_PREFIX = "session:";
const ID_BYTES = 8;
const SECRET_BYTES = 32;
const SALT_BYTES = 16;
const MINUTE_MS = 60_000;
const DEFAULT_SESSION_TTL_MS = 15 * MINUTE_MS;
const MAX_SESSION_TTL_MS = 1_440 * MINUTE_MS;
/** Maximum number of cached keys; when it is reached, the cache is cleared. */
const MAX_CACHED = 10_000;

const NEW_KEY: OptionNames<NewKey> = { name: true, scopes: true, allow: true, deny: true, ttlMs: true, createdBy: true };

interface CachedKey {
  readonly principal: Principal;
  /** When the entry expires, on the monotonic clock. */
  readonly until: number;
  readonly expiresAt: number;
}

/**
 * The keys of a store, and the authenticator that accepts them.
 *
 * A secret is 32 random bytes, which cannot be guessed, so one round of salted SHA-256 protects it at rest and a request costs microseconds.
 */
export class Keys implements Authenticator {
  static {
    markHeadOnly(this.prototype);
  }

  readonly #access: AccessStore;
  readonly #clock: Clock;
  readonly #cacheMs: number;
  /** Cached keys by the hash of the whole key, so that a memory dump holds no usable key. */
  readonly #cached = new Map<string, CachedKey>();
  /** Counts how often keys were revoked here: a key that was read from the store before is not cached after. */
  #revocations = 0;

  constructor(access: AccessStore, { clock, cacheMs = 1_000 }: KeysOptions) {
    this.#access = access;
    this.#clock = clock;
    this.#cacheMs = cacheMs;
  }

  /** Makes a key. @throws ToolError `invalid_argument`, as a rejection */
  async add(key: NewKey): Promise<IssuedKey> {
    checkKnownKeys(key, NEW_KEY, "a new key");
    checkTtl(key.ttlMs, COUNT.max);
    return this.#add(key, key.ttlMs, {});
  }

  /** Makes a key for one session, such as for the page that shows it. @throws ToolError `invalid_argument`, as a rejection */
  async addSessionKey(key: NewSessionKey): Promise<IssuedKey> {
    checkKnownKeys(key, { ...NEW_KEY, sessionId: true }, "a new session key");
    return this.#addSessionKey(key);
  }

  /**
   * Makes a session key from the rights of a principal. It has no scope and no tool that its maker lacks, and ends with the maker's key.
   *
   * @throws ToolError `permission_denied` for a scope that the maker lacks, and if the maker is a session key; `invalid_argument`; as a rejection
   */
  async delegate(key: DelegatedSessionKey, maker: Principal): Promise<IssuedKey> {
    if (maker.sessionId !== undefined)
      throw new ToolError("permission_denied", "This key belongs to a session, and cannot create other keys.", {
        hint: "The principal that created it can create another one.",
      });
    const lacking = key.scopes.find((scope) => !hasScope(maker, scope));
    if (lacking !== undefined)
      throw new ToolError(
        "permission_denied",
        `A key cannot have the scope ${JSON.stringify(lacking)}, because its creator does not have it.`,
        {
          hint: `${maker.name} has ${[...maker.scopes].join(", ")}.`,
        },
      );
    const { ttlMs = DEFAULT_SESSION_TTL_MS } = key;
    checkTtl(ttlMs, MAX_SESSION_TTL_MS);
    // a token may expire at a fraction of a second
    const leftMs = Math.floor((maker.expiresAt ?? Infinity) - this.#clock.wallTime());
    const rules: KeyMaker = { name: maker.name, ...omitUndefined({ claims: maker.claims }), ...maker.tools };
    return this.#addSessionKey({ ...key, ttlMs: Math.max(1, Math.min(ttlMs, leftMs)), createdBy: maker.id }, rules);
  }

  async #addSessionKey(key: NewSessionKey, maker?: KeyMaker): Promise<IssuedKey> {
    const { sessionId, ttlMs = DEFAULT_SESSION_TTL_MS } = key;
    if (typeof sessionId !== "string" || sessionId === "") throw new ToolError("invalid_argument", "A session key needs a sessionId.");
    if (key.scopes.includes("admin"))
      throw new ToolError("invalid_argument", 'A session key cannot have the scope "admin", which reaches beyond its session.');
    checkTtl(ttlMs, MAX_SESSION_TTL_MS);
    return this.#add(key, ttlMs, omitUndefined({ sessionId, maker }));
  }

  async #add(key: NewKey, ttlMs: number | undefined, of: Pick<StoredKey, "sessionId" | "maker">): Promise<IssuedKey> {
    const { allow, deny, createdBy } = key;
    const name = checkVisibleName(key.name, "The name of a key");
    const scopes = checkScopes(key.scopes);
    visibilityOf(omitUndefined({ allow, deny }));
    const id = randomBytes(ID_BYTES).toString("hex");
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const salt = randomBytes(SALT_BYTES).toString("hex");
    const createdAt = this.#clock.wallTime();
    const stored: StoredKey = {
      id,
      name,
      salt,
      hash: hashText(salt + secret),
      scopes,
      createdAt,
      ...omitUndefined({ allow, deny, ...of, createdBy, expiresAt: ttlMs === undefined ? undefined : createdAt + ttlMs }),
    };
    await this.#access.addKey(stored);
    return { key: `haft_${id}_${secret}`, stored };
  }

  /** Lists keys, newest first, without hash and salt. */
  async list(query: KeyQuery = {}): Promise<readonly Omit<StoredKey, "hash" | "salt">[]> {
    return (await this.#access.keys(query)).map(({ hash: _hash, salt: _salt, ...key }) => key);
  }

  /**
   * Revokes a key: in this process from the next request on, in other processes within a second.
   *
   * @returns false if it had been revoked before
   * @throws ToolError `not_found`, as a rejection
   */
  async revoke(id: string): Promise<boolean> {
    checkString(id, "revoke() of keys", "the id of a key");
    const isRevoked = await this.#access.revokeKey({ id, at: this.#clock.wallTime() });
    this.#dropCached();
    if (isRevoked || (await this.#access.key(id)) !== undefined) return isRevoked;
    const ids = (await this.#access.keys({ sessionKeys: true })).map((key) => key.id);
    throw new ToolError("not_found", `There is no key ${JSON.stringify(id.slice(0, 40))}.`, {
      hint: didYouMean(id, ids, String) ?? "haft keys list lists them.",
    });
  }

  /** Revokes a session key for the principal that made it, or for an admin. @throws ToolError `not_found`, as a rejection */
  async revokeSessionKey({ id, sessionId }: { readonly id: string; readonly sessionId: string }, by: Principal): Promise<void> {
    const key = await this.#access.key(id);
    if (key === undefined || key.sessionId !== sessionId || !(key.createdBy === by.id || hasScope(by, "admin")))
      throw new ToolError("not_found", `The session has no key ${JSON.stringify(id.slice(0, 40))} that you made.`);
    await this.revoke(id);
  }

  /** Revokes the keys of a removed session: a later session of the same id is a different one. */
  async revokeOf(sessionId: string): Promise<void> {
    await revokeSessionKeys(this.#access, sessionId, this.#clock.wallTime());
    this.#dropCached();
  }

  #dropCached(): void {
    this.#revocations++;
    this.#cached.clear();
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.authenticateHead(request);
  }

  /** @internal */
  async authenticateHead(head: RequestHead): Promise<Principal | undefined> {
    const token = bearerToken(head);
    const [, id = "", secret = ""] = KEY.exec(token ?? "") ?? [];
    if (token === undefined || id === "") return undefined;
    const digest = hashText(token);
    const known = this.#cached.get(digest);
    if (known !== undefined && known.until > this.#clock.now() && known.expiresAt > this.#clock.wallTime()) return known.principal;
    const revocations = this.#revocations;
    const key = await this.#access.key(id);
    if (key === undefined || !isSameSecret(hashText(key.salt + secret), key.hash)) return undefined;
    const { revokedAt, expiresAt = Infinity } = key;
    if (revokedAt !== undefined || expiresAt <= this.#clock.wallTime() || !(await this.#isMakerValid(key))) return undefined;
    const principal = principalOf(key);
    if (revocations !== this.#revocations) return principal;
    if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
    this.#cached.set(digest, { principal, until: this.#clock.now() + this.#cacheMs, expiresAt });
    return principal;
  }

  async isValid({ id }: Principal): Promise<boolean> {
    const [, keyId] = PRINCIPAL_ID.exec(id) ?? [];
    if (keyId === undefined) return true;
    const key = await this.#access.key(keyId);
    return key !== undefined && key.revokedAt === undefined && (await this.#isMakerValid(key));
  }

  /** Session keys are deleted a day after they have expired, and are unknown from then on. A key that was deleted otherwise counts as revoked. */
  async find(id: string): Promise<Principal | undefined> {
    const [, keyId] = PRINCIPAL_ID.exec(id) ?? [];
    if (keyId === undefined) return undefined;
    const key = await this.#access.key(keyId);
    if (key === undefined && id.startsWith(SESSION_PREFIX)) return undefined;
    if (key !== undefined && key.revokedAt === undefined && !(await this.#isMakerRevoked(key))) return principalOf(key);
    return Object.freeze({ id, name: key?.name ?? id, scopes: new Set<Scope>(), tools: { allow: [] } });
  }

  async #isMakerRevoked({ maker, createdBy = "" }: StoredKey): Promise<boolean> {
    const [, makerId] = maker === undefined ? [] : (PRINCIPAL_ID.exec(createdBy) ?? []);
    return makerId !== undefined && (await this.#access.key(makerId))?.revokedAt !== undefined;
  }

  /** Whether the key that made a session key is still valid. Credentials of other makers are not looked up: their session keys just expire. */
  async #isMakerValid({ maker, createdBy = "" }: StoredKey): Promise<boolean> {
    const [, makerId] = maker === undefined ? [] : (PRINCIPAL_ID.exec(createdBy) ?? []);
    if (makerId === undefined) return true;
    const key = await this.#access.key(makerId);
    return key !== undefined && key.revokedAt === undefined && (key.expiresAt ?? Infinity) > this.#clock.wallTime();
  }
}

function principalOf({ id, name, scopes, sessionId, allow, deny, expiresAt, createdBy = "", maker }: StoredKey): Principal {
  return Object.freeze({
    id: `${sessionId === undefined ? "key:" : SESSION_PREFIX}${id}`,
    name,
    scopes: new Set(SCOPES.filter((scope) => scopes.includes(scope))),
    ...omitUndefined({ sessionId, tools: patternsOf({ allow, deny }), expiresAt, maker: maker && subjectOf(createdBy, maker) }),
  });
}

function subjectOf(id: string, { name, claims, allow, deny }: KeyMaker): RuleSubject {
  return Object.freeze({ id, name, ...omitUndefined({ claims, tools: patternsOf({ allow, deny }) }) });
}

function patternsOf({
  allow,
  deny,
}: {
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[] | undefined;
}): PermissionRules | undefined {
  return allow === undefined && deny === undefined ? undefined : omitUndefined({ allow, deny });
}

function checkScopes(scopes: readonly Scope[]): readonly Scope[] {
  if (!Array.isArray(scopes) || scopes.length === 0)
    throw new ToolError("invalid_argument", `A key needs at least one scope of ${SCOPES.join(", ")}.`);
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown === undefined) return [...new Set(scopes)];
  throw new ToolError("invalid_argument", `A key cannot have the unknown scope ${quoteValue(unknown)}.`, {
    hint: didYouMean(typeof unknown === "string" ? unknown : "", SCOPES, String) ?? `Scopes: ${SCOPES.join(", ")}.`,
  });
}

function checkTtl(ttlMs: number | undefined, max: number): void {
  checkNumber(ttlMs, "ttlMs of a key", { ...COUNT, max });
}
