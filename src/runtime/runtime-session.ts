/// <reference lib="esnext.disposable" preserve="true" />
/** A session that can run calls, be branched, simulated and resumed: a program's handle to a conversation. */
import type { ToolCall } from "../core/call.ts";
import { ToolError, describeThrown } from "../core/error.ts";
import { checkArgument, checkSession, checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { Approvals } from "../core/approvals/approvals.ts";
import type { ArtifactStore } from "../core/artifact.ts";
import type { SessionEvent } from "../core/event.ts";
import type { JobStatus } from "../core/jobs/job-status.ts";
import type { ModelMessage, SessionMessage } from "../core/message.ts";
import type { Ports } from "../core/ports.ts";
import { duplicatePackageError } from "../core/system/duplicate-package.ts";
import type { ToolResult } from "../core/result.ts";
import type { Tracing } from "../core/tracing.ts";
import type { WholeResult } from "../policy/results/large-result-store.ts";
import type { Registry } from "../registry/registry.ts";
import type { CallServices } from "../call/call-run.ts";
import { isBatch } from "../call/admit/read-call.ts";
import { jobOf } from "../call/jobs/run-in-background.ts";
import { safeJobListener } from "./listeners.ts";
import { unreadableOptionsError, type ExecuteOptions } from "../call/execute-options.ts";
import { ReceivingSession, type ReceivingSessionOptions } from "./receiving-session.ts";
import type { Round, RoundOptions } from "./round.ts";
import type { CommitOptions } from "../session/commit-options.ts";
import type { ForkOptions } from "../session/fork-options.ts";
import { historyOf } from "../session/session-log.ts";
import { shortId } from "../session/session-id.ts";
import type { SessionHead } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import { closedSessionError, noBranchError, noJobsError } from "./session-errors.ts";
import { SIMULATE_OPTIONS, checkSubmission, type SimulateOptions, type Simulation, type SubmitOptions } from "./session-options.ts";
import { stateDiff, type SessionDiff } from "../session/session-diff.ts";
import { checkMessagesOptions, buildMessages, type MessagesOptions } from "./session-messages.ts";
import type { SessionSnapshot } from "./snapshot.ts";
import { Submissions, checkIdempotencyKey, type KeyedOptions, type SubmittedBatch } from "./submissions.ts";

/** The parts of a runtime that a session needs. */
export interface SessionHost {
  readonly runner: {
    run(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<Results>;
    turn<T>(session: RuntimeSession, work: (turn: SessionTurn) => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
  };
  readonly branches: {
    branch(session: RuntimeSession, options: ForkOptions): RuntimeSession;
    branchAt(session: RuntimeSession, length: number, options: ForkOptions): Promise<RuntimeSession>;
    commit(branch: RuntimeSession, parent: RuntimeSession, options: CommitOptions): Promise<void>;
    discard(branch: RuntimeSession): Promise<void>;
  };
  submit(session: RuntimeSession, calls: readonly ToolCall[], options: KeyedOptions): Promise<readonly ToolResult[]>;
  snapshot(session: RuntimeSession): Promise<SessionSnapshot>;
  events(session: RuntimeSession): AsyncGenerator<SessionEvent>;
  close(session: RuntimeSession): Promise<void>;
}

export interface RuntimeSessionOptions extends ReceivingSessionOptions {
  readonly services: CallServices;
  readonly parent?: RuntimeSession;
  readonly submissions?: ReadonlyMap<string, SubmittedBatch>;
  /** The turn of the call that the session belongs to. */
  readonly callingTurn?: Turn | undefined;
}

type Results = ToolResult | readonly ToolResult[];

const NO_OPTIONS: ExecuteOptions = Object.freeze({});

/** A turn that is held for several rounds. The rules of a turn (once per turn, end of the turn, the turn's cache) apply to all of them together. */
export interface SessionTurn {
  readonly id: string;
  readonly session: RuntimeSession;
  /** The tool that has ended the turn: later calls of the turn are skipped. */
  readonly endedBy: string | undefined;
  /** Aborts when the session is closed, which voids an open round; the turn can then only end. */
  readonly signal: AbortSignal;
  /** Adds a message of a person or a program, between two rounds. @throws ToolError `invalid_argument` */
  addMessage(message: SessionMessage): void;
  /** Begins the next message of the model. @throws ToolError `invalid_argument` while the previous round is open, and after the turn */
  round(options?: RoundOptions): Round;
}

let readServices: (session: RuntimeSession) => CallServices;
let submitNested: (session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions) => Promise<Results>;

/** The parts of a session's runtime that its calls use. @throws ToolError `unavailable` for a session of another copy of the package @internal */
export function servicesOf(session: RuntimeSession): CallServices {
  return readServices(session);
}

/** Like `RuntimeSession.execute`, for a handler: nested calls of a composite tool always get their first results. @internal */
export function executeNested(session: RuntimeSession, calls: ToolCall | readonly ToolCall[], options: ExecuteOptions): Promise<Results> {
  if (options.idempotencyKey !== undefined) return submitNested(session, calls, options);
  return session.execute(calls as readonly ToolCall[], options); // also if it is a single call
}

/**
 * Where the files of a session's answers and messages are kept: `createRuntime({ artifacts })`. Undefined if they are part of its log, or left out.
 */
export function artifactsOf(session: RuntimeSession): ArtifactStore | undefined {
  checkSession(session, "artifactsOf()");
  const { artifacts } = servicesOf(session);
  return artifacts === false ? undefined : artifacts;
}

/** A conversation: each `execute` is one turn, and turns run one after the other. */
export class RuntimeSession extends ReceivingSession {
  static {
    readServices = (session) => {
      if (#services in session) return session.#services;
      throw duplicatePackageError("The session was made by another copy of haft than the one that uses it.");
    };
    submitNested = (session, calls, options) => session.#submit(calls, { ...options, keepsRefused: true }, options.idempotencyKey);
  }

  readonly #host: SessionHost;
  readonly #parent: RuntimeSession | undefined;
  readonly #services: CallServices;
  /** Whether the changes of this branch have become part of the session it came from. @internal */
  committed = false;
  /** Whether this branch was discarded, or is being discarded. @internal */
  dropped = false;
  /** The head at which the branch began. */
  readonly #base: SessionHead | undefined;
  /** The turn of the call that the session belongs to: a tool that may run once a turn runs once in both. @internal */
  readonly callingTurn: Turn | undefined;
  #submissions: Submissions | undefined;
  #closing: Promise<void> | undefined;
  #branches = 0;
  #closed: AbortController | undefined;

  constructor(options: RuntimeSessionOptions, host: SessionHost) {
    super(options);
    this.#host = host;
    this.#parent = options.parent;
    this.#base = options.head;
    this.#services = options.services;
    this.callingTurn = options.callingTurn;
    if (options.submissions !== undefined) this.#submissions = new Submissions(options.submissions);
  }

  /** @internal */
  override get callingSession(): Turn["session"] | undefined {
    return this.callingTurn?.session;
  }

  /** Its background jobs that have not ended, the oldest first. */
  get jobs(): readonly JobStatus[] {
    return this.#services.jobs.runningIn(this.id).map((job) => job.status);
  }

  /** Number of calls that wait for approval: its own and their nested calls, including those in sessions of delegates. */
  get awaitingApproval(): number {
    let count = 0;
    for (const { turn, callerRun, pendingApprovals = 0 } of this.#services.running.inSession(this))
      if (pendingApprovals > 0 && turn.parentCall === undefined && callerRun?.turn.session !== this) count += pendingApprovals;
    return count;
  }

  /** The tools that its calls may use. */
  get registry(): Registry {
    return this.#services.registry;
  }

  /** The clock, log, ids and randomness of its runtime; a simulation has its own ids and randomness. */
  get ports(): Ports {
    return this.#services.ports;
  }

  /** The name of the agent that uses these tools: `createRuntime({ agentName })`. */
  get agentName(): string | undefined {
    return this.#services.agentName;
  }

  /** The tracing of its runtime; undefined without one. */
  get tracing(): Tracing | undefined {
    return this.#services.tracing;
  }

  /** The approvals of its runtime: which calls need approval, which questions are open, and what this session has allowed. */
  get approvals(): Approvals {
    return this.#services.approvals;
  }

  /** A tool's whole answer, by the handle of a truncated result (`truncation.handle`); undefined for another session's, and once not in memory. */
  wholeResult(handle: string): WholeResult | undefined {
    checkString(handle, "wholeResult()", "the handle of a result");
    return this.#services.largeResults.find(this.id, handle);
  }

  /**
   * Like `Runtime.execute`, within this session. A turn begins when the previous one has ended, or concurrently if both are `concurrent`; nested
   * calls of a handler belong to its turn. In a stored session, the results are durable before this resolves.
   * @throws ToolError `invalid_argument` once the session is closed; `store_failed`, `conflict` or `duplicate` if the calls could not be recorded
   * durably; all as rejections
   */
  execute(call: ToolCall, options?: ExecuteOptions): Promise<ToolResult>;
  execute(calls: readonly ToolCall[], options?: ExecuteOptions): Promise<readonly ToolResult[]>;
  execute(calls: ToolCall | readonly ToolCall[], options: ExecuteOptions = NO_OPTIONS): Promise<ToolResult | readonly ToolResult[]> {
    try {
      if (options === null || options.idempotencyKey === undefined) return this.#host.runner.run(this, calls, options);
      // the handler that the session belongs to runs again after a crash
      if (this.parentCall !== undefined) return submitNested(this, calls, options);
      return this.#submit(calls, options, options.idempotencyKey);
    } catch (thrown: unknown) {
      return Promise.reject(unreadableOptionsError(thrown, this instanceof RuntimeSession ? undefined : "session"));
    }
  }

  /**
   * Starts a call as a background job. Resolves to the job as soon as its start is durable; see `Runtime.jobs`.
   * @throws ToolError with the code and message of the call's result if it is refused before it starts, such as `not_found` or `invalid_input`;
   * `not_simulatable` in a simulation; and as `execute`; as a rejection
   */
  async submit(call: ToolCall, options: SubmitOptions = NO_OPTIONS): Promise<JobStatus> {
    if (this.simulation !== undefined) throw noJobsError();
    checkSubmission(call, options);
    return jobOf(await this.execute(call, { ...options, background: true }));
  }

  /**
   * Holds one turn while `work` runs: the rounds of a loop, each a message of a model with its calls. It begins like a turn of `execute`, and calls
   * that `work` makes by `execute` belong to it. A round that is still open when `work` ends is voided.
   * @throws the error that `work` throws; ToolError `invalid_argument` once the session is closed; `cancelled` if the signal aborts before the turn
   * begins; all as rejections
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
   * Tries calls without a trace: in a branch of the session's current head, which is dropped afterwards. Does not wait for a running turn.
   *
   * Reads run; calls that change nothing but the session's state run on the state of the branch; every other call is answered by its engine's own
   * `simulate` or by the runtime's `standIn`, else it ends with `not_simulatable`.
   * @throws ToolError `invalid_argument` once the session is closed, as a rejection
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
   * Begins a branch: a session that continues from the current head and shares the history. Takes constant time, however long the history is. While a
   * turn runs, the branch begins before that turn.
   * @throws ToolError `invalid_argument` once the session is closed; `duplicate` for an id in use; `resource_busy` for an id that is being removed
   */
  fork(options: ForkOptions = {}): RuntimeSession {
    if (this.closed) throw closedSessionError(this);
    return this.#host.branches.branch(this, options);
  }

  /**
   * Begins a branch of the session as it was after its first `length` events, which it reads. The branch can be compared and discarded; `commit`
   * refuses it if the session has more events than those.
   * @throws ToolError `invalid_argument` for a length that the session does not have; `conflict` if a turn was running at that point; `not_forkable`
   * if an engine keeps session state remotely and cannot go back; as `fork`; as a rejection
   */
  forkAt(length: number, options: ForkOptions = {}): Promise<RuntimeSession> {
    return this.#host.branches.branchAt(this, length, options);
  }

  /**
   * Returns the changes of this branch since it began; for a stored branch, only its latest calls (see `log`). @throws ToolError `invalid_argument`
   * for a session that is not a branch
   */
  diff(): SessionDiff {
    if (this.#parent === undefined || this.#base === undefined) throw noBranchError(this);
    const pretended = this.simulation?.pretended ?? [];
    return { state: stateDiff(this.#base.state, this.stateMap), calls: historyOf(this.ownLog), pretended };
  }

  /**
   * Makes the changes of this branch part of the session that it came from, and closes the branch. Calls keep their ids, results and origins; nothing
   * is run again. Open sessions that its calls began continue, and belong to that session from now on. Waits for running calls of both.
   * @throws ToolError `conflict` at once if that session has more events since or was closed, if an engine cannot adopt the branch, or if the branch
   * was closed and removed; `resource_busy` while a job of the branch runs; `cancelled` if the signal aborts first; `invalid_argument` for a session
   * that is not a branch or was committed before; as a rejection
   */
  async commit(options: CommitOptions = {}): Promise<void> {
    checkKnownKeys(options, { signal: "AbortSignal" }, "commit()");
    if (this.#parent === undefined) throw noBranchError(this);
    await this.#host.branches.commit(this, this.#parent, options);
  }

  /**
   * Discards this branch: cancels its running calls, closes it, and removes it from the store unless other sessions branch off it. Open calls in
   * sessions that its calls began are ended. Until this ends, its id is not free. Idempotent, even if another session has the id since.
   * @throws ToolError `invalid_argument` for a session that is not a branch; `resource_busy` if it was closed and resumed; `store_failed`; as a
   * rejection
   */
  async discard(): Promise<void> {
    if (this.#parent === undefined) throw noBranchError(this);
    await this.#host.branches.discard(this);
  }

  /** Returns the session as JSON, to be stored or sent, and passed to `Runtime.session(id, { from })`. Waits for the running turn. */
  async snapshot(): Promise<SessionSnapshot> {
    return this.#host.snapshot(this);
  }

  /** Every recorded event, the oldest first; read page by page from a store. */
  events(): AsyncGenerator<SessionEvent> {
    return this.#host.events(this);
  }

  /** Calls the listener when a background job of this session asks something or has ended. The returned function removes the listener. */
  onJob(listener: (job: JobStatus) => void): () => void {
    checkArgument(typeof listener === "function", "onJob()", "a function", listener);
    return this.#services.jobs.listen(this.id, safeJobListener(listener, this.ports.log));
  }

  /**
   * The conversation as a model is shown it, the oldest first: at most `maxTurns` turns (50) of the events in memory, with calls paired with results
   * and, if asked, superseded results left out.
   * @throws ToolError `invalid_argument` for invalid options
   */
  messages(options: MessagesOptions = {}): readonly ModelMessage[] {
    checkMessagesOptions(options, "messages()");
    return buildMessages(this, this.registry, options);
  }

  /**
   * Closes the session here: further calls are refused, its jobs are cancelled, and engines end it once its running calls have ended; to end those
   * sooner, abort their signals. Its events in a store stay and can be resumed. Idempotent. Resolves when everything is written, and rejects if that
   * fails. For a handler of its own turn, it resolves at once, and the session ends after the turn.
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
    this.#closed?.abort(closedSessionError(this));
  }

  /** Aborts when the session is closed. */
  get whenClosed(): AbortSignal {
    if (this.#closed === undefined) {
      this.#closed = new AbortController();
      if (this.closed) this.#closed.abort(closedSessionError(this));
    }
    return this.#closed.signal;
  }

  /** How many of its events belong to the session that it branched from. @internal */
  get baseLength(): number {
    return this.#base?.length ?? 0;
  }

  override recordAll(events: readonly SessionEvent[]): void {
    const { length } = this;
    super.recordAll(events);
    const first = events[0]?.sessionId === this.id ? events[0] : undefined;
    // A key belongs to its session as soon as its batch is recorded, even if the store fails.
    if (first?.type === "batch-start" || first?.type === "batch-rollback") this.submissions.apply(first, length);
  }

  /** The batches that may be submitted again. @internal */
  get submissions(): Submissions {
    return (this.#submissions ??= new Submissions());
  }

  /** A new id for the next simulation of this session, which does not use up the ids of others. @internal */
  nextSimulationId(): string {
    return shortId(`${this.id}~${this.length}.${++this.#branches}`);
  }
}
