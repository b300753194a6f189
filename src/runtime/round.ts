/** The calls of one message of a model, accepted while the message is still being written. */
import type { ContentPart } from "../core/content.ts";
import { formatCancelReason } from "../core/cancel-reason.ts";
import { checkRefusal } from "../core/check-argument.ts";
import { ToolError } from "../core/error.ts";
import { findUnknownKeyError, type OptionNames } from "../core/known-keys.ts";
import type { NativeMessage, SessionMessage } from "../core/message.ts";
import { FINISH_REASONS, endedWell, type ModelCall, type ModelReply } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { readUsage } from "../core/formats/token-usage.ts";
import { onAbort } from "../core/base/on-abort.ts";
import { dropWrittenResults } from "../call/cache/announce-write.ts";
import { Batch, admitNext, finalResults, type Admission, type AdmissionState } from "../call/batch.ts";
import { applyFlag, takeBackgroundFlag } from "../call/jobs/background-flag.ts";
import { CallRun, lockKeysOf, type AdmittedCall, type CallServices } from "../call/call-run.ts";
import type { CallOptions, ResultNotes } from "../call/call-options.ts";
import { approvalReason } from "../call/approve/approval-reason.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import { storeMessageFiles } from "../call/finish/store-artifacts.ts";
import { EventLoopBreaks } from "../call/event-loop-breaks.ts";
import { listNestedCalls, settleCalls } from "../call/context/call-tree.ts";
import { startCall, executeCall, type StartCallOptions } from "../call/pipeline.ts";
import { ResourceLocks } from "../policy/locks/resource-locks.ts";
import { copyContent } from "../session/copy-content.ts";
import { readNative } from "../session/read-message.ts";
import type { Turn } from "../session/turn.ts";

/** How the calls of a round are run. */
export interface RoundOptions extends Omit<ExecuteOptions, "idempotencyKey" | "onError" | "strict" | "concurrent"> {
  /** Returns metadata to keep with each result, besides that of its tool. */
  readonly metadata?: ResultNotes;
  /** The model was offered `run_in_background` with its tools: the flag is removed from the input of its calls. @default false */
  readonly offersBackground?: boolean;
}

/** Options of a call that is added to a round. */
export interface AddOptions {
  /** Ends the call with this error, without running its tool. */
  readonly refusal?: ToolError | undefined;
}

/** The model's message, once it is complete. */
export interface RoundReply extends Pick<ModelReply, "finish" | "usage"> {
  readonly content: string | readonly ContentPart[];
  readonly native?: NativeMessage;
  /** The provider's name of the model. */
  readonly model?: string;
  /** The tools that the provider ran itself, by its own names: those of `ModelReply.providerCalls`, without duplicates. @default none */
  readonly providerTools?: readonly string[];
}

/** The parts of a turn that a round needs. */
export interface RoundHost {
  readonly services: CallServices;
  readonly turn: Turn;
  readonly callOptions: CallOptions;
  readonly metadata: ResultNotes | undefined;
  readonly shown: RoundOptions["shown"];
  readonly signal: AbortSignal | undefined;
  readonly offersBackground: boolean;
  /** Why no more calls can be added; undefined if they can. */
  refusal(): ToolError | undefined;
  /** Holds results back until they are durable. */
  whenDurable(results: Promise<readonly ToolResult[]>): Promise<readonly ToolResult[]>;
  onEnd(): void;
}

/** Records the end of the round. @param message the message, with addresses in place of its files */
type RecordRoundEnd = (message: SessionMessage) => void;

const NO_ADD_OPTIONS: AddOptions = Object.freeze({});
const ADD_OPTIONS: OptionNames<AddOptions> = { refusal: true };
const EMPTY_MESSAGE: SessionMessage = Object.freeze({ role: "assistant", content: "" });
const NO_USAGE: ModelReply["usage"] = Object.freeze({ inputTokens: 0, outputTokens: 0 });

/**
 * One message of a model and its calls. A call is recorded when it is added, and has its result when the round ends, whether it was ended or voided.
 *
 * A call that only reads starts as soon as it is added, unless an earlier call that still waits would write what it reads. All other calls start when
 * the round ends well, in call order: writes, calls of undeclared, external, destructive or composite tools, of tools that run once a turn or end it,
 * calls that need a person's approval, calls of sequential engines, and calls whose input is not complete JSON.
 */
export class Round {
  readonly #host: RoundHost;
  readonly #options: StartCallOptions;
  readonly #runs: CallRun[] = [];
  /** In call order, for the calls that were admitted or refused so far. */
  readonly #states: AdmissionState[] = [];
  readonly #ids = new Set<string>();
  /** Locks that order this message's waiting calls by the keys that they touch. */
  readonly #lockQueue = new ResourceLocks();
  readonly #removeAbortListener: (() => void) | undefined;
  #admission: Promise<void> | undefined;
  /** Set while calls are being admitted further up the stack: calls that a tool or a listener adds meanwhile are admitted there. */
  #isAdmitting = false;
  #results: Promise<readonly ToolResult[]> | undefined;
  /** Number of characters of the message written so far. */
  #written = 0;

  constructor(host: RoundHost) {
    this.#host = host;
    const { callOptions, metadata, offersBackground, shown, signal, turn } = host;
    this.#options = { ...callOptions, metadata, inRound: true, takesFlag: offersBackground ? true : undefined };
    turn.beginRound(shown);
    this.#removeAbortListener = signal === undefined ? undefined : onAbort(signal, () => this.#cancelAll(formatCancelReason(signal)));
  }

  /**
   * Adds the next call of the message, which must be complete. Returns the id under which it is recorded.
   *
   * @throws ToolError `invalid_argument` if the round has ended, the session is closed, or `refusal` is not a ToolError
   */
  add(call: ModelCall, options: AddOptions = NO_ADD_OPTIONS): string {
    // untyped programs may pass null
    const unknown = options === NO_ADD_OPTIONS ? undefined : findUnknownKeyError(options ?? NO_ADD_OPTIONS, ADD_OPTIONS, "add()");
    if (unknown !== undefined) throw unknown;
    const refusal = options?.refusal;
    if (refusal !== undefined) checkRefusal(refusal, "add()", "takes a ToolError as refusal");
    const refusalError = this.#results === undefined ? this.#host.refusal() : new ToolError("invalid_argument", "The round is over.");
    if (refusalError !== undefined) throw refusalError;
    const { signal } = this.#host;
    const run = this.#startCall(call);
    run.refusal ??= refusal;
    if (signal?.aborted === true) run.cancel(formatCancelReason(signal));
    this.#runs.push(run);
    this.#admission ??= this.#admit();
    return run.callId;
  }

  /**
   * Sends text of the message to listeners while the model writes it (`round-text`). Nothing is recorded before the end, which has the whole message.
   */
  write(text: string): void {
    const { services, turn } = this.#host;
    const position = this.#written;
    this.#written += text.length;
    if (!services.listening || this.#results !== undefined || !turn.session.recorded || !this.#options.recordHistory) return;
    const { clock } = services.ports;
    const madeIn = turn.parentCall === undefined ? {} : { parentCallId: turn.parentCall.callId };
    services.emit({ type: "round-text", sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), position, text, ...madeIn });
  }

  /**
   * Ends the round with the complete message: it is recorded, and waiting calls start. Resolves to one result for each call, in call order, once the
   * results are durable. A message whose `finish` says that it is incomplete is voided instead.
   *
   * @throws ToolError `invalid_argument` if the round has ended already; `not_json` or `too_large` for content that cannot be recorded, in which case
   * the round is voided; `store_failed`; as a rejection
   */
  end(reply: RoundReply): Promise<readonly ToolResult[]> {
    if (this.#results !== undefined) return Promise.reject(new ToolError("invalid_argument", "The round is over."));
    if (typeof reply !== "object" || reply === null)
      return Promise.reject(new ToolError("invalid_argument", "end() takes the reply: { content, finish, usage }."));
    const isWhole = endedWell(reply.finish) || (this.#runs.length === 0 && reply.finish !== "truncated" && reply.finish !== "error");
    if (!isWhole) return this.void(`the message of the model ended with ${JSON.stringify(reply.finish)}`, reply);
    const message = readReplyMessage(reply);
    if (message instanceof ToolError) return this.#voidAndThrow(message);
    return this.#close((stored) => this.#record(stored, reply), storeMessageFiles(this.#host.services, this.#host.turn.session, message));
  }

  /** Voids the message: cancels its calls and their nested calls. The round stays in the log, but is not shown to the model. Idempotent. */
  void(reason: string, reply: Partial<RoundReply> = {}): Promise<readonly ToolResult[]> {
    if (this.#results !== undefined) return this.#results;
    const emptyReply = { content: "", finish: "truncated", usage: NO_USAGE, ...reply } as const;
    const message = readReplyMessage(emptyReply);
    return this.#close(
      () => this.#record(message instanceof ToolError ? EMPTY_MESSAGE : message, emptyReply, reason),
      EMPTY_MESSAGE,
      reason,
    );
  }

  async #voidAndThrow(error: ToolError): Promise<never> {
    await this.void(`the message cannot be recorded: ${error.message}`);
    throw error;
  }

  /** Ends the round, at once also for listeners that are called from here. @param voided why its calls are cancelled */
  #close(record: RecordRoundEnd, message: SessionMessage | Promise<SessionMessage>, voided?: string): Promise<readonly ToolResult[]> {
    const { promise, resolve } = Promise.withResolvers<readonly ToolResult[]>();
    this.#results = promise;
    if (voided === undefined) this.#host.turn.confirmRound();
    else for (const run of [...this.#runs, ...this.#nested]) run.revoke(voided);
    resolve(this.#finish(record, message, voided !== undefined));
    return promise;
  }

  async #finish(
    record: RecordRoundEnd,
    message: SessionMessage | Promise<SessionMessage>,
    isVoid: boolean,
  ): Promise<readonly ToolResult[]> {
    const { services } = this.#host;
    try {
      if (this.#isAdmitting) await Promise.resolve(); // until the admission is no longer further up the stack
      if (this.#admission !== undefined) await this.#admission;
      record(message instanceof Promise ? await message : message);
      const batch = new Batch(this.#runs, new EventLoopBreaks(services.ports.clock), { states: this.#states });
      return await this.#host.whenDurable(isVoid ? this.#startVoided(batch) : batch.start());
    } finally {
      this.#removeAbortListener?.();
      settleCalls(this.#host.turn, this.#runs);
      this.#host.onEnd();
    }
  }

  /**
   * Ends the calls of a voided message. The model has not seen them: once all have ended, their state changes and those of nested calls are undone.
   */
  async #startVoided(batch: Batch): Promise<readonly ToolResult[]> {
    const { services, turn } = this.#host;
    const results = await batch.start();
    const nested = this.#nested;
    const all = new Set([...this.#runs, ...nested]); // its background jobs run until they are cancelled
    if (all.values().some((run) => run.result === undefined)) await services.running.whenEnded((run) => all.has(run));
    turn.session.undoStateChanges(all);
    nested.forEach(dropWrittenResults); // cached answers read from the state are outdated
    return finalResults(this.#runs, results);
  }

  /** The nested calls of the message's calls, at any depth. */
  get #nested(): readonly CallRun[] {
    return listNestedCalls(this.#host.turn, this.#runs);
  }

  /** Admits the calls that are not admitted yet, in call order; not reentrant. */
  #admit(): Promise<void> | undefined {
    const waiting = this.#isAdmitting ? undefined : this.#admitReady();
    return waiting === undefined ? undefined : this.#admitRemaining(waiting);
  }

  /** Admits calls, up to the first whose admission is asynchronous. */
  #admitReady(): { readonly run: CallRun; readonly admission: Promise<Admission> } | undefined {
    this.#isAdmitting = true;
    try {
      for (let run = this.#nextRun; run !== undefined; run = this.#nextRun) {
        const admission = admitNext(run, this.#ids);
        if (admission instanceof Promise) return { run, admission };
        this.#applyAdmission(admission);
      }
      return undefined;
    } finally {
      this.#isAdmitting = false;
    }
  }

  get #nextRun(): CallRun | undefined {
    return this.#runs[this.#states.length];
  }

  async #admitRemaining(first: { readonly run: CallRun; readonly admission: Promise<Admission> }): Promise<void> {
    for (let next: typeof first | undefined = first; next !== undefined; next = this.#admitReady())
      this.#applyAdmission(await next.admission);
    this.#admission = undefined;
  }

  #applyAdmission({ state }: Admission): void {
    const index = this.#states.push(state) - 1;
    if (!(state instanceof CallRun)) return;
    if (this.#mayStart(state)) this.#states[index] = executeCall(state);
    else state.releaseProcess(); // no caller waits for it until the round ends
  }

  /** Whether the call may run before the message is known to be complete. A call that may not keeps its place in the queue before later ones. */
  #mayStart(run: AdmittedCall): boolean {
    const ticket = this.#lockQueue.request({ owner: run.callId, ...lockKeysOf(run) });
    if (!ticket.granted || !mayStartEarly(run)) return false;
    ticket.release();
    return true;
  }

  #record(message: SessionMessage, { finish, usage, model, providerTools = [] }: RoundReply, voided?: string): void {
    const { turn } = this.#host;
    const { session } = turn;
    if (!session.recorded) return;
    const nested = voided === undefined ? [] : this.#nested.filter((run) => run.isLogged);
    const { recordHistory } = this.#options;
    if (!recordHistory && nested.length === 0) return;
    session.recordAndNotify({
      type: "round-end",
      sessionId: session.id,
      turnId: turn.id,
      at: this.#host.services.ports.clock.wallTime(),
      callIds: Object.freeze([...this.#runs, ...nested].map((run) => run.callId)),
      ...(turn.parentCall === undefined ? {} : { parentCallId: turn.parentCall.callId }),
      message: recordHistory ? message : EMPTY_MESSAGE,
      finish: FINISH_REASONS.includes(finish) ? finish : "other",
      usage: Object.freeze(recordHistory ? readUsage(usage) : NO_USAGE),
      ...(model === undefined || !recordHistory ? {} : { model }),
      ...(providerTools.length === 0 ? {} : { providerTools: Object.freeze(providerTools.map(String)) }),
      ...(voided === undefined ? {} : { voided }),
    });
  }

  #startCall(call: ModelCall): CallRun {
    const { services, turn } = this.#host;
    const run = startCall(services, turn, withoutKind(call), this.#options);
    if (run.takesFlag === undefined) return run;
    const flagged = takeBackgroundFlag(run.call, services.registry);
    if (flagged === undefined) return run;
    run.call = { ...run.call, input: flagged.input };
    applyFlag(run, flagged);
    return run;
  }

  #cancelAll(reason: string): void {
    for (const run of this.#runs) run.cancel(reason);
  }
}

function mayStartEarly(run: AdmittedCall): boolean {
  const { effects, route, call, plan } = run;
  if (route.rules.isPretended || typeof call.input === "string" || plan.tool.composite === true) return false;
  if (effects.undeclared || effects.writes.length > 0 || effects.external || effects.destructive) return false;
  if (route.engine.order === "sequential" || plan.hasTurnRule) return false;
  return approvalReason(run, false) === undefined;
}

/**
 * Removes the kind of a call, except that of a provider's question, because no other kind affects how a call is run. A value that is not a call is
 * recorded and answered as it is.
 */
function withoutKind(call: ModelCall): ModelCall {
  if (typeof call !== "object" || call === null) return call;
  const { kind, ...rest } = call;
  return kind === "approval" ? call : rest;
}

/** The message to record; an error if it cannot be recorded. */
function readReplyMessage({ content, native }: RoundReply): SessionMessage | ToolError {
  try {
    return Object.freeze({
      role: "assistant",
      content: typeof content === "string" ? content : copyContent(content),
      ...(native === undefined ? {} : { native: readNative(native) }),
    });
  } catch (thrown: unknown) {
    return ToolError.fromUnknown(thrown, "not_json");
  }
}
