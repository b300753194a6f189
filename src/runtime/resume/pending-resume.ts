/** A resume in progress. */
import type { ToolError } from "../../core/error.ts";

/** The call that resumes a session; if a program resumes it, `outerId` and `getAbortError` are undefined. */
export interface ResumeCaller {
  /** The id of the session of that call. */
  readonly outerId: string | undefined;
  /** Returns an error if the call no longer waits for the session. */
  readonly getAbortError: (() => ToolError | undefined) | undefined;
  /** The resume runs nothing: the open calls end with what is known of them. Such a resume is not aborted. */
  readonly settles: boolean;
}

/** A resume in progress. If it is aborted, the next resume continues its session. */
export class PendingResume {
  /** Cannot be aborted, as with `ResumeCaller.settles`. */
  readonly settles: boolean;
  /** Resolves when it has ended, successfully or not. */
  readonly whenEnded: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #onEnd: () => void;
  readonly #getAbortError: ResumeCaller["getAbortError"];
  #reason: ToolError | undefined;

  constructor({ getAbortError, settles }: ResumeCaller, onEnd: () => void) {
    this.#getAbortError = getAbortError;
    this.settles = settles;
    this.whenEnded = this.#ended.promise;
    this.#onEnd = onEnd;
  }

  abort(reason: ToolError): void {
    this.#reason ??= reason;
  }

  /** Why it was aborted; undefined if it was not. */
  get reason(): ToolError | undefined {
    return this.#reason ?? this.#getAbortError?.();
  }

  /** @throws ToolError why it was aborted */
  check(): void {
    const { reason } = this;
    if (reason !== undefined) throw reason;
  }

  end(): void {
    this.#onEnd();
    this.#ended.resolve();
  }
}
