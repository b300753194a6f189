/** Keeps one stream of change notifications open at a server of the modern era, which says nothing unasked. */
import { describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { ListenFilter, McpConnection } from "./connection.ts";
import { reopenDelayMs } from "./reopen-delay.ts";
import { within } from "../../processes/pause.ts";

export interface ChangeStreamOptions {
  readonly connection: McpConnection;
  readonly clock: Clock;
  /** Called when the stream was gone for a while and is open again: changes in the meantime were missed. */
  readonly onReopened: () => void;
  readonly onProblem: (what: string) => void;
}

/** How long a server may take to agree to a stream. */
const AGREE_MS = 10_000;
/** A server that never had such a stream, and refuses it this often, does not know it. */
const MAX_FAILURES = 8;

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  #filter: ListenFilter = {};
  /** Ends the stream that is open or being opened. */
  #current = new AbortController();
  #stopTimer: (() => void) | undefined;
  #failures = 0;
  #wasOpen = false;

  constructor(options: ChangeStreamOptions) {
    this.#options = options;
  }

  /** Listens for something else from now on. Resolves once the server has agreed; a refusal is tried again later. */
  async listenFor(filter: ListenFilter): Promise<void> {
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

  async #open(signal: AbortSignal, isAgain: boolean): Promise<void> {
    this.#stopTimer?.();
    const { connection, clock, onReopened, onProblem } = this.#options;
    const wants = Object.values(this.#filter).some((wish) => wish !== undefined && wish !== false);
    if (!wants || signal.aborted || connection.ended !== undefined) return;
    try {
      const limits = { clock, limitMs: AGREE_MS, outer: signal };
      const { closed } = await within(limits, (limited) => connection.listen(this.#filter, limited));
      this.#failures = 0;
      this.#wasOpen = true;
      void closed.then(() => this.#later(signal));
      if (isAgain) onReopened();
    } catch (error: unknown) {
      if (signal.aborted) return;
      onProblem(`its stream of changes could not be opened: ${describeThrown(error)}`);
      this.#later(signal);
    }
  }

  #later(signal: AbortSignal): void {
    const { clock, connection } = this.#options;
    if (signal.aborted || connection.ended !== undefined || (!this.#wasOpen && this.#failures >= MAX_FAILURES)) return;
    const delayMs = reopenDelayMs(this.#failures++);
    this.#stopTimer = clock.timer(() => void this.#open(signal, true), delayMs, { background: true });
  }
}
