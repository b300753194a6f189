/** How the results of a tool are cached: where they are kept, for how long, which calls are equal; and the cache state of one call. */
import { createHash } from "node:crypto";
import { canonicalJson } from "../../core/base/canonical-json.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Log } from "../../core/ports.ts";
import type { CacheScope, CacheSettings } from "../../core/tool.ts";
import { principalIdOf } from "../../core/principal-id.ts";
import type { SingleFlight } from "../../policy/cache/single-flight.ts";
import type { CachedAnswer, CachePartition } from "../../policy/cache/result-cache.ts";
import type { Visibility } from "../../policy/visibility.ts";
import type { StoredResults } from "../../policy/cache/stored-results.ts";
import { schemaFingerprint } from "../../schema/fingerprint.ts";
import { normalizeCacheSettings } from "../../registry/check-cache.ts";
import type { RegisteredTool } from "../../registry/registered-tool.ts";

/** The options that distinguish calls with the same input. */
interface VariedCall {
  /** The rules for the handler's own calls: an answer made with other tools than these must not be shared. */
  readonly visibility?: Visibility | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly variation: string;
}

/** Settings of a session that affect its calls besides their input. Answers are not shared between different folders or environments. */
interface CacheEnvironment {
  readonly workingFolder: string | undefined;
  readonly environment: Readonly<Record<string, string>> | undefined;
}

/** The cache state of one call. */
export interface CachedRead {
  readonly plan: CachePlan;
  readonly partition: CachePartition;
  readonly key: string;
  /** The resources that the answer is read from. */
  readonly reads: readonly string[];
  /** Set if the result is kept in the store instead of in the partition. */
  readonly stored: StoredResults | undefined;
  /** The number of writes before the attempt. */
  asOf: number;
  versions: readonly number[] | undefined;
  /** Set if other calls may wait for this one. */
  flight: SingleFlight<CachedAnswer> | undefined;
  /** The resources that the calls of its handler read, beyond `reads`. */
  otherReads: readonly string[];
  /** Whether its handler read something of the session without declaring it, which only equal calls of its turn may share. */
  readsSession: true | undefined;
  /** Why equal calls must not get its answer; empty for a failed call of its handler, undefined if they may. */
  unsharedBecause: string | undefined;
  /** It does not wait for another call's handler: it leads, or a call that it waited for ended without an answer. */
  runsAlone: boolean;
}

/** Maximum length of the identity of a cached result, in characters. */
const MAX_IDENTITY_LENGTH = 65_536;
const MAX_IDENTITY_DEPTH = 16;

export interface CachePlanOptions {
  /** Distinguishes this tool from every other, including an earlier one of the same name. */
  readonly number: number;
  readonly log: Log;
}

export class CachePlan {
  readonly scope: CacheScope;
  readonly ttlMs: number | undefined;
  /** Keys of `context.data` by which answers are kept apart. */
  readonly identity: readonly string[];
  readonly #isPerUser: boolean;
  readonly #registered: RegisteredTool;
  readonly #prefix: string;
  readonly #log: Log;
  #storedPrefix: string | undefined;
  #hasWarned = false;
  #hasWarnedAboutAnswer = false;

  constructor(registered: RegisteredTool, settings: CacheSettings, { number, log }: CachePlanOptions) {
    this.scope = settings.scope;
    this.ttlMs = settings.ttlMs;
    this.identity = [...(settings.identity ?? [])];
    this.#isPerUser = registered.toolset.engine?.perUser ?? false;
    this.#registered = registered;
    this.#prefix = `${number}:`;
    this.#log = log;
  }

  static of(registered: RegisteredTool, options: CachePlanOptions): CachePlan | undefined {
    const { cache } = registered.tool;
    return cache === undefined ? undefined : new CachePlan(registered, normalizeCacheSettings(cache), options);
  }

  /**
   * The key that two calls share exactly if they are equal; undefined if no other call can be known to be equal.
   *
   * A number, arrays, an object and, if they vary, a string and an object are concatenated. Each part marks its own end, so that different calls
   * never give the same text.
   */
  keyOf(input: JsonObject, { data, variation, visibility }: VariedCall, environment: CacheEnvironment): string | undefined {
    const varied = (variation === "" ? "" : canonicalJson(variation)) + formatEnvironment(environment);
    const user = this.#isPerUser ? canonicalJson([principalIdOf(data) ?? null]) : "";
    const rules = visibility === undefined ? "" : visibility.text;
    if (this.identity.length === 0) return this.#prefix + rules + user + canonicalJson(input) + varied;
    const identity = formatIdentity(this.identity, data);
    if (typeof identity === "string") return this.#prefix + rules + user + identity + canonicalJson(input) + varied;
    this.#warnAboutIdentity(identity);
    return undefined;
  }

  #warnAboutIdentity({ key, isMissing }: UnusableIdentity): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const what = isMissing ? `context.data has no ${JSON.stringify(key)}, and its "principal"` : `${JSON.stringify(key)} of context.data`;
    this.#log.warn(
      `A call of ${this.#registered.qualifiedName} was not cached because of its cache.identity: ${what} is not plain JSON of at most ${MAX_IDENTITY_LENGTH} characters.`,
    );
  }

  /** Warns, once, that an answer was not cached because of what its handler did. */
  warnAboutAnswer(why: string): void {
    if (this.#hasWarnedAboutAnswer) return;
    this.#hasWarnedAboutAnswer = true;
    this.#log.warn(`A result of ${this.#registered.qualifiedName} was not cached: ${why}.`);
  }

  /** The key of `keyOf` in a store: short, and equal in every process whose tool has this name and these schemas. */
  storedKey(key: string): string {
    this.#storedPrefix ??= this.#describe();
    const hash = createHash("sha256").update(this.#storedPrefix).update(key.slice(this.#prefix.length));
    return `result:${hash.digest("hex")}`;
  }

  #describe(): string {
    const { qualifiedName, fingerprint, tool } = this.#registered;
    const output = tool.outputSchema === undefined ? null : schemaFingerprint(tool.outputSchema);
    return canonicalJson([qualifiedName, fingerprint, output, this.identity]);
  }
}

/** Empty for most sessions, which have neither. */
function formatEnvironment({ workingFolder, environment }: CacheEnvironment): string {
  if (workingFolder === undefined && environment === undefined) return "";
  return canonicalJson({ workingFolder: workingFolder ?? null, environment: environment === undefined ? null : { ...environment } });
}

/**
 * The values of these keys as an array. A missing value is left empty, which no value is. If a principal makes the call, the principal takes its
 * place: the handler may identify the user by it, so the answers are for this principal alone.
 */
function formatIdentity(keys: readonly string[], data: Readonly<Record<string, unknown>>): string | UnusableIdentity {
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

/** Empty for a missing value; undefined for a value that cannot be compared exactly. */
function valueText(data: Readonly<Record<string, unknown>>, key: string): string | undefined {
  try {
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined) return "";
    const whole = exactJson(value, MAX_IDENTITY_DEPTH);
    const text = whole === undefined || key !== "principal" ? whole : exactJson(withoutTokenTimes(value), MAX_IDENTITY_DEPTH);
    return text !== undefined && text.length <= MAX_IDENTITY_LENGTH ? text : undefined;
  } catch {
    return undefined; // a getter or a proxy threw
  }
}

/** The principal without the times and the id of its token, so that a user still gets answers from before a new token. */
function withoutTokenTimes(principal: unknown): unknown {
  if (!isJsonObject(principal)) return principal;
  const { expiresAt: _expiresAt, claims, ...rest } = principal;
  if (!isJsonObject(claims)) return claims === undefined ? rest : { ...rest, claims };
  const { exp: _exp, iat: _iat, nbf: _nbf, jti: _jti, auth_time: _authTime, ...lasting } = claims;
  return { ...rest, claims: lasting };
}

/**
 * The canonical text of plain JSON, which may also contain sets, such as the scopes of a principal; else undefined.
 *
 * Values are not converted to JSON: two users whose `toJSON` omits the same field are still two users.
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
  const isArray = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== (isArray ? Array.prototype : Object.prototype) && (isArray || prototype !== null)) return undefined;
  const keys = Object.keys(value);
  // Hidden properties and symbol keys may be what distinguishes two objects.
  if (Reflect.ownKeys(value).length !== keys.length + (isArray ? 1 : 0) || (isArray && keys.length !== value.length)) return undefined;
  const texts: string[] = [];
  for (const key of isArray ? keys : keys.sort()) {
    const text = exactJson(Reflect.get(value, key), depthLeft);
    if (text === undefined) return undefined;
    texts.push(isArray ? text : `${JSON.stringify(key)}:${text}`);
  }
  return isArray ? `[${texts.join(",")}]` : `{${texts.join(",")}}`;
}

/** The members in sorted order, regardless of the order in which they were added. */
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
