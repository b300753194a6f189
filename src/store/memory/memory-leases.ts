/** Leases in memory, for the runtimes of one process that share a store. */
import type { LeaseAnswer, LeaseStore, LeaseUpdate, StoredLease } from "../../core/store/lease-store.ts";
import { LeaseQueue, type LeaseQueueEntry } from "../records/lease-queue.ts";

export class MemoryLeases implements LeaseStore {
  readonly #entries = new Map<string, LeaseQueueEntry>();
  #place = 0;
  #fence = 0;

  async update({ released, requested: wanted }: LeaseUpdate): Promise<readonly LeaseAnswer[]> {
    for (const ticket of released) this.#entries.delete(ticket);
    for (const request of wanted)
      if (!this.#entries.has(request.ticket)) this.#entries.set(request.ticket, { ...request, place: ++this.#place, fence: undefined });
    const queue = new LeaseQueue([...this.#entries.values()]);
    return wanted.map(({ ticket }) => this.#answer(queue, ticket));
  }

  async list(): Promise<readonly StoredLease[]> {
    return new LeaseQueue([...this.#entries.values()]).entries.map(({ callId, reads, writes, fence }) => ({
      callId,
      reads,
      writes,
      fence,
      heldBy: `this process, ${process.pid}`,
    }));
  }

  #answer(queue: LeaseQueue, ticket: string): LeaseAnswer {
    const entry = queue.entries.find((one) => one.ticket === ticket);
    if (entry === undefined) return { granted: false, waitsFor: [], isDeadlock: false };
    if (entry.fence !== undefined) return { granted: true, fence: entry.fence };
    if (queue.isUnblocked(entry)) {
      const fence = ++this.#fence;
      this.#entries.set(ticket, { ...entry, fence });
      return { granted: true, fence };
    }
    const isDeadlock = entry.within !== entry.callId && queue.isInCycle(entry);
    if (isDeadlock) this.#entries.delete(ticket);
    return { granted: false, waitsFor: queue.blockers(entry).map(({ callId }) => callId), isDeadlock };
  }
}
