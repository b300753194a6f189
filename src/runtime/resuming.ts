/** A resume in progress. */
import type { ToolError } from "../core/error.ts";

/** The call that resumes a session; if a program resumes it, `outerId` and `late` are undefined. */
export interface ResumingCall {
  /** The id of the session of that call. */
  readonly outerId: string | undefined;
  /** Returns an error if the call no longer waits for the session. */
  readonly late: (() => ToolError | undefined) | undefined;
  /** The resume runs nothing: the open calls end with what is known of them. Such a resume is not aborted. */
  readonly settles: boolean;
}

/** A resume in progress. If it is aborted, the next resume continues its session. */
export class Resuming {
  /** Cannot be aborted, as with `ResumingCall.settles`. */
  readonly settles: boolean;
  /** Resolves when it has ended, successfully or not. */
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

  /** Why it was aborted; undefined if it was not. */
  get reason(): ToolError | undefined {
    return this.#reason ?? this.#late?.();
  }

  /** @throws ToolError why it was aborted */
  check(): void {
    const { reason } = this;
    if (reason !== undefined) throw reason;
  }

  end(): void {
    this.#onEnd();
    this.#over.resolve();
  }
}
