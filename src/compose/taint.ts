/** Calls that may do harm need approval once third-party content has reached the session. */
import { checkKnownKeys } from "../core/known-keys.ts";
import type { SessionRule } from "../core/approvals.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelTool } from "../core/model.ts";
import { nameMatcher, type NameMatcher } from "../policy/permission.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { toolsReadIn } from "./delegate/called-tools.ts";
import { readByDelegates } from "./delegate/read-by-delegates.ts";
import type { LoopEvent } from "./loop-event.ts";
import { modelTools } from "./prompt/model-tools.ts";
import { providerToolsIn, toolsOfProviderCall } from "./provider-calls.ts";

/** Which tools bring in untrusted words, and which calls are sensitive then. */
export interface TaintOptions {
  /**
   * Patterns over qualified names: tools whose results may hold third-party content (`web::*`, `mail::read`), those that the provider runs
   * included. One of these that the registry does not have is named `default::web_search`.
   */
  readonly sources: readonly string[];
  /** Patterns over qualified names: tools that are asked for from then on, as long as the session lasts. */
  readonly sensitive: readonly string[];
}

/**
 * Watches one session. After the first words of a source, calls of sensitive tools need approval, also those that tools and background jobs
 * make themselves; approvals that `never` excludes are not asked for even so. The words of a source are its result, what it writes or asks
 * as a background job, what the provider has read by it, and what delegates of the session have read, also while they run.
 */
export class Taint {
  readonly #session: RuntimeSession;
  readonly #isSource: NameMatcher;
  readonly #isSensitive: NameMatcher;
  /** Those of both, as one text. */
  readonly #patterns: string;
  #offered: readonly ModelTool[] = [];
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
    this.#patterns = JSON.stringify([sources, sensitive]);
  }

  /** Looks at what the session had before, which may come from another process, or what has come since the last run; the rule holds from then on. */
  async look(): Promise<void> {
    if (this.#seen < 0) {
      const { length } = this.#session; // what comes meanwhile may be looked at twice
      for await (const event of this.#session.events()) this.#note(toolsReadIn(event, this.#session.registry));
      this.#seen = length; // not before: where the log cannot be read, the next run looks at all of it
    }
    const rules = rulesOf(this.#session);
    rules.set(this.#patterns, (qualifiedName) => this.#reason(qualifiedName));
    this.#session.approvals.askMore(this.#session.id, (qualifiedName) => firstReason(rules, qualifiedName));
  }

  /** Call with the tools that the model is offered next. */
  offer(tools: readonly ModelTool[]): void {
    this.#offered = tools;
    this.#lookAgain(); // a log in memory forgets its oldest events
  }

  /** Call with every event of the loop: calls behind what the provider has read are asked for while the message is still being said. */
  onEvent(event: LoopEvent): void {
    if (event.type === "provider-call") this.#noteProvider([event.call.name]);
    else if (event.type === "reply-end") this.#noteProvider(providerToolsIn(event.reply));
  }

  #reason(qualifiedName: string): string | undefined {
    if (this.#isSensitive(qualifiedName) === undefined) return undefined;
    this.#lookAgain();
    if (this.#source === undefined) return undefined;
    return `The session has read third-party content (${this.#source}), so ${qualifiedName} needs approval.`;
  }

  /** Looks at what has come since, also of calls that tools have made themselves, and of delegates that still run. */
  #lookAgain(): void {
    if (this.#source !== undefined) return;
    const events: readonly SessionEvent[] = this.#session.logSince(this.#seen) ?? this.#session.log;
    for (const event of events) this.#note(toolsReadIn(event, this.#session.registry));
    this.#seen = this.#session.length;
    this.#note(readByDelegates(this.#session));
  }

  #noteProvider(names: readonly string[]): void {
    if (names.length === 0) return;
    const tools = [...modelTools(this.#session.registry), ...this.#offered];
    this.#note(names.flatMap((name) => toolsOfProviderCall(name, tools)));
  }

  #note(names: readonly string[]): void {
    this.#source ??= names.find((name) => this.#isSource(name) !== undefined);
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
