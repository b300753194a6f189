/** Decides which calls need approval: by the settings, by what the call does, and by a session's own rule. */
import type { SessionRule } from "../../core/approvals/approvals.ts";
import { describeValueKind, quoteValue } from "../../core/base/wording.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { ignoreRejections } from "../../core/system/ignore-rejections.ts";
import { MAX_CACHED_NAMES, createNameMatcher, type NameMatcher } from "../permission.ts";

type Rule = "never" | "always" | "none";

/** Returns the reasons that come from settings and tools, which every process can tell; any other comes from a session's own rule. */
function settingsReasons(qualifiedName: string): { readonly destructive: string; readonly always: string } {
  return { destructive: `${qualifiedName} may destroy something.`, always: `The approval rules ask before ${qualifiedName} runs.` };
}

export function isSettingsReason(reason: string, qualifiedName: string): boolean {
  return Object.values(settingsReasons(qualifiedName)).includes(reason);
}

/** Returns the reason of a session's own rule. A rule that fails asks: nothing then says that the call needs no approval. */
function reasonOf(rule: SessionRule, qualifiedName: string): string | undefined {
  const asks = `so ${qualifiedName} needs approval.`;
  try {
    const reason: unknown = rule(qualifiedName);
    if (reason === undefined || reason === null || typeof reason === "string") return reason ?? undefined;
    ignoreRejections(reason);
    return `The approval rule of the session returned ${describeValueKind(reason)} instead of a string or undefined, ${asks}`;
  } catch (thrown: unknown) {
    return `The approval rule of the session failed (${describeThrown(thrown)}), ${asks}`;
  }
}

export class ApprovalRules {
  readonly #always: NameMatcher | undefined;
  readonly #never: NameMatcher | undefined;
  readonly #byName = new Map<string, Rule>();
  readonly #bySession = new Map<string, SessionRule>();
  /** See `Approvals.mayAsk`; does not include rules of sessions. */
  readonly mayAsk: boolean;

  /** @throws ToolError `invalid_argument` for a pattern that cannot be used */
  constructor({ always, never }: { readonly always?: readonly string[]; readonly never?: readonly string[] }) {
    this.#always = always === undefined ? undefined : createNameMatcher(always, "always", { bareNames: "default" });
    this.mayAsk = this.#always !== undefined;
    this.#never = never === undefined ? undefined : createNameMatcher(never, "never", { bareNames: "default" });
  }

  /** See `Approvals.reasonFor`. */
  reasonFor(qualifiedName: string, destructive: boolean, session?: { readonly id: string }): string | undefined {
    const rule = this.#always === undefined && this.#never === undefined ? "none" : this.#ruleFor(qualifiedName);
    if (rule === "never") return undefined;
    if (destructive) return settingsReasons(qualifiedName).destructive;
    // `session.id` is a getter that creates the id on first use, which few calls need
    const own = session === undefined || this.#bySession.size === 0 ? undefined : this.#bySession.get(session.id);
    const reason = own === undefined ? undefined : reasonOf(own, qualifiedName);
    return reason ?? (rule === "always" ? settingsReasons(qualifiedName).always : undefined);
  }

  setSessionRule(sessionId: string, rule: SessionRule): void {
    if (typeof rule !== "function")
      throw new ToolError("invalid_argument", `The approval rule of a session must be a function, not ${quoteValue(rule)}.`);
    this.#bySession.set(sessionId, rule);
  }

  forget(sessionId: string): void {
    this.#bySession.delete(sessionId);
  }

  #ruleFor(qualifiedName: string): Rule {
    let rule = this.#byName.get(qualifiedName);
    if (rule === undefined) {
      if (this.#never?.(qualifiedName) !== undefined) rule = "never";
      else rule = this.#always?.(qualifiedName) === undefined ? "none" : "always";
      if (this.#byName.size >= MAX_CACHED_NAMES) this.#byName.clear();
      this.#byName.set(qualifiedName, rule);
    }
    return rule;
  }
}
