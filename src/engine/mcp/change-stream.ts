/** Keeps one stream of change notifications open at a server of the modern era, which says nothing unasked. */
import { describeThrown } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { ListenFilter, McpConnection } from "./connection.ts";

export interface ChangeStreamOptions {
  readonly connection: McpConnection;
  readonly clock: Clock;
  /** Called when the stream was gone for a while and is open again: changes in the meantime were missed. */
  readonly onReopened: () => void;
  readonly onProblem: (what: string) => void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A server that refuses this often in a row does not know such streams. */
const MAX_FAILURES = 8;

export class ChangeStream {
  readonly #options: ChangeStreamOptions;
  #filter: ListenFilter = {};
  /** Ends the stream that is open or being opened. */
  #current = new AbortController();
  #stopTimer: (() => void) | undefined;
  #failures = 0;

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
    const { connection, onReopened, onProblem } = this.#options;
    const wants = Object.values(this.#filter).some((wish) => wish !== undefined && wish !== false);
    if (!wants || signal.aborted || connection.ended !== undefined) return;
    try {
      const { closed } = await connection.listen(this.#filter, signal);
      this.#failures = 0;
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
    if (signal.aborted || connection.ended !== undefined || this.#failures >= MAX_FAILURES) return;
    const delayMs = Math.min(FIRST_PAUSE_MS * 2 ** this.#failures++, LONGEST_PAUSE_MS);
    this.#stopTimer = clock.timer(() => void this.#open(signal, true), delayMs, { background: true });
  }
}
