/** The one process that can use a store in memory. */
import { hostname } from "node:os";
import { MAX_NAMED_SESSIONS, mergeDescription, type ProcessDescription, type StoredProcess } from "../../core/store/process-store.ts";
import { systemPorts } from "../../core/system/system-ports.ts";

export class MemoryProcess {
  readonly id = systemPorts.ids.next("process");
  readonly #startedAt = systemPorts.clock.wallTime();
  #description: ProcessDescription | undefined;

  announce(description: ProcessDescription): void {
    this.#description = mergeDescription(this.#description ?? {}, description);
  }

  /** @param open ids of the open sessions, most recently used first */
  list(open: readonly string[]): readonly StoredProcess[] {
    if (this.#description === undefined && open.length === 0) return [];
    const process: StoredProcess = {
      ...this.#description,
      id: this.id,
      host: hostname(),
      pid: globalThis.process.pid,
      own: true,
      alive: true,
      startedAt: this.#startedAt,
      seenAt: systemPorts.clock.wallTime(),
      silentMs: 0,
      sessions: open.length,
      sessionIds: open.slice(0, MAX_NAMED_SESSIONS),
    };
    return [process];
  }
}
