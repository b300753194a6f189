import { shareClass } from "./base/shared-class.ts";

/** A call that outlives its first answer, as an engine hands it over. */
export interface RemoteJobWork {
  /** The engine's own name for it, such as the task id of a server. */
  readonly id: string;
  /** The answer of the call in the end: an output, or a `ToolOutput`. Rejects as `Engine.call` throws. */
  readonly result: Promise<unknown>;
  /** Asks for its end; `result` may settle either way. Called at most once. Rejecting changes nothing. */
  cancel?(): Promise<void>;
}

/** The value that `Engine.call` returns instead of an output when the work continues elsewhere. The runtime waits for it as for any attempt. */
export class RemoteJob {
  static {
    shareClass(this, "RemoteJob");
  }

  readonly id: string;
  readonly result: Promise<unknown>;
  readonly #cancel: (() => Promise<void>) | undefined;

  constructor(work: RemoteJobWork) {
    this.id = work.id;
    this.result = work.result;
    this.#cancel = work.cancel === undefined ? undefined : () => work.cancel?.() ?? Promise.resolve();
  }

  /** Asks for its end. Never rejects. */
  async cancel(): Promise<void> {
    try {
      await this.#cancel?.();
    } catch {
      // The caller has gone; the result, late, says what became of it.
    }
  }
}
