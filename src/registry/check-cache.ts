/** Checks a tool's cache settings: how they are written, and that answering from memory is the same as running the tool. */
import { declaresNoWrites } from "../core/effects.ts";
import { ToolError } from "../core/error.ts";
import { MILLISECONDS } from "../core/base/number-bounds.ts";
import { isJsonObject } from "../core/base/json.ts";
import type { CacheScope, CacheSettings, Tool } from "../core/tool.ts";

type Fields = Pick<Tool, "cache" | "effects" | "oncePerTurn" | "endsTurn" | "category" | "providerExecuted">;

const SCOPES = ["turn", "session", "runtime", "persistent"] as const satisfies readonly CacheScope[];
const SETTINGS = ["scope", "ttlMs", "identity"] as const satisfies readonly (keyof CacheSettings)[];
const MAX_IDENTITY_KEYS = 16;

/**
 * Refuses a cache that cannot be used as it is written, and one for a tool that must really run each time.
 *
 * @throws ToolError `invalid_argument` naming tool and reason
 */
export function checkCache(name: string, tool: Fields): void {
  const { cache } = tool;
  if (cache === undefined) return;
  const fault = faultOf(cache) ?? (isJsonObject(cache) ? settingsFault(cache) : undefined);
  if (fault !== undefined)
    throw new ToolError("invalid_argument", `cache${fault.field} of tool ${JSON.stringify(name)} must be ${fault.expected}.`);
  const reason = reasonToRun(tool);
  if (reason !== undefined)
    throw new ToolError("invalid_argument", `Tool ${JSON.stringify(name)} cannot be cached: ${reason.why}.`, { hint: reason.hint });
}

/** A scope alone is the settings with that scope. */
export function cacheSettings(cache: CacheScope | CacheSettings): CacheSettings {
  return typeof cache === "string" ? { scope: cache } : cache;
}

interface Fault {
  /** `.ttlMs`, or nothing for the whole. */
  readonly field: string;
  readonly expected: string;
}

function faultOf(cache: unknown): Fault | undefined {
  if (isJsonObject(cache) || isScope(cache)) return undefined;
  return { field: "", expected: `${SCOPE_WORDS}, or an object with ${SETTINGS.join(", ")}` };
}

function settingsFault(settings: object): Fault | undefined {
  const { scope, ttlMs, identity, ...others }: { readonly [Key in keyof CacheSettings]?: unknown } = settings;
  if (!isScope(scope)) return { field: ".scope", expected: SCOPE_WORDS };
  if (ttlMs !== undefined && !(typeof ttlMs === "number" && ttlMs > 0 && ttlMs <= MILLISECONDS.max))
    return { field: ".ttlMs", expected: `a number of milliseconds above 0 and at most ${MILLISECONDS.max}, or be left out` };
  if (identity !== undefined && !isIdentity(identity))
    return { field: ".identity", expected: `an array of at most ${MAX_IDENTITY_KEYS} different keys of context.data` };
  const [unknown] = Object.keys(others);
  return unknown === undefined
    ? undefined
    : { field: "", expected: `an object with nothing but ${SETTINGS.join(", ")}, not ${JSON.stringify(unknown)}` };
}

const SCOPE_WORDS = SCOPES.map((scope) => JSON.stringify(scope)).join(" or ");

function isScope(value: unknown): value is CacheScope {
  return SCOPES.some((scope) => scope === value);
}

function isIdentity(value: unknown): boolean {
  if (!Array.isArray(value) || value.length > MAX_IDENTITY_KEYS) return false;
  return new Set(value).size === value.length && value.every((key) => typeof key === "string" && key !== "");
}

function reasonToRun(tool: Fields): { readonly why: string; readonly hint: string } | undefined {
  const { effects, category } = tool;
  if (!declaresNoWrites(effects)) {
    return {
      why: "it does not declare that it only reads",
      hint: "Declare its effects as { reads: […], writes: [] }: a result is dropped when what it was read from is written.",
    };
  }
  if (effects?.destructive === true) return { why: "it is destructive", hint: RUN_EACH_TIME };
  if (category === "DANGEROUS" || category === "TERMINAL") return { why: `its category is ${category}`, hint: RUN_EACH_TIME };
  if (tool.oncePerTurn === true) return { why: "it may run once a turn", hint: RUN_EACH_TIME };
  if (tool.endsTurn === true) return { why: "it ends the turn", hint: RUN_EACH_TIME };
  if (tool.providerExecuted === true) return { why: "it is run by the model's provider", hint: RUN_EACH_TIME };
  return undefined;
}

const RUN_EACH_TIME = "Leave out cache.";
