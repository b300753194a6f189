/** Requests whose calls a stopping server leaves running elsewhere: in the next process, or in the program that owns their session. */
import type { CallUnderWay } from "../../../call/context/calls-under-way.ts";
import { ToolError } from "../../../core/error.ts";
import { releasedCallsError } from "./session-errors.ts";

export class ReleasedCalls {
  /** Calls that were left, by session id. */
  readonly #calls = new Map<string, readonly CallUnderWay[]>();
  /** Functions that refuse the requests waiting for calls, by session id. */
  readonly #waits = new Map<string, Set<() => void>>();

  /** Records the calls of a session that is released: requests here will not get their results. */
  record(id: string, calls: readonly CallUnderWay[]): void {
    this.#calls.set(id, calls);
  }

  /** Refuses the requests that wait for the calls of a session that stays open because it belongs to the program. */
  refuseWaiting(id: string, calls: readonly CallUnderWay[]): void {
    const waits = this.#waits.get(id);
    if (waits === undefined) return;
    this.record(id, calls);
    for (const end of waits) end();
  }

  /** Waits for `work`. @throws ToolError `conflict` if the calls are left meanwhile; as the work; as a rejection */
  async waitUnlessReleased<T>(id: string, work: Promise<T> | T): Promise<T> {
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

  /** Replaces the error of a request whose session was released by one that lists the calls. @param isKeyed the request may be sent again */
  replaceError(id: string, thrown: unknown, isKeyed: boolean): unknown {
    const calls = ToolError.fromUnknown(thrown).code === "conflict" ? this.#calls.get(id) : undefined;
    return calls === undefined ? thrown : releasedCallsError(id, { calls, isKeyed });
  }
}
