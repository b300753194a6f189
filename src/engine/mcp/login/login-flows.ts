/** Runs what changes the logins of a server one at a time: two at once would register two clients, or store what the other has deleted. */
import type { FetchLike } from "@modelcontextprotocol/client";
import type { Clock } from "../../../core/ports.ts";
import { within } from "../../../processes/pause.ts";

/** An authorization server that takes longer has failed. */
const FLOW_MS = 30_000;

export class LoginFlows {
  readonly #clock: Clock;
  /** The last flow of each server. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `flow` after those of the server that came before, whose failures do not affect it. Its signal is that of `limited`. */
  run<T>(server: string, flow: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = (this.#last.get(server) ?? Promise.resolve()).then(() => this.limited(flow));
    this.#last.set(
      server,
      running.catch(() => undefined),
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
