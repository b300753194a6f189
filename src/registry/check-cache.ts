/** Checks a tool's cache settings: that they are valid, and that a cached answer is equivalent to running the tool. */
import { declaresNoWrites } from "../core/resources/effects.ts";
import { ToolError } from "../core/error.ts";
import { MILLISECONDS } from "../core/base/number-bounds.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { CacheScope, CacheSettings, Tool } from "../core/tool.ts";

type Fields = Pick<Tool, "cache" | "effects" | "oncePerTurn" | "endsTurn" | "category" | "providerExecuted">;

const SCOPES = ["turn", "tick", "session", "runtime", "persistent"] as const satisfies readonly CacheScope[];
const SETTINGS = ["scope", "ttlMs", "identity"] as const satisfies readonly (keyof CacheSettings)[];
const MAX_IDENTITY_KEYS = 16;

/**
 * Rejects cache settings that are invalid, and a cache for a tool that must run each time.
 *
 * @throws ToolError `invalid_argument` with the tool and the reason
 */
export function checkCache(name: string, tool: Fields): void {
  const { cache } = tool;
  if (cache === undefined) return;
  const fault = findCacheProblem(cache) ?? (isJsonObject(cache) ? findSettingsProblem(cache) : undefined);
  if (fault !== undefined)
    throw new ToolError("invalid_argument", `cache${fault.field} of tool ${JSON.stringify(name)} must be ${fault.expected}.`);
  const reason = findUncacheableReason(tool);
  if (reason !== undefined)
    throw new ToolError("invalid_argument", `Tool ${JSON.stringify(name)} cannot be cached: ${reason.why}.`, { hint: reason.hint });
}

/** Cache settings that were checked and normalized: the scope `tick` is `turn`. */
export interface NormalizedCacheSettings extends CacheSettings {
  readonly scope: Exclude<CacheScope, "tick">;
}

/** Normalizes cache settings; a scope alone is shorthand for settings with that scope. */
export function normalizeCacheSettings(cache: CacheScope | CacheSettings): NormalizedCacheSettings {
  const { scope, ...settings } = typeof cache === "string" ? { scope: cache } : cache;
  return { ...settings, scope: scope === "tick" ? "turn" : scope };
}

const CACHE_ALIASES = ["cacheable", "cache_scope", "cache_ttl"] as const;

/**
 * Returns the cache settings of a tool given as data: `cache`, or the fields of the Evennia AI assistant: `cacheable`, `cache_scope` (default
 * "tick"), and `cache_ttl` in seconds. Only the latter are checked here.
 *
 * @throws ToolError `invalid_argument` with the key
 */
export function readCacheFromJson(json: Readonly<Record<string, unknown>>): unknown {
  const wrong = (key: string, expected: string): ToolError =>
    new ToolError("invalid_argument", `${key} of tool ${JSON.stringify(json["name"])} must be ${expected}.`);
  const [given] = CACHE_ALIASES.filter((word) => isGiven(json[word]));
  if (given === undefined) return json["cache"] ?? undefined;
  if (isGiven(json["cache"])) throw wrong("cache", `left out if ${given} is given: both say how long results are kept`);
  const { cacheable = false, cache_scope: scope = "turn", cache_ttl: seconds } = omitNull(json);
  if (typeof cacheable !== "boolean") throw wrong("cacheable", "a boolean");
  if (!isScope(scope)) throw wrong("cache_scope", SCOPE_WORDS);
  if (seconds !== undefined && !(typeof seconds === "number" && seconds > 0 && seconds * 1_000 <= MILLISECONDS.max))
    throw wrong("cache_ttl", "a number of seconds above 0, or be left out");
  if (!cacheable) return undefined;
  return seconds === undefined ? scope : { scope, ttlMs: seconds * 1_000 };
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function omitNull(json: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}

interface CacheProblem {
  /** Such as `.ttlMs`; empty for the settings as a whole. */
  readonly field: string;
  readonly expected: string;
}

function findCacheProblem(cache: unknown): CacheProblem | undefined {
  if (isJsonObject(cache) || isScope(cache)) return undefined;
  return { field: "", expected: `${SCOPE_WORDS}, or an object with ${SETTINGS.join(", ")}` };
}

function findSettingsProblem(settings: object): CacheProblem | undefined {
  const { scope, ttlMs, identity, ...others }: { readonly [Key in keyof CacheSettings]?: unknown } = settings;
  if (!isScope(scope)) return { field: ".scope", expected: SCOPE_WORDS };
  if (ttlMs !== undefined && !(typeof ttlMs === "number" && ttlMs > 0 && ttlMs <= MILLISECONDS.max))
    return { field: ".ttlMs", expected: `a number of milliseconds above 0 and at most ${MILLISECONDS.max}, or be left out` };
  if (identity !== undefined && !isIdentity(identity))
    return { field: ".identity", expected: `an array of at most ${MAX_IDENTITY_KEYS} different keys of context.data` };
  const [unknown] = Object.keys(others);
  return unknown === undefined
    ? undefined
    : { field: "", expected: `an object with only ${SETTINGS.join(", ")}, not ${JSON.stringify(unknown)}` };
}

const SCOPE_WORDS = SCOPES.map((scope) => JSON.stringify(scope)).join(" or ");

function isScope(value: unknown): value is CacheScope {
  return SCOPES.some((scope) => scope === value);
}

function isIdentity(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > MAX_IDENTITY_KEYS) return false;
  return new Set(value).size === value.length && value.every((key) => typeof key === "string" && key !== "");
}

function findUncacheableReason(tool: Fields): { readonly why: string; readonly hint: string } | undefined {
  const { effects, category } = tool;
  if (!declaresNoWrites(effects)) {
    return {
      why: "it does not declare that it only reads",
      hint: "Declare its effects as { reads: […], writes: [] }: a result is dropped when what it was read from is written.",
    };
  }
  if (effects?.destructive === true) return { why: "it is destructive", hint: LEAVE_OUT_HINT };
  if (category === "DANGEROUS" || category === "TERMINAL") return { why: `its category is ${category}`, hint: LEAVE_OUT_HINT };
  if (tool.oncePerTurn === true) return { why: "it may run once a turn", hint: LEAVE_OUT_HINT };
  if (tool.endsTurn === true) return { why: "it ends the turn", hint: LEAVE_OUT_HINT };
  if (tool.providerExecuted === true) return { why: "it is run by the model's provider", hint: LEAVE_OUT_HINT };
  return undefined;
}

const LEAVE_OUT_HINT = "Leave out cache.";
