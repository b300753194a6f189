/** Computes what one call reads and writes, and which keys it must lock for that. */
import { ignoreRejection, ignoreRejections } from "../../core/system/ignore-rejections.ts";
import { qualifiedName } from "../../core/call.ts";
import { isSessionKey, type ResolvedEffects, type Effects, type LockKeys } from "../../core/resources/effects.ts";
import { areKeysComputed, compileKeys, type ResourceKeys } from "../../core/resources/resource-keys.ts";
import { describeThrown } from "../../core/error.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { Clock } from "../../core/ports.ts";
import type { Tool } from "../../core/tool.ts";

const MAX_KEYS = 64;
const MAX_KEY_LENGTH = 1024;
const MAX_RESOLVE_MS = 50;
const MAX_REASON_LENGTH = 200;
const NONE: readonly string[] = Object.freeze([]);

/**
 * Returns the function that computes a tool's effects for an input; it never throws.
 *
 * Fixed keys give one shared frozen object. Keys that cannot be used (a function throws or returns a promise, a key is empty or too long, there are
 * too many) make the call undeclared; `warn` gets the reason, once per tool, and, once, a warning about functions that take longer than 50 ms.
 */
export function createEffectsResolver(options: EffectsResolverOptions): (input: JsonObject) => ResolvedEffects {
  const { tool } = options;
  if (tool.composite === true) return () => COMPOSITE;
  const resolver = new EffectsResolver(options);
  if (dependsOnInput(tool.effects)) return (input) => resolver.resolve(input);
  const fixed = resolver.resolve(NO_INPUT, false);
  freeze(fixed);
  return () => fixed;
}

/** A composite tool has no effects of its own, only its nested calls have. It may be repeated, because the results of those calls are kept. */
const COMPOSITE: ResolvedEffects = Object.freeze({
  reads: NONE,
  writes: NONE,
  lock: Object.freeze({ reads: NONE, writes: NONE, commutative: false }),
  undeclared: false,
  repeatable: true,
  external: false,
  destructive: false,
  commutative: false,
  writesWorld: false,
  hasSessionKeys: false,
});

/** Whether calls of a tool with these effects may touch different keys, depending on the input. */
export function dependsOnInput({ reads, writes }: Effects = {}): boolean {
  return areKeysComputed(reads) || areKeysComputed(writes);
}

const NO_INPUT: JsonObject = Object.freeze({});

export interface EffectsResolverOptions {
  readonly tool: Tool;
  readonly toolsetName: string;
  readonly warn: (message: string) => void;
  readonly clock: Clock;
}

class EffectsResolver {
  readonly #effects: Effects;
  readonly #reads: KeyReader | undefined;
  readonly #writes: KeyReader | undefined;
  readonly #name: string;
  readonly #warn: (message: string) => void;
  readonly #clock: Clock;
  readonly #readsKey: string;
  readonly #writesPrefix: string;
  readonly #undeclared: ResolvedEffects;
  readonly #unusable: ResolvedEffects;
  readonly #readsToolset: ResolvedEffects;
  readonly #touchesNothing: ResolvedEffects;
  #warnedOfKeys = false;
  #warnedOfTime = false;

  constructor(options: EffectsResolverOptions) {
    const toolset = toolsetKey(options.toolsetName);
    this.#effects = options.tool.effects ?? {};
    this.#reads = createKeyReader(this.#effects.reads);
    this.#writes = createKeyReader(this.#effects.writes);
    this.#name = qualifiedName(options.toolsetName, options.tool.name);
    this.#warn = options.warn;
    this.#clock = options.clock;
    this.#readsKey = `${toolset}/reads`;
    this.#writesPrefix = `${toolset}/writes/`;
    const whole = [toolset];
    this.#undeclared = this.#build({
      reads: NONE,
      writes: whole,
      lock: { reads: NONE, writes: whole, commutative: this.#effects.commutative === true },
      undeclared: true,
    });
    this.#unusable = this.#build({
      reads: NONE,
      writes: whole,
      lock: { reads: NONE, writes: whole, commutative: false },
      undeclared: true,
    });
    this.#readsToolset = this.#build({ reads: whole, writes: NONE, lock: { reads: whole, writes: NONE, commutative: false } });
    this.#touchesNothing = this.#build({ reads: NONE, writes: NONE, lock: { reads: NONE, writes: NONE, commutative: false } });
    for (const shared of [this.#undeclared, this.#unusable, this.#readsToolset, this.#touchesNothing]) freeze(shared);
  }

  /** @param isTimed whether the program's own code may run, which may take too long */
  resolve(input: JsonObject, isTimed: boolean = true): ResolvedEffects {
    if (this.#reads === undefined && this.#writes === undefined) return this.#undeclared;
    const startedAt = this.#clock.now();
    const ranAt = isTimed ? this.#clock.processorTime?.(startedAt) : undefined;
    const reads = this.#reads?.(input) ?? NONE;
    const writes = this.#writes?.(input) ?? NONE;
    if (isTimed) this.#checkTime(startedAt, ranAt);
    if (typeof reads === "string") return this.#reportUnusable("reads", reads);
    if (typeof writes === "string") return this.#reportUnusable("writes", writes);
    if (writes.length > 0) return this.#buildWriting(reads, writes);
    if (reads.length > 0) return this.#build({ reads, writes, lock: { reads: [this.#readsKey, ...reads], writes, commutative: false } });
    return this.#reads === undefined ? this.#readsToolset : this.#touchesNothing;
  }

  #buildWriting(allReads: readonly string[], writes: readonly string[]): ResolvedEffects {
    const commutative = this.#effects.commutative === true;
    // A plain write excludes everything that a read of its key would, so the read needs no lock. A commutative write that also reads keeps the read
    // lock, to exclude other commutative writes.
    const reads = commutative || allReads.length === 0 ? allReads : allReads.filter((key) => !writes.includes(key));
    const [first = ""] = writes;
    const locked =
      writes.length === 1 ? [first, this.#writesPrefix + first] : [...writes, ...writes.map((key) => this.#writesPrefix + key)];
    return this.#build({ reads, writes, lock: { reads, writes: locked, commutative } });
  }

  #build(found: {
    readonly reads: readonly string[];
    readonly writes: readonly string[];
    readonly lock: LockKeys;
    readonly undeclared?: boolean;
  }): ResolvedEffects {
    const { reads, writes, lock } = found;
    const external = this.#effects.external === true;
    const destructive = this.#effects.destructive === true;
    return {
      reads,
      writes,
      undeclared: found.undeclared === true,
      repeatable: writes.length === 0 || this.#effects.idempotent === true,
      external,
      destructive,
      commutative: lock.commutative,
      lock,
      writesWorld: destructive || (writes.length > 0 && (external || !writes.every(isSessionKey))),
      hasSessionKeys: writes.some(isSessionKey) || reads.some(isSessionKey),
    };
  }

  #reportUnusable(field: "reads" | "writes", reason: string): ResolvedEffects {
    if (!this.#warnedOfKeys) {
      this.#warnedOfKeys = true;
      this.#warn(
        `The effects of tool ${JSON.stringify(this.#name)} could not be used: "${field}" ${reason}. Such a call counts as undeclared, so it waits for every call of its toolset. ` +
          `Give at most ${MAX_KEYS} keys, each a string of 1 to ${MAX_KEY_LENGTH} characters made from values that the input has, or a function that returns them at once.`,
      );
    }
    return this.#unusable;
  }

  /** Warns about slow key functions. Only processor time counts if it is known: the process may not have been scheduled meanwhile. */
  #checkTime(startedAt: number, ranAt: number | undefined): void {
    const now = this.#clock.now();
    if (now - startedAt <= MAX_RESOLVE_MS || this.#warnedOfTime) return;
    const ranMs = ranAt === undefined ? Infinity : (this.#clock.processorTime?.(now) ?? Infinity) - ranAt;
    const elapsedMs = Math.min(now - startedAt, ranMs);
    if (elapsedMs <= MAX_RESOLVE_MS) return;
    this.#warnedOfTime = true;
    this.#warn(
      `The effects of tool ${JSON.stringify(this.#name)} took ${elapsedMs.toFixed(1)} ms to work out; no other call runs during that time. Stay below ${MAX_RESOLVE_MS} ms: no I/O, no heavy work.`,
    );
  }
}

/**
 * The keys that a call locks on behalf of its session: session keys are made distinct from those of other sessions.
 *
 * @param isPretended all keys belong to the session, as the tool is only simulated
 */
export function scopeLockKeys(sessionId: string, lock: LockKeys, isPretended: boolean): LockKeys {
  const prefix = `session ${sessionId.replaceAll("%", "%25").replaceAll("/", "%2F").replaceAll(":", "%3A")}:`;
  const scoped = (key: string): string => {
    if (isSessionLockKey(key)) return key.replace("session:", () => prefix);
    return isPretended ? `${prefix}${key}` : key;
  };
  return { reads: lock.reads.map(scoped), writes: lock.writes.map(scoped), commutative: lock.commutative };
}

/** Whether a key is a session key, or the `/writes/` key of one in a toolset. */
function isSessionLockKey(key: string): boolean {
  return isSessionKey(key) || (key.startsWith("toolset:") && key.includes("/writes/session:"));
}

/** Whether `scopeLockKeys` made this key from a session key. */
export function isScopedSessionKey(key: string): boolean {
  return key.startsWith("session ") || (key.startsWith("toolset:") && key.includes("/writes/session "));
}

/** The key of everything in a toolset. A slash in the toolset's name is escaped, so that it does not separate segments. */
function toolsetKey(name: string): string {
  return `toolset:${name.replaceAll("%", "%25").replaceAll("/", "%2F")}`;
}

/** Returns the keys without duplicates and trailing slashes, or what is wrong with them: `threw: …`. */
type KeyReader = (input: JsonObject) => readonly string[] | string;

function createKeyReader(declared: ResourceKeys | undefined): KeyReader | undefined {
  if (declared === undefined) return undefined;
  const keys = tryOr(formatThrown, () => (typeof declared === "function" ? declared : compileChecked(declared)));
  if (typeof keys !== "function") return () => keys;
  return (input) => tryOr(formatThrown, () => checkKeys(keys(input)));
}

/** The checked keys if they are fixed, a function for templates, or what is wrong with them. */
function compileChecked(declared: string | readonly string[]): ReturnType<typeof compileKeys> | string {
  const fault = checkKeys(declared);
  if (typeof fault === "string") return fault;
  const keys = compileKeys(declared);
  return typeof keys === "function" ? keys : checkKeys(keys);
}

function tryOr<Value, Other>(otherwise: (thrown: unknown) => Other, work: () => Value): Value | Other {
  try {
    return work();
  } catch (thrown: unknown) {
    return otherwise(thrown);
  }
}

function formatThrown(thrown: unknown): string {
  return `threw: ${describeThrown(thrown).slice(0, MAX_REASON_LENGTH)}`;
}

function checkKeys(found: unknown): readonly string[] | string {
  const value: unknown = typeof found === "string" ? [found] : found;
  if (value instanceof Promise) {
    ignoreRejection(value); // the promise itself is the mistake
    return "returned a promise";
  }
  if (!Array.isArray(value)) return `returned ${value === null ? "null" : `a value of type ${typeof value}`} instead of an array`;
  const entries: readonly unknown[] = value;
  const count = entries.length;
  if (count > MAX_KEYS) return `returned ${count} keys`;
  const keys: string[] = [];
  for (let index = 0; index < count; index++) {
    const key = entries[index];
    if (typeof key !== "string") {
      ignoreRejections(entries);
      return `returned a key of type ${typeof key}`;
    }
    if (key === "") return "returned an empty key";
    if (MISSING_VALUE.test(key))
      return `returned the key ${JSON.stringify(key.slice(0, MAX_REASON_LENGTH))}, which was made from a missing value`;
    if (key.length > MAX_KEY_LENGTH) return `returned a key of ${key.length} characters`;
    const normal = trimTrailingSlashes(key);
    if (count === 1) return [normal]; // an array literal has no spare capacity, which saves memory if many calls wait
    if (!keys.includes(normal)) keys.push(normal);
  }
  return keys;
}

/** `file:/a/` → `file:/a`, `file:/` → `file:`; a key of slashes only becomes one slash. */
function trimTrailingSlashes(key: string): string {
  let end = key.length;
  while (end > 1 && key.charCodeAt(end - 1) === SLASH) end--;
  return end === key.length ? key : key.slice(0, end);
}

const SLASH = 47;

/** A segment that JavaScript made of a missing value, or of a value that is not text. */
const MISSING_VALUE = /(?:^|[:/])(?:undefined|null|NaN|\[object Object\])(?:$|[:/])/;

function freeze(effects: ResolvedEffects): void {
  Object.freeze(effects.reads);
  Object.freeze(effects.writes);
  Object.freeze(effects.lock.reads);
  Object.freeze(effects.lock.writes);
  Object.freeze(effects.lock);
  Object.freeze(effects);
}
