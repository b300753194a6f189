/** The resume of a session that is under way. */
import type { ToolError } from "../core/error.ts";

/** The call that resumes a session; a program that does it has neither. */
export interface ResumingCall {
  /** The id of the session of that call. */
  readonly outerId: string | undefined;
  /** Says that the call does not wait for the session any more. */
  readonly late: (() => ToolError | undefined) | undefined;
  /** It runs nothing for the call that had begun the session: its calls get what is known of them, so it is not given up. */
  readonly settles: boolean;
}

/** A resume that is under way: it may be given up, which leaves its session to the next one that resumes it. */
export class Resuming {
  /** It is not given up, as `ResumingCall.settles`. */
  readonly settles: boolean;
  /** Resolves when it has ended, in whatever way. */
  readonly whenOver: Promise<void>;
  readonly #over = Promise.withResolvers<void>();
  readonly #onEnd: () => void;
  readonly #late: ResumingCall["late"];
  #reason: ToolError | undefined;

  constructor({ late, settles }: ResumingCall, onEnd: () => void) {
    this.#late = late;
    this.settles = settles;
    this.whenOver = this.#over.promise;
    this.#onEnd = onEnd;
  }

  leave(reason: ToolError): void {
    this.#reason ??= reason;
  }

  /** Why it was given up; undefined while it is not. */
  get reason(): ToolError | undefined {
    return this.#reason ?? this.#late?.();
  }

  /** @throws ToolError why it was given up */
  check(): void {
    const { reason } = this;
    if (reason !== undefined) throw reason;
  }

  end(): void {
    this.#onEnd();
    this.#over.resolve();
  }
}
