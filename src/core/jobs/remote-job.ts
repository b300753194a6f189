import { shareClass } from "../base/share-class.ts";

/** Work that continues after the engine's first answer, as the engine hands it over. */
export interface RemoteJobWork {
  /** The engine's own id for the work, such as the task id of a server. */
  readonly id: string;
  /** The final answer of the call: an output, or a `ToolOutput`. Rejects as `Engine.call` throws. */
  readonly result: Promise<unknown>;
  /** Asks to cancel the work; `result` may still settle either way. Called at most once. Rejecting has no effect. */
  cancel?(): Promise<void>;
}

/** Returned by `Engine.call` instead of an output if the work continues remotely. The runtime waits for it as for any attempt. */
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

  /** Asks to cancel the work. Never rejects. */
  async cancel(): Promise<void> {
    try {
      await this.#cancel?.();
    } catch {
      // The caller has gone; the late result will show what happened.
    }
  }
}
