/** Requests whose calls a server that stops leaves: to the next process, or to the program whose session they are in. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import { ToolError } from "../../../core/error.ts";
import { leftOpen } from "./session-refusals.ts";

export class LeftCalls {
  /** By their sessions. */
  readonly #calls = new Map<string, readonly CallUnderWay[]>();
  /** How to refuse each request that waits for calls, by their sessions. */
  readonly #waits = new Map<string, Set<() => void>>();

  /** The calls of a session that is let go: they end in no request here. */
  note(id: string, calls: readonly CallUnderWay[]): void {
    this.#calls.set(id, calls);
  }

  /** Refuses the requests that wait for the calls of a session that stays open, as it is not the server's. */
  refuse(id: string, calls: readonly CallUnderWay[]): void {
    const waits = this.#waits.get(id);
    if (waits === undefined) return;
    this.note(id, calls);
    for (const end of waits) end();
  }

  /** @throws ToolError `conflict` where the calls are left meanwhile. By rejecting, as the work does */
  async untilLeft<T>(id: string, work: Promise<T> | T): Promise<T> {
    const { promise: left, reject } = Promise.withResolvers<never>();
    const end = (): void => reject(new ToolError("conflict", "The server is stopping, and does not wait for the calls of this session."));
    const waits = this.#waits.get(id) ?? new Set();
    this.#waits.set(id, waits.add(end));
    try {
      return await Promise.race([work, left]);
    } finally {
      waits.delete(end);
      if (waits.size === 0 && this.#waits.get(id) === waits) this.#waits.delete(id);
    }
  }

  /** In place of the error of a request whose session was left with calls: where these stand. @param isKeyed the request may be sent again */
  errorOf(id: string, thrown: unknown, isKeyed: boolean): unknown {
    const calls = ToolError.fromUnknown(thrown).code === "conflict" ? this.#calls.get(id) : undefined;
    return calls === undefined ? thrown : leftOpen(id, { calls, isKeyed });
  }
}
