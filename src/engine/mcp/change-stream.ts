/** Keeps one stream of change notifications open to a server of the modern era, which sends notifications only on request. */
import { describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { ListenFilter, McpConnection } from "./connection.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { withTimeLimit } from "../../processes/sleep.ts";

export interface ChangeStreamOptions {
  readonly connection: McpConnection;
  readonly clock: Clock;
  /** Called when the stream is open again after it was closed: changes in between were missed. */
  readonly onReopened: () => void;
  readonly onProblem: (what: string) => void;
}

/** How long a server may take to accept a stream, in milliseconds. */
const ACCEPT_TIMEOUT_MS = 10_000;
/** Number of refusals after which a server that never had such a stream counts as not supporting it. */
const MAX_FAILURES = 8;

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  #filter: ListenFilter = {};
  /** Closes the stream that is open or being opened. */
  #current = new AbortController();
  #stopTimer: (() => void) | undefined;
  #failures = 0;
  #wasOpen = false;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
  }

  /** Replaces the filter of the stream. Resolves once the server has accepted it or refused it; a refusal is retried later. */
  async setFilter(filter: ListenFilter): Promise<void> {
    this.#filter = filter;
    this.#failures = 0;
    const before = this.#current;
    this.#current = new AbortController();
    await this.#open(this.#current.signal, false);
    before.abort();
  }

  close(): void {
    this.#stopTimer?.();
    this.#current.abort();
  }

  async #open(signal: AbortSignal, isReopened: boolean): Promise<void> {
    this.#stopTimer?.();
    const { connection, clock, onReopened, onProblem } = this.#options;
    const wants = Object.values(this.#filter).some((wish) => wish !== undefined && wish !== false);
    if (!wants || signal.aborted || connection.endReason !== undefined) return;
    try {
      const limits = { clock, limitMs: ACCEPT_TIMEOUT_MS, outer: signal };
      const { closed } = await withTimeLimit(limits, (limited) => connection.listen(this.#filter, limited));
      this.#failures = 0;
      this.#wasOpen = true;
      void closed.then(() => this.#reopenLater(signal));
      if (isReopened) onReopened();
    } catch (error: unknown) {
      if (signal.aborted) return;
      onProblem(`its stream of changes could not be opened: ${describeThrown(error)}`);
      this.#reopenLater(signal);
    }
  }

  #reopenLater(signal: AbortSignal): void {
    const { clock, connection } = this.#options;
    if (signal.aborted || connection.endReason !== undefined || (!this.#wasOpen && this.#failures >= MAX_FAILURES)) return;
    const delayMs = reopenDelayMs(this.#failures++);
    this.#stopTimer = clock.timer(() => void this.#open(signal, true), delayMs, { background: true });
  }
}
