/** How the results of a tool are cached: where they are kept, for how long, which calls are equal, and the state of one call in it. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { CacheScope, CacheSettings } from "../../core/tool.ts";
import { principalIdOf } from "../../core/principal-id.ts";
import type { Flight } from "../../policy/cache/flight.ts";
import type { CachedAnswer, CachePartition } from "../../policy/cache/result-cache.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { StoredResults } from "../../policy/cache/stored-results.ts";
import { schemaFingerprint } from "../../schema/fingerprint.ts";
import { cacheSettings } from "../../registry/check-cache.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";

/** The options that tell a call from another of the same input. */
interface VariedCall {
  /** The rules over what its handler may call: an answer made of what others may use is not theirs. */
  readonly visibility?: Visibility | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly variation: string;
}

/** Settings of a session that its calls see besides their input: answers made in one folder, or with the variables of one user, are not another's. */
interface Surroundings {
  readonly workingFolder: string | undefined;
  readonly environment: Readonly<Record<string, string>> | undefined;
}

/** The state of one call in the cache. */
export interface CachedRead {
  readonly plan: CachePlan;
  readonly partition: CachePartition;
  readonly key: string;
  /** The resources that the answer is read from. */
  readonly reads: readonly string[];
  /** Set for a result that is kept in the store instead of on the partition. */
  readonly stored: StoredResults | undefined;
  /** The writes there had been before the attempt. */
  asOf: number;
  versions: readonly number[] | undefined;
  /** That other calls wait for this one. */
  flight: Flight<CachedAnswer> | undefined;
  /** It waits for no other call's handler: it leads, or one that it waited for came back with nothing. */
  alone: boolean;
}

/** A result with a longer identity is not worth keeping. */
const MAX_IDENTITY_LENGTH = 65_536;
const MAX_IDENTITY_DEPTH = 16;

export interface CachePlanOptions {
  /** Tells this tool from every other, and from one that had its name before. */
  readonly number: number;
  readonly log: Log;
}

export class CachePlan {
  readonly scope: CacheScope;
  readonly ttlMs: number | undefined;
  readonly #identity: readonly string[];
  readonly #isPerUser: boolean;
  readonly #registered: RegisteredTool;
  readonly #prefix: string;
  readonly #log: Log;
  #storedPrefix: string | undefined;
  #hasWarned = false;

  constructor(registered: RegisteredTool, settings: CacheSettings, { number, log }: CachePlanOptions) {
    this.scope = settings.scope;
    this.ttlMs = settings.ttlMs;
    this.#identity = [...(settings.identity ?? [])];
    this.#isPerUser = registered.toolset.engine?.perUser ?? false;
    this.#registered = registered;
    this.#prefix = `${number}:`;
    this.#log = log;
  }

  static of(registered: RegisteredTool, options: CachePlanOptions): CachePlan | undefined {
    const { cache } = registered.tool;
    return cache === undefined ? undefined : new CachePlan(registered, cacheSettings(cache), options);
  }

  /**
   * The text that calls have in common exactly when they are equal; undefined when no other call is known to be equal.
   *
   * A number, arrays, an object, and where they vary a string and an object, one after the other: each says itself where it ends, so no two
   * calls run together.
   */
  keyOf(input: JsonObject, { data, variation, visibility }: VariedCall, surroundings: Surroundings): string | undefined {
    const varied = (variation === "" ? "" : canonicalJson(variation)) + surroundingsText(surroundings);
    const user = this.#isPerUser ? canonicalJson([principalIdOf(data) ?? null]) : "";
    const rules = visibility === undefined ? "" : visibility.text;
    if (this.#identity.length === 0) return this.#prefix + rules + user + canonicalJson(input) + varied;
    const identity = identityText(this.#identity, data);
    if (typeof identity === "string") return this.#prefix + rules + user + identity + canonicalJson(input) + varied;
    this.#warnOf(identity);
    return undefined;
  }

  #warnOf({ key, isMissing }: UnusableIdentity): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const what = isMissing ? `context.data has no ${JSON.stringify(key)}, and its "principal"` : `${JSON.stringify(key)} of context.data`;
    this.#log.warn(
      `A call of ${this.#registered.qualifiedName} was not cached, for its cache.identity: ${what} is not plain JSON of at most ${MAX_IDENTITY_LENGTH} characters.`,
    );
  }

  /** The same for a store: short, and equal in every process whose tool has this name and these schemas. */
  storedKey(key: string): string {
    this.#storedPrefix ??= this.#describe();
    const hash = createHash("sha256").update(this.#storedPrefix).update(key.slice(this.#prefix.length));
    return `result:${hash.digest("hex")}`;
  }

  #describe(): string {
    const { qualifiedName, fingerprint, tool } = this.#registered;
    const output = tool.outputSchema === undefined ? null : schemaFingerprint(tool.outputSchema);
    return canonicalJson([qualifiedName, fingerprint, output, this.#identity]);
  }
}

/** Nothing for most sessions, which give neither. */
function surroundingsText({ workingFolder, environment }: Surroundings): string {
  if (workingFolder === undefined && environment === undefined) return "";
  return canonicalJson({ workingFolder: workingFolder ?? null, environment: environment === undefined ? null : { ...environment } });
}

/**
 * The values of these keys as an array. One that is missing leaves its place empty, as no value does, unless a principal makes the call: its
 * answers are for this principal alone, because the handler may find the user there.
 */
function identityText(keys: readonly string[], data: Readonly<Record<string, unknown>>): string | UnusableIdentity {
  const texts: string[] = [];
  for (const key of keys) {
    const own = valueText(data, key);
    const isMissing = own === "";
    const text = isMissing ? valueText(data, "principal") : own;
    if (text === undefined) return { key, isMissing };
    texts.push(isMissing && text !== "" ? `principal:${text}` : text);
  }
  return `[${texts.join(",")}]`;
}

interface UnusableIdentity {
  readonly key: string;
  readonly isMissing: boolean;
}

/** Empty for a value that is missing; undefined for one that cannot be told from others. */
function valueText(data: Readonly<Record<string, unknown>>, key: string): string | undefined {
  try {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined) return "";
    const whole = exactJson(value, MAX_IDENTITY_DEPTH);
    const text = whole === undefined || key !== "principal" ? whole : exactJson(withoutTimes(value), MAX_IDENTITY_DEPTH);
    return text !== undefined && text.length <= MAX_IDENTITY_LENGTH ? text : undefined;
  } catch {
    return undefined; // a getter or a proxy threw
  }
}

/** A principal without the times and the id of its token: a user has the answers that they had with an earlier one. */
function withoutTimes(principal: unknown): unknown {
  if (!isJsonObject(principal)) return principal;
  const { expiresAt: _expiresAt, claims, ...rest } = principal;
  if (!isJsonObject(claims)) return claims === undefined ? rest : { ...rest, claims };
  const { exp: _exp, iat: _iat, nbf: _nbf, jti: _jti, auth_time: _authTime, ...lasting } = claims;
  return { ...rest, claims: lasting };
}

/**
 * The canonical text of plain JSON, in which sets may stand as well, such as the scopes of a principal; else undefined.
 *
 * Nothing is turned into JSON here: two users whose `toJSON` leaves out the same field are still two users.
 */
function exactJson(value: unknown, depthLeft: number): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return JSON.stringify(value);
    case "number":
      return Number.isFinite(value) ? JSON.stringify(value) : undefined;
    case "object":
      if (value === null) return "null";
      return depthLeft === 0 ? undefined : exactContainer(value, depthLeft - 1);
    default:
      return undefined;
  }
}

function exactContainer(value: object, depthLeft: number): string | undefined {
  if (value instanceof Set) return exactSet(value, depthLeft);
  const isList = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== (isList ? Array.prototype : Object.prototype) && (isList || prototype !== null)) return undefined;
  const keys = Object.keys(value);
  // Hidden properties and those named by symbols may be what distinguishes two objects.
  if (Reflect.ownKeys(value).length !== keys.length + (isList ? 1 : 0) || (isList && keys.length !== value.length)) return undefined;
  const texts: string[] = [];
  for (const key of isList ? keys : keys.sort()) {
    const text = exactJson(Reflect.get(value, key), depthLeft);
    if (text === undefined) return undefined;
    texts.push(isList ? text : `${JSON.stringify(key)}:${text}`);
  }
  return isList ? `[${texts.join(",")}]` : `{${texts.join(",")}}`;
}

/** Its members in one order, whichever they were added in. */
function exactSet(value: ReadonlySet<unknown>, depthLeft: number): string | undefined {
  if (Object.getPrototypeOf(value) !== Set.prototype || Reflect.ownKeys(value).length > 0) return undefined;
  const texts: string[] = [];
  for (const member of value) {
    const text = exactJson(member, depthLeft);
    if (text === undefined) return undefined;
    texts.push(text);
  }
  return `set[${texts.sort().join(",")}]`;
}
