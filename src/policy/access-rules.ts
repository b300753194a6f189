/** Decides which tools each principal may see and call, by rules over ids, names and claims. */
import { getValueAtPath } from "../core/base/brace-template.ts";
import { unescapePointerStep } from "../core/base/json-pointer.ts";
import type { JsonObject } from "../core/base/json.ts";
import { checkKnownKeys, type OptionNames } from "../core/known-keys.ts";
import { ToolError } from "../core/error.ts";
import { describeValueType } from "../core/base/wording.ts";
import { matchesPieces, type PermissionRules } from "./permission.ts";
import { visibilityOf, type Visibility } from "./visibility.ts";

/** The sender of a request: the fields that rules use. */
export interface RuleSubject {
  readonly id: string;
  readonly name: string;
  readonly claims?: JsonObject;
  /** Patterns of the principal's key. */
  readonly tools?: PermissionRules;
  /** The principal that made this key; the key never has more tools than its maker. */
  readonly maker?: RuleSubject;
}

/** One rule. It applies to a principal that matches both `principals` and `claims`; if neither is set, to every principal. */
export interface AccessRule {
  /**
   * Patterns over ids, and over the names that the operator gave; `*` matches any text: `key:*`, `token:https://login.example#*`, `CI`. The
   * name of a token is a claim, which its user may have chosen: only `claims` can match it.
   */
  readonly principals?: readonly string[];
  /**
   * Claims that the principal's bearer token must have, all of them: the value itself, or an array that contains it. A name that begins with
   * `/` is a JSON Pointer, such as `/realm_access/roles`.
   */
  readonly claims?: Readonly<Record<string, string | number | boolean>>;
  /** Patterns over qualified names of the tools that the rule grants. */
  readonly allow?: readonly string[];
  /** Patterns of tools that the rule takes away; wins over `allow` of every rule. */
  readonly deny?: readonly string[];
}

const RULE: OptionNames<AccessRule> = { principals: true, claims: true, allow: true, deny: true };
const ALLOW_NOTHING: PermissionRules = Object.freeze({ allow: Object.freeze([]) });
/** Maximum number of cached verdicts; each is for one set of rules and one key's patterns. */
const MAX_CACHED = 1_000;

interface CompiledRule extends AccessRule {
  readonly matches: (principal: RuleSubject) => boolean;
  /** Whether it applies to a principal of which only the id is known: `maybe` if that depends on the name or the claims. */
  readonly matchesId: (id: string) => "yes" | "maybe" | "no";
}

/** Ids of principals with a bearer token, whose name no rule matches. */
const TOKEN_ID_PREFIX = "token:";

/**
 * The access rules of a server.
 *
 * All rules that apply to a principal are combined: it has every tool that one of them allows and none denies. If none of the applying rules
 * has `allow`, it has every tool that is not denied. If there are rules but none applies, it has no tools. Rules only narrow what the runtime
 * offers, and the patterns of a key only narrow what the rules allow.
 */
export class AccessRules {
  readonly #rules: readonly CompiledRule[];
  readonly #cached = new Map<string, Visibility>();

  /** @throws ToolError `invalid_argument` */
  constructor(rules: readonly AccessRule[]) {
    this.#rules = rules.map((rule, index) => compileAccessRule(rule, `rule ${index + 1}`));
  }

  /** Returns the tools that a principal sees in lists and may call; undefined = all that the runtime offers. */
  visibilityOf(principal: RuleSubject): Visibility | undefined {
    const { tools, maker } = principal;
    if (maker !== undefined) return visibilityOf([this.visibilityOf(maker), this.#rulesFor(principal), tools]);
    if (this.#rules.length === 0) return tools === undefined ? undefined : this.#cacheVisibility(JSON.stringify(tools), () => [tools]);
    const applying = this.#findApplicable(principal);
    const key = `${applying.join(",")} ${tools === undefined ? "" : JSON.stringify(tools)}`;
    return this.#cacheVisibility(key, () => [this.#combine(applying), tools]);
  }

  /**
   * Returns the most that the rules may allow a principal of which only the id is known, whatever its name and claims: no tool that is left out is
   * one that the principal may use. undefined = all that the runtime offers.
   */
  mostFor(id: string): Visibility | undefined {
    if (this.#rules.length === 0) return undefined;
    const applying = this.#rules.filter(({ matchesId }) => matchesId(id) !== "no");
    const certain = applying.filter(({ matchesId }) => matchesId(id) === "yes");
    if (applying.length === 0) return visibilityOf(ALLOW_NOTHING);
    const deny = certain.flatMap((rule) => rule.deny ?? []);
    const isLimited = certain.some(({ allow }) => allow !== undefined) || applying.every(({ allow }) => allow !== undefined);
    return visibilityOf(isLimited ? { allow: applying.flatMap(({ allow = [] }) => allow), deny } : { deny });
  }

  /** Returns the rules that apply to the principal itself, not its maker; undefined if none does. */
  #rulesFor(principal: RuleSubject): PermissionRules | undefined {
    const applying = this.#findApplicable(principal);
    return applying.length === 0 ? undefined : this.#combine(applying);
  }

  /** Returns those claims of a token that some rule uses. */
  pickUsedClaims(claims: JsonObject): JsonObject {
    const used = new Set(this.#rules.flatMap((rule) => Object.keys(rule.claims ?? {}).map((claim) => parseClaimPath(claim)[0])));
    return Object.fromEntries(Object.entries(claims).filter(([name]) => used.has(name)));
  }

  #findApplicable(principal: RuleSubject): readonly number[] {
    return this.#rules.flatMap(({ matches }, index) => (matches(principal) ? [index] : []));
  }

  #combine(applying: readonly number[]): PermissionRules {
    if (applying.length === 0) return ALLOW_NOTHING;
    const rules = this.#rules.filter((_, index) => applying.includes(index));
    const deny = rules.flatMap((rule) => rule.deny ?? []);
    if (rules.every(({ allow }) => allow === undefined)) return { deny };
    return { allow: rules.flatMap(({ allow = [] }) => allow), deny };
  }

  #cacheVisibility(key: string, listLayers: () => readonly (PermissionRules | undefined)[]): Visibility {
    const known = this.#cached.get(key);
    if (known !== undefined) return known;
    if (this.#cached.size >= MAX_CACHED) this.#cached.clear();
    const visibility = visibilityOf(listLayers());
    this.#cached.set(key, visibility);
    return visibility;
  }
}

/** @throws ToolError `invalid_argument` for a rule that would grant more than its author meant */
export function compileAccessRule(rule: AccessRule, where: string): CompiledRule {
  checkKnownKeys(rule, RULE, where);
  const { principals, claims, allow, deny } = rule;
  if (allow === undefined && deny === undefined)
    throw new ToolError("invalid_argument", `The ${where} of the server has neither allow nor deny, and would grant everything.`);
  visibilityOf({ ...(allow === undefined ? {} : { allow }), ...(deny === undefined ? {} : { deny }) });
  const isNamed = principals === undefined ? undefined : compilePatterns(principals, where);
  const wanted = claims === undefined ? undefined : checkClaims(claims, where);
  return {
    ...rule,
    matches: ({ id, name, claims: given }) =>
      (isNamed === undefined || isNamed(id) || (given === undefined && isNamed(name))) &&
      (wanted === undefined || wanted.every(([claim, value]) => hasClaim(given, claim, value))),
    matchesId(id) {
      const isCertain = isNamed === undefined || isNamed(id);
      if (!isCertain && id.startsWith(TOKEN_ID_PREFIX)) return "no";
      return isCertain && wanted === undefined ? "yes" : "maybe";
    },
  };
}

function compilePatterns(texts: readonly string[], where: string): (text: string) => boolean {
  const wrong: unknown = Array.isArray(texts) ? texts.find((text) => typeof text !== "string" || text === "") : texts;
  if (wrong !== undefined || texts.length === 0)
    throw new ToolError("invalid_argument", `principals of the ${where} of the server must be an array of patterns for ids and names.`);
  const all = texts.map((text) => text.split("*"));
  return (text) => all.some((pieces) => matchesPieces(text, pieces));
}

function checkClaims(claims: NonNullable<AccessRule["claims"]>, where: string): readonly (readonly [string, string | number | boolean])[] {
  const entries = Object.entries(claims);
  for (const [claim, value] of entries)
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ToolError(
        "invalid_argument",
        `The claim ${JSON.stringify(claim)} of the ${where} must be a string, number or boolean, not ${describeValueType(value)}.`,
      );
  if (entries.length === 0) throw new ToolError("invalid_argument", `claims of the ${where} of the server is empty.`);
  return entries;
}

function hasClaim(claims: JsonObject | undefined, claim: string, wanted: string | number | boolean): boolean {
  const value = claims && getValueAtPath(parseClaimPath(claim), claims);
  return value === wanted || (Array.isArray(value) && value.includes(wanted));
}

/** Returns the property names that lead to a claim, outermost first. */
function parseClaimPath(claim: string): readonly string[] {
  if (!claim.startsWith("/")) return [claim];
  return claim.slice(1).split("/").map(unescapePointerStep);
}
