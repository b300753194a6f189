/** Serializes the changes to the logins of a server: two at once could register two clients, or store a login that the other deleted. */
import type { FetchLike } from "@modelcontextprotocol/client";
import type { Clock } from "../../../core/ports.ts";
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import { withTimeLimit } from "../../../processes/sleep.ts";

/** Longest time a flow may take, including the wait for earlier ones, in milliseconds. */
const FLOW_TIMEOUT_MS = 30_000;
/** Longest time a flow may take once it has begun, in milliseconds, so that one without an answer leaves time for those that wait. */
const RUN_TIMEOUT_MS = 15_000;

export class LoginFlows {
  readonly #clock: Clock;
  /** The last flow of each server. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `flow` after the earlier flows of the server, whose failures do not affect it, with a signal that aborts after 15 seconds. Rejects 30
   * seconds after `run` was called; if `flow` has not begun by then, it never does.
   */
  run<T>(server: string, flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const before = this.#last.get(server) ?? Promise.resolve();
    const running = this.runWithLimit(async (outer) => {
      await rejectOnAbort(before, outer);
      outer.throwIfAborted();
      return await withTimeLimit({ clock: this.#clock, limitMs: RUN_TIMEOUT_MS, outer }, flow);
    });
    // a flow that stopped waiting has not begun: the next one still waits for those before it
    this.#last.set(
      server,
      Promise.allSettled([before, running]).then(() => undefined), // their outcome is not kept
    );
    return running;
  }

  /** Runs `flow` at once, with a signal that aborts after 30 seconds. */
  runWithLimit<T>(flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withTimeLimit({ clock: this.#clock, limitMs: FLOW_TIMEOUT_MS }, flow);
  }
}

/** A `fetch` whose requests all abort with the signal. */
export function fetchWithSignal(fetch: FetchLike, signal: AbortSignal): FetchLike {
  return (url, init) => fetch(url, { ...init, signal });
}
