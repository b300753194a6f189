/// <reference lib="esnext.disposable" preserve="true" />
/** A session that can run calls, be branched, simulated and resumed: a program's handle of a conversation. */
import type { ToolCall } from "../core/call.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkArgument, checkSession, checkText, wrongKind } from "../core/check-argument.ts";
import { isOptionsObject } from "../core/base/wording.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Approvals } from "../core/approvals.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JobStatus } from "../core/job-status.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import { otherCopyError } from "../core/other-copy.ts";
import type { ToolResult } from "../core/result.ts";
import type { Tracing } from "../core/tracing.ts";
import type { WholeResult } from "../policy/results/large-result-store.ts";
import type { Registry } from "../registry/registry.ts";
import type { CallParts } from "../call/call-run.ts";
import { isBatch } from "../call/admit/read-call.ts";
import { jobOf } from "../call/jobs/run-in-background.ts";
import { safeJobListener } from "./listeners.ts";
import { unreadableOptions, type ExecuteOptions } from "../call/execute-options.ts";
import { ReceivingSession, type ReceivingSessionOptions } from "./receiving-session.ts";
import type { Round, RoundOptions } from "./round.ts";
import type { ForkOptions } from "../session/fork-options.ts";
import { historyOf } from "../session/session-log.ts";
import { shortId } from "../session/session-id.ts";
import type { SessionHead } from "../session/session.ts";
import { closedSession, noBranch, noJobs } from "./session-errors.ts";
import { SIMULATE_OPTIONS, type SimulateOptions, type Simulation, type SubmitOptions } from "./session-options.ts";
import { stateDiff, type SessionDiff } from "../session/session-diff.ts";
import { checkMessagesOptions, messagesFor, type MessagesOptions } from "./session-messages.ts";
import type { SessionSnapshot } from "./snapshot.ts";
import { Submissions, checkIdempotencyKey, type KeyedOptions, type Submitted } from "./submissions.ts";

/** The parts of a runtime that a session needs. */
export interface SessionHost {
  readonly runner: {
    run(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<Results>;
    turn<T>(session: RuntimeSession, work: (turn: SessionTurn) => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  };
  readonly branches: {
    branch(session: RuntimeSession, options: ForkOptions): RuntimeSession;
    branchAt(session: RuntimeSession, length: number, options: ForkOptions): Promise<RuntimeSession>;
    commit(branch: RuntimeSession, parent: RuntimeSession): Promise<void>;
    discard(branch: RuntimeSession): Promise<void>;
  };
  submit(session: RuntimeSession, calls: readonly ToolCall[], options: KeyedOptions): Promise<readonly ToolResult[]>;
  snapshot(session: RuntimeSession): Promise<SessionSnapshot>;
  events(session: RuntimeSession): AsyncGenerator<SessionEvent>;
  close(session: RuntimeSession): Promise<void>;
}

export interface RuntimeSessionOptions extends ReceivingSessionOptions {
  readonly parts: CallParts;
  readonly parent?: RuntimeSession;
  readonly submissions?: ReadonlyMap<string, Submitted>;
}

type Results = ToolResult | readonly ToolResult[];

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/** The scope of the rules of a turn (once a turn, the end of a turn, the turn's cache): all of its rounds together. */
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
let submitWithin: (session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions) => Promise<Results>;

/** The parts of a session's runtime that its calls use. @throws ToolError `unavailable` for a session of another copy of the package @internal */
export function partsOf(session: RuntimeSession): CallParts {
  return readParts(session);
}

/** As `RuntimeSession.execute`, for the handler of a call: one of a composite tool is answered as it was the first time, whatever that was. @internal */
export function executeWithin(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<Results> {
  if (options.idempotencyKey !== undefined) return submitWithin(session, calls, options);
  return session.execute(calls as readonly ToolCall[], options); // also where it is one
}

/** Where the files of a session's answers and messages are kept: `createRuntime({ artifacts })`. Undefined where they are part of its log, or left out. */
export function artifactsOf(session: RuntimeSession): ArtifactStore | undefined {
  checkSession(session, "artifactsOf()");
  const { artifacts } = partsOf(session);
  return artifacts === false ? undefined : artifacts;
}

/** A conversation: each `execute` is one turn, and its turns run one after the other. */
export class RuntimeSession extends ReceivingSession {
  static {
    readParts = (session) => {
      if (#parts in session) return session.#parts;
      throw otherCopyError("The session was made by another copy of haft than the one that uses it.");
    };
    submitWithin = (session, calls, options) => session.#submit(calls, { ...options, keepsRefused: true }, options.idempotencyKey);
  }

  readonly #host: SessionHost;
  readonly #parent: RuntimeSession | undefined;
  readonly #parts: CallParts;
  /** Whether the changes of this branch have become part of the session it came from. @internal */
  committed = false;
  /** Whether this branch is discarded, or being discarded. @internal */
  dropped = false;
  /** As the branch was when it began. */
  readonly #base: SessionHead | undefined;
  #submissions: Submissions | undefined;
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

  /** Its background jobs that have not ended, the oldest first. */
  get jobs(): readonly JobStatus[] {
    return this.#parts.jobs.runningIn(this.id).map((job) => job.status);
  }

  /** How many calls wait for an answer in the inbox of approvals: its own, and those that were made in them, in sessions of delegates as well. */
  get awaitingApproval(): number {
    let count = 0;
    for (const { turn, madeBy, awaiting = 0 } of this.#parts.running.in(this))
      if (awaiting > 0 && turn.madeIn === undefined && madeBy?.turn.session !== this) count += awaiting;
    return count;
  }

  /** The tools that its calls may be of. */
  get registry(): Registry {
    return this.#parts.registry;
  }

  /** Clock, log, ids and randomness of its runtime; a simulation has ids and randomness of its own. */
  get ports(): Ports {
    return this.#parts.ports;
  }

  /** The name of the agent whose tools these are: `createRuntime({ agentName })`. */
  get agentName(): string | undefined {
    return this.#parts.agentName;
  }

  /** Makes the traces of its runtime; undefined while there are none. */
  get tracing(): Tracing | undefined {
    return this.#parts.tracing;
  }

  /** Those of its runtime: which calls need approval, what is open, and what this session has allowed. */
  get approvals(): Approvals {
    return this.#parts.approvals;
  }

  /** A tool's whole answer, by the handle of a cut result (`truncation.handle`); undefined for another session's, and once it is gone from memory. */
  wholeResult(handle: string): WholeResult | undefined {
    checkText(handle, "wholeResult()", "the handle of a result");
    return this.#parts.largeResults.whole(this.id, handle);
  }

  /**
   * As `Runtime.execute`, within this session. A turn begins when the one before is over, or at the same time where both are `concurrent`;
   * calls that a handler of the turn makes itself belong to its turn. Of a session that a store keeps, the results are durable before this resolves.
   * @throws ToolError `invalid_argument` once the session is closed; `store_failed`, `conflict` or `duplicate` when what was done
   * could not be recorded durably. All by rejecting
   */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    try {
      if (options === null || options.idempotencyKey === undefined) return this.#host.runner.run(this, calls, options);
      if (this.parentCall !== undefined) return submitWithin(this, calls, options); // the handler that it belongs to runs again after a crash
      return this.#submit(calls, options, options.idempotencyKey);
    } catch (thrown: unknown) {
      return Promise.reject(unreadableOptions(thrown, this instanceof RuntimeSession ? undefined : "session"));
    }
  }

  /**
   * Begins a call as a background job. Resolves to the job as soon as its beginning is durable; see `Runtime.jobs`.
   * @throws ToolError with the code and message of the call's result where it is refused before it begins, such as `not_found` or
   * `invalid_input`; `not_simulatable` in a simulation; and as `execute`. By rejecting
   */
  async submit(call: ToolCall, options: SubmitOptions = NO_OPTIONS): Promise<JobStatus> {
    if (this.simulation !== undefined) throw noJobs();
    if (!isOptionsObject(options)) throw wrongKind("The options of submit() are an object", options);
    return jobOf(await this.execute(call, { ...options, background: true }));
  }

  /**
   * Holds one turn for all that the work does: the rounds of a loop, each a message of a model with its calls. It begins as a turn of
   * `execute` does, and calls that the work makes by `execute` belong to it. A round that is still open when the work ends is voided.
   * @throws what the work throws; ToolError `invalid_argument` once the session is closed; `cancelled` when the signal aborts before it
   * begins. All by rejecting
   */
  turn<T>(work: (turn: SessionTurn) => Promise<T>, options: { readonly signal?: AbortSignal } = {}): Promise<T> {
    try {
      checkKnownKeys(options, { signal: "AbortSignal" }, "turn()");
    } catch (thrown: unknown) {
      return Promise.reject(ToolError.fromUnknown(thrown));
    }
    return this.#host.runner.turn(this, work, options.signal);
  }

  /**
   * Tries calls without a trace: in a branch of the session as it is now, which is dropped. Does not wait for a turn that runs.
   *
   * Reads run; calls that change nothing but the session's state run on the branch's; every other call is answered by its
   * engine's own `simulate` or by the runtime's `standIn`, else it ends `not_simulatable`.
   * @throws ToolError `invalid_argument` once the session is closed. By rejecting
   */
  async simulate(calls: ToolCall | readonly ToolCall[], options: SimulateOptions = {}): Promise<Simulation> {
    checkKnownKeys(options, SIMULATE_OPTIONS, "simulate()");
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
   * Begins a branch: a session that continues from where this one is, and shares what came before. Costs the same however long
   * that is. While a turn runs, the branch begins before it.
   * @throws ToolError `invalid_argument` once the session is closed; `duplicate` for an id in use; `resource_busy` for one that is being removed
   */
  fork(options: ForkOptions = {}): RuntimeSession {
    if (this.closed) throw closedSession(this);
    return this.#host.branches.branch(this, options);
  }

  /**
   * Begins a branch of the session as it was after its first `length` events, which it reads. It can be compared and dropped, and `commit` refuses it once the session has more events than those.
   * @throws ToolError `invalid_argument` for a length that the session does not have; `conflict` where a turn was under way there; `not_forkable` where an engine keeps what it remembers elsewhere, and cannot go back; as `fork`. By rejecting
   */
  forkAt(length: number, options: ForkOptions = {}): Promise<RuntimeSession> {
    return this.#host.branches.branchAt(this, length, options);
  }

  /** Returns the changes of this branch since it was taken; of the calls of one that a store keeps, the latest (see `log`). @throws ToolError `invalid_argument` for a session that is not a branch */
  diff(): SessionDiff {
    if (this.#parent === undefined || this.#base === undefined) throw noBranch(this);
    const pretended = this.simulation?.pretended ?? [];
    return { state: stateDiff(this.#base.state, this.stateMap), calls: historyOf(this.ownLog), pretended };
  }

  /**
   * Makes what this branch did part of the session it came from, and closes it. Calls keep their ids, results and origins; nothing is run again. Sessions
   * that its calls have begun and left open go on, and belong to that session from now on.
   * @throws ToolError `conflict` when that session has moved on since, has been closed, or an engine cannot take the branch over, and where the branch was closed and removed; `invalid_argument` for a session that is not a branch or was committed before. By rejecting
   */
  async commit(): Promise<void> {
    if (this.#parent === undefined) throw noBranch(this);
    await this.#host.branches.commit(this, this.#parent);
  }

  /**
   * Drops this branch: cancels what runs in it, closes it, and forgets what a store has of it unless others are branches of it. What is open
   * in sessions that its calls have begun is ended. Until this has ended, its id is not free. Idempotent, also where another session has taken the id since.
   * @throws ToolError `invalid_argument` for a session that is not a branch; `resource_busy` where it was closed and resumed; `store_failed`. By rejecting
   */
  async discard(): Promise<void> {
    if (this.#parent === undefined) throw noBranch(this);
    await this.#host.branches.discard(this);
  }

  /** The session as JSON, to be stored or sent and given to `Runtime.session(id, { from })`. Waits for the turn that runs. */
  async snapshot(): Promise<SessionSnapshot> {
    return this.#host.snapshot(this);
  }

  /** Every recorded event, the oldest first; read page by page where a store keeps them. */
  events(): AsyncGenerator<SessionEvent> {
    return this.#host.events(this);
  }

  /** Calls the listener when a background job of this session asks something or has ended. The returned function ends that. */
  onJob(listener: (job: JobStatus) => void): () => void {
    checkArgument(typeof listener === "function", "onJob()", "a function", listener);
    return this.#parts.jobs.listen(this.id, safeJobListener(listener, this.ports.log));
  }

  /**
   * The conversation as a model is shown it, the oldest first: at most `maxTurns` turns (50) of what is in memory, calls paired with
   * results, superseded results left out where asked.
   * @throws ToolError `invalid_argument` for options that cannot be
   */
  messages(options: MessagesOptions = {}): readonly ModelMessage[] {
    checkMessagesOptions(options, "messages()");
    return messagesFor(this, this.registry, options);
  }

  /**
   * Ends the session here: its calls are refused from now on, and engines let go of it. Its events in a store stay and can
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
    options: ExecuteOptions & Pick<KeyedOptions, "keepsRefused">,
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

  /** Aborts when the session is closed. */
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
    const first = events[0]?.sessionId === this.id ? events[0] : undefined;
    // A key belongs to its session from the moment that its batch is recorded, whatever becomes of the store.
    if (first?.type === "batch-start" || first?.type === "batch-rollback") this.submissions.notice(first, length);
  }

  /** The batches that may be submitted again. @internal */
  get submissions(): Submissions {
    return (this.#submissions ??= new Submissions());
  }

  /** A name for the next simulation of this session, used once and not taken from the ids of others. @internal */
  nextSimulationId(): string {
    return shortId(`${this.id}~${this.length}.${++this.#branches}`);
  }
}
