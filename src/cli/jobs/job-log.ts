/** The events of one job in the log of its session, read as far as they are written. */
import type { SessionEvent } from "../../core/event.ts";
import type { Store } from "../../core/store.ts";
import { ToolError } from "../../core/error.ts";
import type { JobKey } from "../../core/job-store.ts";

const PAGE = 1_000;

/** Reads on where it stopped before. */
export class JobLog {
  readonly #store: Store;
  readonly #job: JobKey;
  #from = 1;

  constructor(store: Store, job: JobKey) {
    this.#store = store;
    this.#job = job;
  }

  /** The events since the last time, of the job's own call. @throws ToolError `corrupt_record` where the log is damaged; `not_found` once the session is removed */
  async *read(): AsyncGenerator<SessionEvent> {
    const { sessionId, id } = this.#job;
    for (;;) {
      const { events, next, damage } = await this.#store.read(sessionId, { from: this.#from, limit: PAGE });
      this.#from += events.length;
      for (const event of events) if ("callId" in event && event.callId === id) yield event;
      if (damage !== undefined)
        throw new ToolError(
          "corrupt_record",
          `The log of session ${JSON.stringify(sessionId)} is damaged at event ${damage.position}: ${damage.reason}`,
          {
            operatorHint: "haft sessions check says more.",
          },
        );
      if (next === undefined) return;
    }
  }
}
