/** A turn of a session that is held for several rounds, as by a loop. */
import type { SessionMessage } from "../core/message.ts";
import { ToolError } from "../core/error.ts";
import { onAbort } from "../core/base/on-abort.ts";
import type { ToolResult } from "../core/result.ts";
import type { CallOptions } from "../call/call-options.ts";
import { EXECUTE_OPTIONS } from "../call/execute-options.ts";
import { Round, type RoundOptions } from "./round.ts";
import { findUnknownKeyError, type OptionNames } from "../core/known-keys.ts";
import { readMessage } from "../session/read-message.ts";
import { recordMessage } from "../session/record-message.ts";
import { servicesOf, type RuntimeSession, type SessionTurn } from "./runtime-session.ts";
import type { Turn } from "../session/turn.ts";

/** The parts of a runtime that a held turn needs. */
export interface HeldTurnHost {
  readonly session: RuntimeSession;
  readonly turn: Turn;
  readonly callOptions: (options: RoundOptions) => CallOptions;
  readonly refusal: () => ToolError | undefined;
  readonly whenDurable: (results: Promise<readonly ToolResult[]>) => Promise<readonly ToolResult[]>;
}

const NO_OPTIONS: RoundOptions = Object.freeze({});
const { idempotencyKey: _key, onError: _onError, strict: _strict, concurrent: _concurrent, ...OF_ANY_CALL } = EXECUTE_OPTIONS;
export const ROUND_OPTIONS: OptionNames<RoundOptions> = { ...OF_ANY_CALL, metadata: true, offersBackground: true };

export class HeldTurn implements SessionTurn {
  readonly session: RuntimeSession;
  readonly signal: AbortSignal;
  readonly #host: HeldTurnHost;
  readonly #removeAbortListener: () => void;
  #openRound: Round | undefined;
  #hasEnded = false;

  constructor(host: HeldTurnHost) {
    this.session = host.session;
    this.signal = host.session.whenClosed;
    this.#host = host;
    // The error of a round that cannot end is thrown by `close`.
    this.#removeAbortListener = onAbort(this.signal, () => void this.#openRound?.void("the session was closed").catch(() => {}));
  }

  get id(): string {
    return this.#host.turn.id;
  }

  get endedBy(): string | undefined {
    return this.#host.turn.endedBy;
  }

  addMessage(message: SessionMessage): void {
    this.#checkOpen();
    const at = this.session.ports.clock.wallTime();
    recordMessage(this.session, readMessage(message), { at, parentCall: this.#host.turn.parentCall });
  }

  round(options: RoundOptions = NO_OPTIONS): Round {
    this.#checkOpen();
    if (this.#openRound !== undefined) throw new ToolError("invalid_argument", "A round begins when the one before it is over.");
    if (typeof options !== "object" || options === null)
      throw new ToolError("invalid_argument", "The options of round() must be an object.");
    const unknown = options === NO_OPTIONS ? undefined : findUnknownKeyError(options, ROUND_OPTIONS, "round()");
    if (unknown !== undefined) throw unknown;
    const { turn, callOptions, refusal, whenDurable } = this.#host;
    const { metadata, signal, shown, offersBackground = false } = options;
    const round = new Round({
      services: servicesOf(this.session),
      turn,
      callOptions: callOptions(options),
      metadata,
      shown,
      signal,
      offersBackground,
      refusal,
      whenDurable,
      onEnd: () => {
        this.#openRound = undefined;
      },
    });
    return (this.#openRound = round);
  }

  /** Ends the turn; an open round is voided. @internal */
  async close(): Promise<void> {
    this.#hasEnded = true;
    this.#removeAbortListener();
    await this.#openRound?.void("the turn was over");
  }

  #checkOpen(): void {
    const refusalError = this.#hasEnded ? new ToolError("invalid_argument", "The turn is over.") : this.#host.refusal();
    if (refusalError !== undefined) throw refusalError;
  }
}
