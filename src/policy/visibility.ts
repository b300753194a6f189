/** Decides which tools a model is shown and may call: layers of rules, each of which only removes tools. */
import { hash } from "node:crypto";
import { ToolError } from "../core/error.ts";
import { checkArgument, hasMethods } from "../core/check-argument.ts";
import { quoteValue } from "../core/base/wording.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import {
  MAX_CACHED_NAMES,
  RULE_NAMES,
  coversPattern,
  createFastMatcher,
  mayOverlap,
  qualifyPattern,
  type PermissionRules,
} from "./permission.ts";

/** One layer, or several from outermost to innermost: the runtime's, a mode's, a call's. */
export type VisibilityRules = PermissionRules | Visibility | readonly (PermissionRules | Visibility | undefined)[];

/** Anything that lists tools under their qualified names. */
export interface ToolList<Listed extends { readonly qualifiedName: string }> {
  list(): readonly Listed[];
}

const MAX_TEXT_LENGTH = 100;

type Layer = (qualifiedName: string) => boolean;

/** Combined layers of rules: a tool is visible if every layer allows it. Immutable; made by `visibilityOf`. */
export class Visibility {
  /** The layers as given, recorded for a process that resumes the calls. @internal */
  readonly rules: readonly PermissionRules[];
  readonly #layers: readonly Layer[];
  #text: string | undefined;
  readonly #verdicts = new Map<string, boolean>();

  /** @internal */
  constructor(layers: readonly Layer[], rules: readonly PermissionRules[]) {
    this.rules = rules;
    this.#layers = layers;
  }

  /** The rules as JSON text, equal exactly for equal rules; the digest of long rules, since every cache key contains it. @internal */
  get text(): string {
    return (this.#text ??= digestIfLong(JSON.stringify(this.rules)));
  }

  permits(qualifiedName: string): boolean {
    let verdict = this.#verdicts.get(qualifiedName);
    if (verdict === undefined) {
      verdict = this.#layers.every((layer) => layer(qualifiedName));
      if (this.#verdicts.size >= MAX_CACHED_NAMES) this.#verdicts.clear();
      this.#verdicts.set(qualifiedName, verdict);
    }
    return verdict;
  }

  /**
   * Whether every tool that a pattern matches is visible, also tools that are registered later. For a pattern with `*`, one pattern of each `allow` must
   * match everything that it matches, and each pattern of `deny` must begin or end differently; otherwise false.
   */
  permitsPattern(pattern: string): boolean {
    if (!pattern.includes("*")) return this.permits(qualifyPattern(pattern));
    return this.rules.every(
      ({ allow, deny = [] }) =>
        (allow === undefined || allow.some((one) => coversPattern(one, pattern))) && !deny.some((one) => mayOverlap(one, pattern)),
    );
  }
}

/**
 * Reads rules as `ExecuteOptions.allow` accepts them. Returns a `Visibility` unchanged, so that a loop reads its rules only once.
 *
 * @throws ToolError `invalid_argument` for anything that would otherwise allow more than its author meant: an unknown key, an invalid pattern
 */
export function visibilityOf(rules: VisibilityRules): Visibility {
  if (rules instanceof Visibility) return rules;
  const given: readonly (PermissionRules | Visibility | undefined)[] = isRuleList(rules) ? rules : [rules];
  const layers = given.filter((layer) => layer !== undefined);
  return new Visibility(layers.map(toLayer), Object.freeze(removeDuplicates(layers.flatMap(listRules))));
}

/** Returns the tools that every layer allows, in the order of the registry; all tools if there are no rules. */
export function visibleTools<Listed extends { readonly qualifiedName: string }>(
  registry: ToolList<Listed>,
  rules?: VisibilityRules,
): readonly Listed[] {
  checkArgument(hasMethods(registry, "list"), "visibleTools()", "a registry of tools", registry, "A runtime has one: runtime.registry.");
  if (rules === undefined) return registry.list();
  const visibility = visibilityOf(rules);
  return registry.list().filter(({ qualifiedName }) => visibility.permits(qualifiedName));
}

function digestIfLong(text: string): string {
  return text.length <= MAX_TEXT_LENGTH ? text : JSON.stringify([hash("sha256", text)]);
}

function isRuleList(rules: VisibilityRules): rules is readonly (PermissionRules | Visibility | undefined)[] {
  return Array.isArray(rules);
}

/** Removes duplicate layers: a resumed call has the rules it was made with and those its session is resumed with. */
function removeDuplicates(rules: readonly PermissionRules[]): readonly PermissionRules[] {
  return rules.length < 2 ? rules : [...new Map(rules.map((layer) => [JSON.stringify(layer), layer])).values()];
}

function listRules(layer: PermissionRules | Visibility): readonly PermissionRules[] {
  if (layer instanceof Visibility) return layer.rules;
  const { allow, deny } = layer;
  return [Object.freeze({ ...(allow === undefined ? {} : { allow: [...allow] }), ...(deny === undefined ? {} : { deny: [...deny] }) })];
}

function toLayer(rules: PermissionRules | Visibility): Layer {
  if (rules instanceof Visibility) return (name) => rules.permits(name);
  if (typeof rules !== "object" || rules === null)
    throw new ToolError("invalid_argument", `A layer of rules must be an object with "allow" or "deny", not ${quoteValue(rules)}.`);
  checkKnownKeys(rules, RULE_NAMES, "A layer of rules");
  const allowed = rules.allow === undefined ? undefined : createFastMatcher(rules.allow, "allow");
  const denied = rules.deny === undefined ? undefined : createFastMatcher(rules.deny, "deny");
  return (name) => denied?.(name) === undefined && (allowed === undefined || allowed(name) !== undefined);
}
