/** A session that can run calls, be branched, tried and taken up again: what a program holds of a conversation. */
import { createHash } from "node:crypto";
import type { ToolCall } from "../core/call.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import type { Approvals } from "../core/approvals.ts";
import type { SessionEvent } from "../core/event.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import type { ToolResult } from "../core/result.ts";
import type { WholeResult } from "../policy/large-result-store.ts";
import type { Registry } from "../registry/registry.ts";
import type { CallParts } from "../call/call-run.ts";
import { isBatch } from "../call/read-call.ts";
import { unreadableOptions, type ExecuteOptions } from "../call/execute-options.ts";
import type { Round, RoundOptions } from "./round.ts";
import type { ForkOptions } from "../session/fork-options.ts";
import { readMessage } from "../session/read-message.ts";
import { historyOf } from "../session/session-log.ts";
import { Session, type SessionHead, type SessionOptions } from "../session/session.ts";
import { stateDiff, type SessionDiff } from "../session/session-diff.ts";
import { messagesFor, type MessagesOptions } from "./session-messages.ts";
import type { SessionSnapshot } from "./snapshot.ts";
import { Submissions, checkIdempotencyKey, type Submitted } from "./submissions.ts";

/** How a call is simulated. */
export interface SimulateOptions extends Omit<ExecuteOptions, "recordHistory" | "idempotencyKey"> {
  /** The tools whose calls happen for real all the same, as patterns over qualified names; `true` = all. @default none */
  readonly allowSideEffects?: boolean | readonly string[];
}

/** What calls would have come to. */
export interface Simulation {
  /** In call order; each says in `origin` whether it is real. */
  readonly results: readonly ToolResult[];
  readonly diff: SessionDiff;
  /**
   * Makes what was tried part of the session: calls and results with their origins, and the changes of state. No call is run
   * again.
   *
   * @throws ToolError `conflict` when the session has moved on since; `invalid_argument` when there is no session, or it is done already. By rejecting
   */
  commit(): Promise<void>;
}

/** What a session needs of its runtime. */
export interface SessionHost {
  run(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<ToolResult | readonly ToolResult[]>;
  turn<T>(session: RuntimeSession, work: (turn: SessionTurn) => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  submit(
    session: RuntimeSession,
    calls: readonly ToolCall[],
    options: ExecuteOptions & { readonly idempotencyKey: string },
  ): Promise<readonly ToolResult[]>;
  branch(session: RuntimeSession, options: ForkOptions): RuntimeSession;
  commit(branch: RuntimeSession, parent: RuntimeSession): Promise<void>;
  discard(branch: RuntimeSession): Promise<void>;
  snapshot(session: RuntimeSession): Promise<SessionSnapshot>;
  events(session: RuntimeSession): AsyncGenerator<SessionEvent>;
  addMessage(session: RuntimeSession, message: SessionMessage): Promise<void>;
  close(session: RuntimeSession): Promise<void>;
}

export interface RuntimeSessionOptions extends SessionOptions {
  readonly parts: CallParts;
  readonly parent?: RuntimeSession;
  readonly submissions?: ReadonlyMap<string, Submitted>;
}

/** The ids of calls are made of it, and what is recorded has a longest id. */
const MAX_SIMULATION_ID_LENGTH = 256;
const NO_OPTIONS: ExecuteOptions = Object.freeze({});
const NO_FORK_OPTIONS: ForkOptions = Object.freeze({});

/** What the rules of a turn (once a turn, the end of a turn, the turn's cache) hold for: all of its rounds together. */
export interface SessionTurn {
  readonly id: string;
  readonly session: RuntimeSession;
  /** The tool that has ended the turn: later calls of it are skipped. */
  readonly endedBy: string | undefined;
  /** Aborts when the session is closed, which voids a round that is not over: the turn can only end. */
  readonly signal: AbortSignal;
  /** Adds what a person or a program said, between two rounds. @throws ToolError `invalid_argument` */
  addMessage(message: SessionMessage): void;
  /** Begins the next message of the model. @throws ToolError `invalid_argument` while the round before is not over, and after the turn */
  round(options?: RoundOptions): Round;
}

let readParts: (session: RuntimeSession) => CallParts;

/** What the calls of a session use of its runtime. @internal */
export function partsOf(session: RuntimeSession): CallParts {
  return readParts(session);
}

/** A conversation: each `execute` is one turn, and its turns run one after the other. */
export class RuntimeSession extends Session {
  static {
    readParts = (session) => session.#parts;
  }

  readonly #host: SessionHost;
  readonly #parent: RuntimeSession | undefined;
  readonly #parts: CallParts;
  /** What this branch did has become part of the session it came from. @internal */
  committed = false;
  /** As the branch was when it began. */
  readonly #base: SessionHead | undefined;
  #submissions: Submissions | undefined;
  #ready: Promise<void> | undefined;
  /** Tries again what `ready` waited for: the store could not be used then. */
  #tryAgain: (() => Promise<void>) | undefined;
  #closing: Promise<void> | undefined;
  #branches = 0;
  #closed: AbortController | undefined;

  constructor(options: RuntimeSessionOptions, host: SessionHost) {
    super(options);
    this.#host = host;
    this.#parent = options.parent;
    this.#base = options.head;
    this.#parts = options.parts;
    if (options.submissions !== undefined) this.#submissions = new Submissions(options.submissions);
  }

  /** The tools that its calls may be of. */
  get registry(): Registry {
    return this.#parts.registry;
  }

  /** Clock, log, ids and randomness of its runtime; a simulation has ids and randomness of its own. */
  get ports(): Ports {
    return this.#parts.ports;
  }

  /** Those of its runtime: which calls need approval, what is open, and what this session has allowed. */
  get approvals(): Approvals {
    return this.#parts.approvals;
  }

  /**
   * What a tool answered, by the handle of a result that was cut (`truncation.handle`). Undefined for a handle of another session, and
   * once it is gone from memory.
   */
  wholeResult(handle: string): WholeResult | undefined {
    return this.#parts.largeResults.whole(this.id, handle);
  }

  /**
   * As `Runtime.execute`, within this session. A turn begins when the one before is over, or beside it where both are `concurrent`;
   * calls that a handler of the turn makes itself belong to its turn. Of a session that a store keeps, the results are durable before this resolves.
   *
   * @throws ToolError `invalid_argument` once the session is closed; `store_failed`, `conflict` or `duplicate` when what was done
   * could not be recorded durably. All by rejecting
   */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    try {
      if (options === null || options.idempotencyKey === undefined) return this.#host.run(this, calls, options);
      return this.#submit(calls, options, options.idempotencyKey);
    } catch (thrown: unknown) {
      return Promise.reject(unreadableOptions(thrown));
    }
  }

  /**
   * Holds one turn for all that the work does: the rounds of a loop, each a message of a model with its calls. It begins as a turn of
   * `execute` does, and calls that the work makes by `execute` belong to it. A round that is still open when the work ends is voided.
   *
   * @throws what the work throws; ToolError `invalid_argument` once the session is closed; `cancelled` when the signal aborts before it
   * begins. All by rejecting
   */
  turn<T>(work: (turn: SessionTurn) => Promise<T>, options: { readonly signal?: AbortSignal } = {}): Promise<T> {
    return this.#host.turn(this, work, options?.signal); // a program without types may give null
  }

  /**
   * Tries calls without a trace: in a branch of the session as it is now, which is dropped. Does not wait for a turn that runs.
   *
   * Reads run; calls that change nothing but the session's state run on the branch's; every other call is answered by its
   * engine's own `simulate` or by the runtime's `standIn`, else it ends `not_simulatable`.
   *
   * @throws ToolError `invalid_argument` once the session is closed. By rejecting
   */
  async simulate(calls: ToolCall | readonly ToolCall[], options: SimulateOptions = {}): Promise<Simulation> {
    if (typeof options !== "object" || options === null)
      throw new ToolError("invalid_argument", "The options of simulate() are an object.");
    const { allowSideEffects, ...executeOptions } = options;
    const branch = this.fork({ simulated: true, ...(allowSideEffects === undefined ? {} : { allowSideEffects }) });
    try {
      const results = await branch.execute(isBatch(calls) ? calls : [calls], executeOptions);
      return { results, diff: branch.diff(), commit: () => branch.commit() };
    } finally {
      await branch.close();
    }
  }

  /**
   * Begins a branch: a session that goes on from where this one is, and shares what came before. Costs the same however long
   * that is. While a turn runs, the branch begins before it.
   *
   * @throws ToolError `invalid_argument` once the session is closed; `duplicate` for an id in use
   */
  fork(options: ForkOptions = NO_FORK_OPTIONS): RuntimeSession {
    if (this.closed) throw closedSession(this);
    return this.#host.branch(this, options);
  }

  /** What this branch did since it was taken; of the calls of one that a store keeps, the latest (see `log`). @throws ToolError `invalid_argument` for a session that is not a branch */
  diff(): SessionDiff {
    if (this.#parent === undefined || this.#base === undefined) throw noBranch(this);
    return {
      state: stateDiff(this.#base.state, this.stateMap),
      calls: historyOf(this.ownLog),
      pretended: this.simulation?.pretended ?? [],
    };
  }

  /**
   * Makes what this branch did part of the session it came from, and closes it. Calls keep their ids, results and origins;
   * nothing is run again.
   *
   * @throws ToolError `conflict` when that session has moved on since, has been closed, or an engine cannot take the branch
   * over; `invalid_argument` for a session that is not a branch or was committed before. By rejecting
   */
  async commit(): Promise<void> {
    if (this.#parent === undefined) throw noBranch(this);
    await this.#host.commit(this, this.#parent);
  }

  /**
   * Drops this branch: closes it, and forgets what a store has of it unless others are branches of it.
   *
   * @throws ToolError `invalid_argument` for a session that is not a branch; `store_failed`. By rejecting
   */
  async discard(): Promise<void> {
    if (this.#parent === undefined) throw noBranch(this);
    await this.#host.discard(this);
  }

  /** The session as JSON, to be stored or sent and given to `Runtime.session(id, { from })`. Waits for the turn that runs. */
  async snapshot(): Promise<SessionSnapshot> {
    return this.#host.snapshot(this);
  }

  /** Every recorded event, the oldest first; read page by page where a store keeps them. */
  events(): AsyncGenerator<SessionEvent> {
    return this.#host.events(this);
  }

  /** Adds what a person or a program said. Resolves when it is durable. @throws ToolError `invalid_argument` for what is not a message. By rejecting */
  async addMessage(message: SessionMessage): Promise<void> {
    return this.#host.addMessage(this, readMessage(message));
  }

  /**
   * The conversation as a model is shown it, the oldest first: at most `maxTurns` turns (50) of what is in memory, calls paired with
   * results, superseded results left out where asked.
   *
   * @throws ToolError `invalid_argument` for options that cannot be
   */
  messages(options: MessagesOptions = {}): readonly ModelMessage[] {
    if (typeof options !== "object" || options === null)
      throw new ToolError("invalid_argument", "The options of messages() are an object.");
    return messagesFor(this, this.registry, options);
  }

  /**
   * Ends the session here: its calls are refused from now on, and engines let go of it. What a store keeps of it stays and can
   * be resumed. Idempotent. Resolves when everything is written; rejects when it cannot be. For a handler of its own turn, it
   * resolves at once, and the session ends when the turn is over.
   */
  close(): Promise<void> {
    this.markClosed();
    const closing = (this.#closing ??= this.#host.close(this));
    if (!this.turns.isInside) return closing;
    closing.catch((thrown: unknown) =>
      this.ports.log.warn(`The session ${JSON.stringify(this.id)} did not end well: ${describeThrown(thrown)}`),
    );
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #submit(
    calls: ToolCall | readonly ToolCall[],
    options: ExecuteOptions,
    idempotencyKey: unknown,
  ): Promise<ToolResult | readonly ToolResult[]> {
    checkIdempotencyKey(idempotencyKey);
    const results = await this.#host.submit(this, isBatch(calls) ? calls : [calls], { ...options, idempotencyKey });
    return isBatch(calls) ? results : (results[0] ?? results);
  }

  override markClosed(): void {
    super.markClosed();
    this.#closed?.abort(closedSession(this));
  }

  /** Aborts when the session is closed. @internal */
  get whenClosed(): AbortSignal {
    if (this.#closed === undefined) {
      this.#closed = new AbortController();
      if (this.closed) this.#closed.abort(closedSession(this));
    }
    return this.#closed.signal;
  }

  /** How many of its events are those of the session it is a branch of. @internal */
  get baseLength(): number {
    return this.#base?.length ?? 0;
  }

  override recordAll(events: readonly SessionEvent[]): void {
    const { length } = this;
    super.recordAll(events);
    const [first] = events;
    // A key belongs to its session from the moment that its batch is recorded, whatever becomes of the store.
    if (first?.type === "batch-start" || first?.type === "batch-rollback") this.submissions.notice(first, length);
  }

  /** The batches that may be submitted again. @internal */
  get submissions(): Submissions {
    return (this.#submissions ??= new Submissions());
  }

  /**
   * Resolves when its log can be written to, and rejects when it cannot; undefined when there is nothing to wait for. A store that could
   * not be used is tried again whenever this is asked for. @internal
   */
  get ready(): Promise<void> | undefined {
    const tryAgain = this.#tryAgain;
    if (tryAgain !== undefined) this.waitFor(tryAgain);
    return this.#ready;
  }

  /** Holds its calls back until this resolves; when it rejects, so do they. @internal */
  waitFor(begin: () => Promise<void>): void {
    this.#tryAgain = undefined;
    const ready = begin();
    this.#ready = ready;
    ready.then(
      () => (this.#ready = undefined),
      (thrown: unknown) => {
        // Those who call are told. What another has, or is damaged, stays so.
        if (ToolError.fromUnknown(thrown, "store_failed").code === "store_failed") this.#tryAgain = begin;
      },
    );
  }

  /** A name for the next simulation of this session, used once and taken from nobody's ids. @internal */
  nextSimulationId(): string {
    const id = `${this.id}~${this.length}.${++this.#branches}`;
    return id.length <= MAX_SIMULATION_ID_LENGTH ? id : createHash("sha256").update(id).digest("base64url");
  }
}

export function closedSession(session: Session): ToolError {
  return new ToolError("invalid_argument", `The session ${JSON.stringify(session.id)} is closed.`, {
    hint: "Begin another with runtime.session(), or take it up again with runtime.resume() where a store has it.",
  });
}

function noBranch(session: Session): ToolError {
  return new ToolError("invalid_argument", `The session ${JSON.stringify(session.id)} is no open branch of another.`, {
    hint: "Take one with fork() or simulate(). A branch that was resumed from a store is a session of its own.",
  });
}
