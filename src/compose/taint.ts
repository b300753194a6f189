/** Calls that may do harm need a person's yes once a stranger's words have reached the model. */
import type { ToolResult } from "../core/result.ts";
import { nameMatcher } from "../policy/permission.ts";
import type { NameMatcher } from "../policy/permission.ts";
import type { RuntimeSession } from "../runtime/session/runtime-session.ts";

export interface TaintOptions {
  /** Patterns over qualified names: tools whose results strangers may have written (`web::*`, `mail::read`). */
  readonly sources: readonly string[];
  /** Patterns over qualified names: tools that are asked for from then on, as long as the session lasts. */
  readonly sensitive: readonly string[];
}

/**
 * Watches one session. After the first result of a source, calls of sensitive tools need approval, also those that tools make
 * themselves; approvals that `never` excludes are not asked for even so.
 */
export class Taint {
  readonly #session: RuntimeSession;
  readonly #isSource: NameMatcher;
  readonly #isSensitive: NameMatcher;
  #source: string | undefined;
  #hasLooked = false;

  /** @throws ToolError `invalid_argument` for a pattern that cannot be used */
  constructor(session: RuntimeSession, { sources, sensitive }: TaintOptions) {
    this.#session = session;
    this.#isSource = nameMatcher(sources, "taint.sources");
    this.#isSensitive = nameMatcher(sensitive, "taint.sensitive");
  }

  /** Looks at what the session had before, which may come from another process. */
  async look(): Promise<void> {
    if (this.#hasLooked) return;
    for await (const event of this.#session.events()) if (event.type === "call-end") this.note(event.result);
    this.#hasLooked = true;
  }

  note(result: ToolResult): void {
    const { name, attempts, origin } = result;
    if (this.#source !== undefined || (attempts === 0 && origin === "live") || this.#isSource(name) === undefined) return;
    this.#source = name;
    this.#session.parts.approvals.askMore(this.#session.id, (qualifiedName) =>
      this.#isSensitive(qualifiedName) === undefined
        ? undefined
        : `The model has read what strangers may have written (${name}), so ${qualifiedName} needs a person's yes.`,
    );
  }
}
