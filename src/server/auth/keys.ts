/** The keys of a server: made once, kept as hashes, and known by what requests bring. */
// oxlint-disable-next-line no-restricted-imports -- a secret that the program's own ports could foresee would be none
import { randomBytes } from "node:crypto";
import { quoted } from "../../core/base/wording.ts";
import type { AccessStore, KeyMaker, KeyQuery, StoredKey } from "../../core/access-store.ts";
import { COUNT, checkNumber } from "../../core/base/number-bounds.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { checkedVisibleName } from "../../core/base/visible-name.ts";
import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import { ToolError } from "../../core/error.ts";
import { checkText } from "../../core/check-argument.ts";
import type { Clock } from "../../core/ports.ts";
import { didYouMean } from "../../core/base/near-names.ts";
import type { RuleSubject } from "../../policy/access-rules.ts";
import type { PermissionRules } from "../../policy/permission.ts";
import { visibilityOf } from "../../policy/visibility.ts";
import type { RequestHead } from "../http/request-head.ts";
import { bearerToken } from "./credentials.ts";
import { hashOf, isSameSecret } from "../../net/secret.ts";
import { SCOPES, byHeadAlone, hasScope, type Authenticator, type Principal, type Scope } from "./principal.ts";

/** A key that is to be made. */
export interface NewKey {
  /** For people: in lists and the audit. */
  readonly name: string;
  /** One at least. */
  readonly scopes: readonly Scope[];
  /** Patterns over qualified names: the tools that it may see and call. @default all that the rules of the server allow */
  readonly allow?: readonly string[];
  /** Wins over `allow`. */
  readonly deny?: readonly string[];
  /** How long it is valid, in milliseconds. @default for good */
  readonly ttlMs?: number;
  /** The id of the principal that makes it. */
  readonly createdBy?: string;
}

/** A key of one session. */
export interface NewSessionKey extends Omit<NewKey, "ttlMs"> {
  readonly sessionId: string;
  /** How long it is valid, in milliseconds, up to a day. @default 900_000 */
  readonly ttlMs?: number;
}

/** A key of one session that a principal makes for another. */
export interface DelegatedSessionKey {
  readonly name: string;
  readonly sessionId: string;
  /** Of those that the maker has; never `admin`. */
  readonly scopes: readonly Scope[];
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** Up to a day, and no longer than the credentials of the maker are valid. @default 900_000 */
  readonly ttlMs?: number;
}

/** A key that was made. */
export interface IssuedKey {
  /** The whole of it, which is shown here and never again. */
  readonly key: string;
  readonly stored: StoredKey;
}

/** The clock that keys expire by, and for how long what is known of them holds. */
export interface KeysOptions {
  readonly clock: Clock;
  /** For so long, in milliseconds, what the store said of a key is taken for true: another process may have revoked it. @default 1_000 */
  readonly cacheMs?: number;
}

/** `haft_`, the id in hex, and the secret. */
const KEY = /^haft_([0-9a-f]{16})_([\w-]{43})$/u;
/** The id of the principal of a key. */
const PRINCIPAL_ID = /^(?:key|session):([0-9a-f]{16})$/u;
const ID_BYTES = 8;
const SECRET_BYTES = 32;
const SALT_BYTES = 16;
const MINUTE_MS = 60_000;
const DEFAULT_SESSION_TTL_MS = 15 * MINUTE_MS;
const MAX_SESSION_TTL_MS = 1_440 * MINUTE_MS;
/** Keys that are remembered; when there are more, all are looked up again. */
const MAX_KNOWN = 10_000;

const NEW_KEY: OptionNames<NewKey> = { name: true, scopes: true, allow: true, deny: true, ttlMs: true, createdBy: true };

interface KnownKey {
  readonly principal: Principal;
  /** On the clock. */
  readonly until: number;
  readonly expiresAt: number;
}

/**
 * The keys of a store, and the authenticator that knows them.
 *
 * A key is 32 random bytes: nothing guesses them, so one round of salted SHA-256 keeps them at rest, and a request costs microseconds.
 */
export class Keys implements Authenticator {
  static {
    byHeadAlone(this.prototype);
  }

  readonly #access: AccessStore;
  readonly #clock: Clock;
  readonly #cacheMs: number;
  /** By the hash of the whole key, which a thief of memory could not send. */
  readonly #known = new Map<string, KnownKey>();

  constructor(access: AccessStore, { clock, cacheMs = 1_000 }: KeysOptions) {
    this.#access = access;
    this.#clock = clock;
    this.#cacheMs = cacheMs;
  }

  /** @throws ToolError `invalid_argument`. By rejecting */
  async add(key: NewKey): Promise<IssuedKey> {
    checkKnownKeys(key, NEW_KEY, "a new key");
    checkTtl(key.ttlMs, COUNT.max);
    return this.#add(key, key.ttlMs, {});
  }

  /** Makes a key that is good for one session, such as for the page that shows it. @throws ToolError `invalid_argument`. By rejecting */
  async addSessionKey(key: NewSessionKey): Promise<IssuedKey> {
    checkKnownKeys(key, { ...NEW_KEY, sessionId: true }, "a new session key");
    return this.#addSessionKey(key);
  }

  /**
   * Makes a session key out of the rights of a principal. It has no scope and no tool that its maker has not, and ends with the maker's key.
   *
   * @throws ToolError `permission_denied` for a scope that the maker lacks, and where the maker is a session key; `invalid_argument`. By rejecting
   */
  async delegate(key: DelegatedSessionKey, maker: Principal): Promise<IssuedKey> {
    if (maker.sessionId !== undefined)
      throw new ToolError("permission_denied", "This key belongs to a session, and makes no other keys.", {
        hint: "The principal that made it can make another one.",
      });
    const lacking = key.scopes.find((scope) => !hasScope(maker, scope));
    if (lacking !== undefined)
      throw new ToolError("permission_denied", `A key cannot have the scope ${JSON.stringify(lacking)}, which its maker has not.`, {
        hint: `${maker.name} has ${[...maker.scopes].join(", ")}.`,
      });
    const { ttlMs = DEFAULT_SESSION_TTL_MS } = key;
    const leftMs = (maker.expiresAt ?? Infinity) - this.#clock.wallTime();
    const rules: KeyMaker = { name: maker.name, ...omitUndefined({ claims: maker.claims }), ...maker.tools };
    return this.#addSessionKey({ ...key, ttlMs: Math.max(1, Math.min(ttlMs, leftMs)), createdBy: maker.id }, rules);
  }

  async #addSessionKey(key: NewSessionKey, maker?: KeyMaker): Promise<IssuedKey> {
    const { sessionId, ttlMs = DEFAULT_SESSION_TTL_MS } = key;
    if (typeof sessionId !== "string" || sessionId === "") throw new ToolError("invalid_argument", "A session key names its sessionId.");
    if (key.scopes.includes("admin"))
      throw new ToolError("invalid_argument", 'A session key cannot have the scope "admin", which reaches beyond its session.');
    checkTtl(ttlMs, MAX_SESSION_TTL_MS);
    return this.#add(key, ttlMs, omitUndefined({ sessionId, maker }));
  }

  async #add(key: NewKey, ttlMs: number | undefined, of: Pick<StoredKey, "sessionId" | "maker">): Promise<IssuedKey> {
    const { allow, deny, createdBy } = key;
    const name = checkedVisibleName(key.name, "The name of a key");
    const scopes = checkedScopes(key.scopes);
    visibilityOf(omitUndefined({ allow, deny }));
    const id = randomBytes(ID_BYTES).toString("hex");
    const secret = randomBytes(SECRET_BYTES).toString("base64url");
    const salt = randomBytes(SALT_BYTES).toString("hex");
    const createdAt = this.#clock.wallTime();
    const stored: StoredKey = {
      id,
      name,
      salt,
      hash: hashOf(salt + secret),
      scopes,
      createdAt,
      ...omitUndefined({ allow, deny, ...of, createdBy, expiresAt: ttlMs === undefined ? undefined : createdAt + ttlMs }),
    };
    await this.#access.addKey(stored);
    return { key: `haft_${id}_${secret}`, stored };
  }

  /** The newest first, without what they are known by. */
  async list(query: KeyQuery = {}): Promise<readonly Omit<StoredKey, "hash" | "salt">[]> {
    return (await this.#access.keys(query)).map(({ hash: _hash, salt: _salt, ...key }) => key);
  }

  /**
   * Ends a key for good: here with the next request, in other processes within a second.
   *
   * @returns whether it had not been revoked before
   * @throws ToolError `not_found`. By rejecting
   */
  async revoke(id: string): Promise<boolean> {
    checkText(id, "revoke() of keys", "the id of a key");
    const isRevoked = await this.#access.revokeKey({ id, at: this.#clock.wallTime() });
    this.#known.clear();
    if (isRevoked || (await this.#access.key(id)) !== undefined) return isRevoked;
    const ids = (await this.#access.keys({ sessionKeys: true })).map((key) => key.id);
    throw new ToolError("not_found", `There is no key ${JSON.stringify(id.slice(0, 40))}.`, {
      hint: didYouMean(id, ids, String) ?? "haft keys list shows them.",
    });
  }

  /** Ends a key of a session for the principal that made it, or for an admin. @throws ToolError `not_found`. By rejecting */
  async revokeSessionKey({ id, sessionId }: { readonly id: string; readonly sessionId: string }, by: Principal): Promise<void> {
    const key = await this.#access.key(id);
    if (key === undefined || key.sessionId !== sessionId || !(key.createdBy === by.id || hasScope(by, "admin")))
      throw new ToolError("not_found", `The session has no key ${JSON.stringify(id.slice(0, 40))} that you made.`);
    await this.revoke(id);
  }

  /** Ends the keys of a session that was removed: the next session of its id is another one. */
  async revokeOf(sessionId: string): Promise<void> {
    const keys = await this.#access.keys({ sessionId, limit: Number.MAX_SAFE_INTEGER });
    for (const { id } of keys) await this.#access.revokeKey({ id, at: this.#clock.wallTime() });
    this.#known.clear();
  }

  authenticate(request: Request): Promise<Principal | undefined> {
    return this.authenticateHead(request);
  }

  /** @internal */
  async authenticateHead(head: RequestHead): Promise<Principal | undefined> {
    const token = bearerToken(head);
    const [, id = "", secret = ""] = KEY.exec(token ?? "") ?? [];
    if (token === undefined || id === "") return undefined;
    const digest = hashOf(token);
    const known = this.#known.get(digest);
    if (known !== undefined && known.until > this.#clock.now() && known.expiresAt > this.#clock.wallTime()) return known.principal;
    const key = await this.#access.key(id);
    if (key === undefined || !isSameSecret(hashOf(key.salt + secret), key.hash)) return undefined;
    const { revokedAt, expiresAt = Infinity } = key;
    if (revokedAt !== undefined || expiresAt <= this.#clock.wallTime() || !(await this.#makerHolds(key))) return undefined;
    const principal = principalOf(key);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(digest, { principal, until: this.#clock.now() + this.#cacheMs, expiresAt });
    return principal;
  }

  async isValid({ id }: Principal): Promise<boolean> {
    const [, keyId] = PRINCIPAL_ID.exec(id) ?? [];
    if (keyId === undefined) return true;
    const key = await this.#access.key(keyId);
    return key !== undefined && key.revokedAt === undefined && (await this.#makerHolds(key));
  }

  /** Whether the key that made a session key still holds. The credentials of other makers are not looked up: their session keys end by time. */
  async #makerHolds({ maker, createdBy = "" }: StoredKey): Promise<boolean> {
    const [, makerId] = maker === undefined ? [] : (PRINCIPAL_ID.exec(createdBy) ?? []);
    if (makerId === undefined) return true;
    const key = await this.#access.key(makerId);
    return key !== undefined && key.revokedAt === undefined && (key.expiresAt ?? Infinity) > this.#clock.wallTime();
  }
}

function principalOf({ id, name, scopes, sessionId, allow, deny, expiresAt, createdBy = "", maker }: StoredKey): Principal {
  return Object.freeze({
    id: `${sessionId === undefined ? "key" : "session"}:${id}`,
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

function checkedScopes(scopes: readonly Scope[]): readonly Scope[] {
  if (!Array.isArray(scopes) || scopes.length === 0)
    throw new ToolError("invalid_argument", `A key has one scope at least, of ${SCOPES.join(", ")}.`);
  const unknown = scopes.find((scope) => !SCOPES.includes(scope));
  if (unknown === undefined) return [...new Set(scopes)];
  throw new ToolError("invalid_argument", `A key has no scope ${quoted(unknown)}.`, {
    hint: didYouMean(typeof unknown === "string" ? unknown : "", SCOPES, String) ?? `Scopes: ${SCOPES.join(", ")}.`,
  });
}

function checkTtl(ttlMs: number | undefined, max: number): void {
  checkNumber(ttlMs, "ttlMs of a key", { ...COUNT, max });
}
