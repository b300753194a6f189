import type { SessionEvent } from "../../../core/event.ts";
import type { ReadOptions, Store } from "../../../core/store/store.ts";
import { readEvents } from "../../../session/read-events.ts";
import type { JobKey } from "../../../core/store/job-store.ts";

/** Reads the events of one job from the log of its session. Each read continues after the last one. */
export class JobLog {
  readonly #store: Store;
  readonly #job: JobKey;
  #from = 0;

  constructor(store: Store, job: JobKey) {
    this.#store = store;
    this.#job = job;
  }

  /** Yields the new events of the job's call. @throws ToolError `corrupt_record` if the log is damaged; `not_found` once the session is removed */
  async *read(): AsyncGenerator<SessionEvent> {
    const { sessionId, id } = this.#job;
    const log = { sessionId, read: (options: ReadOptions) => this.#store.read(sessionId, options) };
    for await (const event of readEvents(log, this.#from)) {
      this.#from++;
      if ("callId" in event && event.callId === id) yield event;
    }
  }
}
