/** A resume that is under way: it may be given up, which leaves its session to the next one that resumes it. */
import type { ToolError } from "../core/error.ts";
import type { CallPlace } from "../core/event.ts";
import type { ResumeOptions } from "./resume-session.ts";

/** How a session is resumed, by a program or by the call that it belongs to. */
export interface TakeUpOptions extends ResumeOptions {
  readonly parentCall?: CallPlace | undefined;
  readonly resuming: Resuming;
}

export class Resuming {
  /** The id of the session whose call resumes it. */
  readonly outerId: string | undefined;
  /** Resolves when it has ended, in whatever way. */
  readonly whenOver: Promise<void>;
  readonly #over = Promise.withResolvers<void>();
  readonly #onEnd: () => void;
  #reason: ToolError | undefined;

  constructor(outerId: string | undefined, onEnd: () => void) {
    this.outerId = outerId;
    this.whenOver = this.#over.promise;
    this.#onEnd = onEnd;
  }

  leave(reason: ToolError): void {
    this.#reason ??= reason;
  }

  /** Why it was given up; undefined while it is not. */
  get reason(): ToolError | undefined {
    return this.#reason;
  }

  /** @throws ToolError why it was given up */
  check(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  end(): void {
    this.#onEnd();
    this.#over.resolve();
  }
}
