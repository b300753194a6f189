/** Requires approval for sensitive calls once third-party content has reached the session. */
import { getOrAdd } from "../core/base/get-or-add.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { SessionRule } from "../core/approvals/approvals.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelTool } from "../core/model.ts";
import { createNameMatcher, type NameMatcher } from "../policy/permission.ts";
import type { RuntimeSession } from "../runtime/runtime-session.ts";
import { toolsReadByEvent } from "./delegate/tools-read-by-event.ts";
import { toolsReadByDelegates } from "./delegate/tools-read-by-delegates.ts";
import type { LoopEvent } from "./loop-event.ts";
import { modelTools } from "./prompt/model-tools.ts";
import { providerToolsIn, toolsOfProviderCall } from "./provider-calls.ts";

/** Which tools bring in untrusted content, and which calls are then sensitive. */
export interface TaintOptions {
  /**
   * Patterns over qualified names: tools whose results may hold third-party content (`web::*`, `mail::read`), including tools that the provider runs.
   * A provider's tool that the registry does not have is matched under the default namespace, such as `default::web_search`.
   */
  readonly sources: readonly string[];
  /** Patterns over qualified names: tools that need approval from then on, until the session ends. */
  readonly sensitive: readonly string[];
}

/**
 * Watches one session. After the first content of a source, calls of sensitive tools need approval, also those that tools and background jobs make
 * themselves; approvals that `never` excludes are still not asked for. The content of a source is its result, its output or questions as a background
 * job, what the provider has read with it, and what delegates of the session have read, even while they run.
 */
export class Taint {
  readonly #session: RuntimeSession;
  readonly #isSource: NameMatcher;
  readonly #isSensitive: NameMatcher;
  /** The patterns of both options, as one text. */
  readonly #patterns: string;
  #offered: readonly ModelTool[] = [];
  #sourceRead: string | undefined;
  /** Number of events examined; below 0 before the first look. */
  #examinedCount = -1;

  /** @throws ToolError `invalid_argument` for a pattern that cannot be used */
  constructor(session: RuntimeSession, options: TaintOptions) {
    checkKnownKeys(options, { sources: true, sensitive: true }, "createLoop({ taint })");
    const { sources, sensitive } = options;
    this.#session = session;
    this.#isSource = createNameMatcher(sources, "taint.sources");
    this.#isSensitive = createNameMatcher(sensitive, "taint.sensitive");
    this.#patterns = JSON.stringify([sources, sensitive]);
  }

  /** Examines the events so far, which may come from another process, or those since the last run. The rule applies from then on. */
  async applyRule(): Promise<void> {
    if (this.#examinedCount < 0) {
      const { length } = this.#session; // events that arrive meanwhile may be examined twice
      for await (const event of this.#session.events()) this.#checkSources(toolsReadByEvent(event, this.#session.registry));
      this.#examinedCount = length; // set last, so that the next run examines the whole log if reading fails
    }
    const rules = getOrAdd(RULES, this.#session, () => new Map<string, SessionRule>());
    rules.set(this.#patterns, (qualifiedName) => this.#approvalReason(qualifiedName));
    this.#session.approvals.setSessionRule(this.#session.id, (qualifiedName) => findReason(rules, qualifiedName));
  }

  /** Sets the tools that the model is offered next. */
  setOfferedTools(tools: readonly ModelTool[]): void {
    this.#offered = tools;
    this.#examineNewEvents(); // examined now because a log in memory drops its oldest events
  }

  /** Call with every event of the loop: calls after content that the provider has read need approval even while the message is still arriving. */
  onEvent(event: LoopEvent): void {
    if (event.type === "provider-call") this.#checkProviderTools([event.call.name]);
    else if (event.type === "reply-end") this.#checkProviderTools(providerToolsIn(event.reply));
  }

  #approvalReason(qualifiedName: string): string | undefined {
    if (this.#isSensitive(qualifiedName) === undefined) return undefined;
    this.#examineNewEvents();
    if (this.#sourceRead === undefined) return undefined;
    return `The session has read third-party content (${this.#sourceRead}), so ${qualifiedName} needs approval.`;
  }

  /** Examines the events since the last look, including nested calls, and the delegates that still run. */
  #examineNewEvents(): void {
    if (this.#sourceRead !== undefined) return;
    const events: readonly SessionEvent[] = this.#session.logSince(this.#examinedCount) ?? this.#session.log;
    for (const event of events) this.#checkSources(toolsReadByEvent(event, this.#session.registry));
    this.#examinedCount = this.#session.length;
    this.#checkSources(toolsReadByDelegates(this.#session));
  }

  #checkProviderTools(names: readonly string[]): void {
    if (names.length === 0) return;
    const tools = [...modelTools(this.#session.registry), ...this.#offered];
    this.#checkSources(names.flatMap((name) => toolsOfProviderCall(name, tools)));
  }

  #checkSources(names: readonly string[]): void {
    this.#sourceRead ??= names.find((name) => this.#isSource(name) !== undefined);
  }
}

/** The rules of all loops of a session, by their patterns: one loop does not end the rule of another. */
const RULES = new WeakMap<RuntimeSession, Map<string, SessionRule>>();

function findReason(rules: ReadonlyMap<string, SessionRule>, qualifiedName: string): string | undefined {
  for (const rule of rules.values()) {
    const reason = rule(qualifiedName);
    if (reason !== undefined) return reason;
  }
  return undefined;
}
