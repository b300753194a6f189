/** Runs what changes the logins of a server one at a time: two at once would register two clients, or store what the other has deleted. */
import type { FetchLike } from "@modelcontextprotocol/client";
import type { Clock } from "../../../core/ports.ts";
import { untilAborted } from "../../../core/base/until-aborted.ts";
import { within } from "../../../processes/pause.ts";

/** A flow that takes longer has failed, its wait for those before it included. */
const FLOW_MS = 30_000;
/** Once it has begun: one that gets no answer must leave those behind it time for theirs. */
const TURN_MS = 15_000;

export class LoginFlows {
  readonly #clock: Clock;
  /** The last flow of each server. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `flow` after those of the server that came before, whose failures do not affect it, with a signal that aborts after 15 seconds. Rejects 30
   * seconds after it was asked for, and does not begin `flow` then.
   */
  run<T>(server: string, flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const before = this.#last.get(server) ?? Promise.resolve();
    const running = this.limited(async (outer) => {
      await untilAborted(before, outer);
      outer.throwIfAborted();
      return await within({ clock: this.#clock, limitMs: TURN_MS, outer }, flow);
    });
    // One that has given up waiting has not begun: the next waits for those before it all the same.
    this.#last.set(
      server,
      Promise.allSettled([before, running]).then(() => undefined), // what came of them is not kept
    );
    return running;
  }

  /** Runs `flow` at once, with a signal that aborts after 30 seconds. */
  limited<T>(flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return within({ clock: this.#clock, limitMs: FLOW_MS }, flow);
  }
}

/** A `fetch` all of whose requests end when the signal aborts. */
export function fetchUntil(fetch: FetchLike, signal: AbortSignal): FetchLike {
  return (url, init) => fetch(url, { ...init, signal });
}
