/** Calls that may do harm need approval once third-party content has reached the model. */
import { checkKnownKeys } from "../core/known-keys.ts";
import type { SessionRule } from "../core/approvals.ts";
import type { SessionEvent } from "../core/event.ts";
import { nameMatcher, type NameMatcher } from "../policy/permission.ts";
import { calledByDelegate, hasRun } from "./delegate/called-tools.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";

/** Which tools bring in untrusted words, and which calls are sensitive then. */
export interface TaintOptions {
  /** Patterns over qualified names: tools whose results may hold third-party content (`web::*`, `mail::read`). */
  readonly sources: readonly string[];
  /** Patterns over qualified names: tools that are asked for from then on, as long as the session lasts. */
  readonly sensitive: readonly string[];
}

/**
 * Watches one session. After the first result of a source, in it or in the session of a delegate that has answered, calls of sensitive tools
 * need approval, also those that tools make themselves; approvals that `never` excludes are not asked for even so.
 */
export class Taint {
  readonly #session: RuntimeSession;
  readonly #isSource: NameMatcher;
  readonly #isSensitive: NameMatcher;
  /** Those of `sensitive`, as one text. */
  readonly #patterns: string;
  #source: string | undefined;
  /** How many events were looked at; below 0 while none were. */
  #seen = -1;

  /** @throws ToolError `invalid_argument` for a pattern that cannot be used */
  constructor(session: RuntimeSession, options: TaintOptions) {
    checkKnownKeys(options, { sources: true, sensitive: true }, "createLoop({ taint })");
    const { sources, sensitive } = options;
    this.#session = session;
    this.#isSource = nameMatcher(sources, "taint.sources");
    this.#isSensitive = nameMatcher(sensitive, "taint.sensitive");
    this.#patterns = JSON.stringify(sensitive);
  }

  /** Looks at what the session had before, which may come from another process, or what has come since the last run. */
  async look(): Promise<void> {
    if (this.#seen >= 0) return this.lookAgain();
    const { length } = this.#session; // what comes meanwhile may be looked at twice
    for await (const event of this.#session.events()) this.#note(event);
    this.#seen = length; // not before: where the log cannot be read, the next run looks at all of it
  }

  /** Looks at what has come since, also of calls that tools have made themselves. */
  lookAgain(): void {
    if (this.#source !== undefined) return;
    for (const event of this.#session.logSince(this.#seen) ?? this.#session.log) this.#note(event);
    this.#seen = this.#session.length;
  }

  #note(event: SessionEvent): void {
    if (event.type !== "call-end" || this.#source !== undefined) return;
    const { result } = event;
    const names = [...(hasRun(result) ? [result.name] : []), ...calledByDelegate(result, this.#session.registry)];
    const name = names.find((each) => this.#isSource(each) !== undefined);
    if (name === undefined) return;
    this.#source = name;
    const rules = rulesOf(this.#session);
    rules.set(this.#patterns, (qualifiedName) =>
      this.#isSensitive(qualifiedName) === undefined
        ? undefined
        : `The model has read third-party content (${name}), so ${qualifiedName} needs approval.`,
    );
    this.#session.approvals.askMore(this.#session.id, (qualifiedName) => firstReason(rules, qualifiedName));
  }
}

/** By their patterns, the rules of all loops that a session has had: one loop does not end those of another. */
const RULES = new WeakMap<RuntimeSession, Map<string, SessionRule>>();

function rulesOf(session: RuntimeSession): Map<string, SessionRule> {
  let rules = RULES.get(session);
  if (rules === undefined) RULES.set(session, (rules = new Map()));
  return rules;
}

function firstReason(rules: ReadonlyMap<string, SessionRule>, qualifiedName: string): string | undefined {
  for (const rule of rules.values()) {
    const reason = rule(qualifiedName);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
