/** The calls of one message of a model, taken while it is still being said. */
import type { ContentPart } from "../core/content.ts";
import { cancelReason } from "../core/cancel-reason.ts";
import { ToolError } from "../core/error.ts";
import { unknownKey, type OptionNames } from "../core/known-keys.ts";
import type { NativeMessage, SessionMessage } from "../core/message.ts";
import { FINISH_REASONS, endedWell, type ModelCall, type ModelReply } from "../core/model.ts";
import type { ToolResult } from "../core/result.ts";
import { readUsage } from "../core/token-usage.ts";
import { onAbort } from "../policy/attempts/deadline.ts";
import { dropWritten } from "../call/cache/announce-write.ts";
import { Batch, admitNext, finalResults, type Admission, type Standing } from "../call/batch.ts";
import { takeBackgroundFlag } from "../call/jobs/background-flag.ts";
import { CallRun, lockKeysOf, type AdmittedCall, type CallParts } from "../call/call-run.ts";
import type { CallOptions, ResultNotes } from "../call/call-options.ts";
import { approvalNeed } from "../call/context/composite.ts";
import type { ExecuteOptions } from "../call/execute-options.ts";
import { keepMessageFiles } from "../call/finish/keep-artifacts.ts";
import { LoopBreaks } from "../call/loop-breaks.ts";
import { nestedIn, settle } from "../call/context/call-tree.ts";
import { beginCall, executeCall } from "../call/pipeline.ts";
import { ResourceLocks } from "../policy/locks/resource-locks.ts";
import { copyContent } from "../session/copy-content.ts";
import { readNative } from "../session/read-message.ts";
import type { Turn } from "../session/turn.ts";

/** How the calls of a round are run. */
export interface RoundOptions extends Omit<ExecuteOptions, "idempotencyKey" | "onError" | "strict" | "concurrent"> {
  /** Returns metadata to keep with each result, besides that of its tool. */
  readonly metadata?: ResultNotes;
  /** The model was offered `run_in_background` with its tools: it is taken out of what a call is run with. @default false */
  readonly offersBackground?: boolean;
}

/** Options of one call that is added to a round. */
export interface AddOptions {
  /** Ends the call with this, and its tool is not run. */
  readonly refusal?: ToolError | undefined;
}

/** The model's message, once it is whole. */
export interface RoundReply extends Pick<ModelReply, "finish" | "usage"> {
  readonly content: string | readonly ContentPart[];
  readonly native?: NativeMessage;
  /** As the provider names it. */
  readonly model?: string;
  /** The tools that the provider ran itself for the message, as it names them: those of `ModelReply.providerCalls`, each once. @default none */
  readonly providerTools?: readonly string[];
}

/** The parts of a turn that a round needs. */
export interface RoundHost {
  readonly parts: CallParts;
  readonly turn: Turn;
  readonly callOptions: CallOptions;
  readonly metadata: ResultNotes | undefined;
  readonly shown: RoundOptions["shown"];
  readonly signal: AbortSignal | undefined;
  readonly offersBackground: boolean;
  /** Why nothing more may be called; undefined while it may. */
  refusal(): ToolError | undefined;
  /** Holds results back until a crash cannot take them back. */
  whenDurable(results: Promise<readonly ToolResult[]>): Promise<readonly ToolResult[]>;
  ended(): void;
}

/** Records the end of the round. @param said the message, with addresses in place of its files */
type RecordRound = (said: SessionMessage) => void;

const NO_ADD_OPTIONS: AddOptions = Object.freeze({});
const ADD_OPTIONS: OptionNames<AddOptions> = { refusal: true };
const NOTHING_SAID: SessionMessage = Object.freeze({ role: "assistant", content: "" });
const NO_USAGE: ModelReply["usage"] = Object.freeze({ inputTokens: 0, outputTokens: 0 });

/**
 * One message of a model and its calls. A call is recorded when it is added, and has its result when the round is over, whichever way.
 *
 * A call that only reads starts as soon as it is added, unless a call before it that still waits would write what it reads. All others
 * (writes, calls of undeclared, external, destructive or composite tools, of tools that run once a turn or end it, those that a person has to
 * approve, those of engines that answer in sequence, and those whose input is not whole JSON) start when the round is ended well, in call
 * order.
 */
export class Round {
  readonly #host: RoundHost;
  readonly #options: CallOptions & { readonly inRound: true };
  readonly #runs: CallRun[] = [];
  /** In call order, of those that were admitted or refused. */
  readonly #standings: Standing[] = [];
  readonly #ids = new Set<string>();
  /** The calls of this message that wait, in line with what they touch. */
  readonly #line = new ResourceLocks();
  readonly #forget: (() => void) | undefined;
  #admission: Promise<void> | undefined;
  /** Calls are being admitted further up the stack: what is added meanwhile, by a tool or a listener, is admitted there. */
  #isAdmitting = false;
  #over: Promise<readonly ToolResult[]> | undefined;
  /** How many characters of the message were written. */
  #written = 0;

  constructor(host: RoundHost) {
    this.#host = host;
    const { callOptions, metadata, shown, signal, turn } = host;
    this.#options = { ...callOptions, metadata, inRound: true };
    turn.beginRound(shown);
    this.#forget = signal === undefined ? undefined : onAbort(signal, () => this.#cancelAll(cancelReason(signal)));
  }

  /**
   * Takes the next call of the message; it must be whole. Returns the id that it is recorded by.
   *
   * @throws ToolError `invalid_argument` when the round is over or the session closed
   */
  add(call: ModelCall, options: AddOptions = NO_ADD_OPTIONS): string {
    const unknown = options === NO_ADD_OPTIONS ? undefined : unknownKey(options ?? NO_ADD_OPTIONS, ADD_OPTIONS, "add()"); // a program without types may give null
    if (unknown !== undefined) throw unknown;
    const refusal = options?.refusal;
    const wrong = this.#over === undefined ? this.#host.refusal() : new ToolError("invalid_argument", "The round is over.");
    if (wrong !== undefined) throw wrong;
    const { signal } = this.#host;
    const run = this.#begin(call);
    run.refusal ??= refusal;
    if (signal?.aborted === true) run.cancel(cancelReason(signal));
    this.#runs.push(run);
    this.#admission ??= this.#admit();
    return run.callId;
  }

  /** Tells listeners of text of the message while the model writes it (`round-text`). Nothing is recorded before the end, which has the message whole. */
  write(text: string): void {
    const { parts, turn } = this.#host;
    const position = this.#written;
    this.#written += text.length;
    if (!parts.listening || this.#over !== undefined || !turn.session.recorded || !this.#options.recordHistory) return;
    const { clock } = parts.ports;
    const madeIn = turn.madeIn === undefined ? {} : { parentCallId: turn.madeIn.callId };
    parts.emit({ type: "round-text", sessionId: turn.session.id, turnId: turn.id, at: clock.wallTime(), position, text, ...madeIn });
  }

  /**
   * The message is over and whole: it is recorded, and what waits starts. Resolves to one result for each call, in call order, once
   * they are durable. A message whose `finish` says that it is not whole is voided instead.
   *
   * @throws ToolError `invalid_argument` when the round is over already; `not_json` or `too_large` for content that cannot be recorded,
   * and the round is voided; `store_failed`. By rejecting
   */
  end(reply: RoundReply): Promise<readonly ToolResult[]> {
    if (this.#over !== undefined) return Promise.reject(new ToolError("invalid_argument", "The round is over."));
    if (typeof reply !== "object" || reply === null)
      return Promise.reject(new ToolError("invalid_argument", "end() takes the reply: { content, finish, usage }."));
    const isWhole = endedWell(reply.finish) || (this.#runs.length === 0 && reply.finish !== "truncated" && reply.finish !== "error");
    if (!isWhole) return this.void(`the message of the model ended with ${JSON.stringify(reply.finish)}`, reply);
    const message = readSaid(reply);
    if (message instanceof ToolError) return this.#refuse(message);
    return this.#close(
      (said) => this.#record(said, reply),
      undefined,
      keepMessageFiles(this.#host.parts, this.#host.turn.session, message),
    );
  }

  /**
   * The message is voided: what waits or runs is cancelled, and so is what its handlers called. The round stays in the log, and the
   * model is not shown it. Idempotent.
   */
  void(reason: string, reply: Partial<RoundReply> = {}): Promise<readonly ToolResult[]> {
    if (this.#over !== undefined) return this.#over;
    const said = { content: "", finish: "truncated", usage: NO_USAGE, ...reply } as const;
    const message = readSaid(said);
    return this.#close(() => this.#record(message instanceof ToolError ? NOTHING_SAID : message, said, reason), reason);
  }

  async #refuse(error: ToolError): Promise<never> {
    await this.void(`the message cannot be recorded: ${error.message}`);
    throw error;
  }

  /** From here on the round is over, also for listeners that are called on the way. @param voided why its calls are cancelled */
  #close(
    record: RecordRound,
    voided?: string,
    message: SessionMessage | Promise<SessionMessage> = NOTHING_SAID,
  ): Promise<readonly ToolResult[]> {
    const { promise, resolve } = Promise.withResolvers<readonly ToolResult[]>();
    this.#over = promise;
    if (voided === undefined) this.#host.turn.keepRound();
    else for (const run of [...this.#runs, ...this.#nested]) run.takeBack(voided);
    resolve(this.#finish(record, message, voided !== undefined));
    return promise;
  }

  async #finish(record: RecordRound, message: SessionMessage | Promise<SessionMessage>, isVoid: boolean): Promise<readonly ToolResult[]> {
    const { parts } = this.#host;
    try {
      if (this.#isAdmitting) await Promise.resolve(); // until the admission is not further up the stack any more
      if (this.#admission !== undefined) await this.#admission;
      record(message instanceof Promise ? await message : message);
      const batch = new Batch(this.#runs, new LoopBreaks(parts.ports.clock), { standings: this.#standings });
      return await this.#host.whenDurable(isVoid ? this.#startVoided(batch) : batch.start());
    } finally {
      this.#forget?.();
      settle(this.#host.turn, this.#runs);
      this.#host.ended();
    }
  }

  /** The model has seen none of these calls: what they and those made in them changed in the state is taken back once all have ended. */
  async #startVoided(batch: Batch): Promise<readonly ToolResult[]> {
    const { parts, turn } = this.#host;
    const results = await batch.start();
    const nested = this.#nested;
    const all = new Set([...this.#runs, ...nested]); // background jobs of it run until they are cancelled
    if (all.values().some((run) => run.result === undefined)) await parts.running.whenEnded((run) => all.has(run));
    turn.takeBackRound(new Set(Array.from(all, (run) => run.callId)));
    nested.forEach(dropWritten); // what was read from the state is out of date
    return finalResults(this.#runs, results);
  }

  /** The calls that were made in those of the message, at any depth. */
  get #nested(): readonly CallRun[] {
    return nestedIn(this.#host.turn, this.#runs);
  }

  /** Admits what is not admitted yet, in call order; a call that is added meanwhile does not start again. */
  #admit(): Promise<void> | undefined {
    const waiting = this.#isAdmitting ? undefined : this.#admitReady();
    return waiting === undefined ? undefined : this.#goOn(waiting);
  }

  /** Admits calls up to the first whose admission has to be waited for. */
  #admitReady(): { readonly run: CallRun; readonly admission: Promise<Admission> } | undefined {
    this.#isAdmitting = true;
    try {
      for (let run = this.#nextRun; run !== undefined; run = this.#nextRun) {
        const admission = admitNext(run, this.#ids);
        if (admission instanceof Promise) return { run, admission };
        this.#take(admission);
      }
      return undefined;
    } finally {
      this.#isAdmitting = false;
    }
  }

  get #nextRun(): CallRun | undefined {
    return this.#runs[this.#standings.length];
  }

  async #goOn(first: { readonly run: CallRun; readonly admission: Promise<Admission> }): Promise<void> {
    for (let next: typeof first | undefined = first; next !== undefined; next = this.#admitReady()) this.#take(await next.admission);
    this.#admission = undefined;
  }

  #take({ standing }: Admission): void {
    const index = this.#standings.push(standing) - 1;
    if (!(standing instanceof CallRun)) return;
    if (this.#mayStart(standing)) this.#standings[index] = executeCall(standing);
    else standing.releaseProcess(); // until the round is ended, no caller waits for it
  }

  /** Whether the call may run before the message is known to be whole. One that may not keeps its place in line before later ones. */
  #mayStart(run: AdmittedCall): boolean {
    const ticket = this.#line.request({ owner: run.callId, ...lockKeysOf(run) });
    if (!ticket.granted || !isEarly(run)) return false;
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
    session.recordAndTell({
      type: "round-end",
      sessionId: session.id,
      turnId: turn.id,
      at: this.#host.parts.ports.clock.wallTime(),
      callIds: Object.freeze([...this.#runs, ...nested].map((run) => run.callId)),
      ...(turn.madeIn === undefined ? {} : { parentCallId: turn.madeIn.callId }),
      message: recordHistory ? message : NOTHING_SAID,
      finish: FINISH_REASONS.includes(finish) ? finish : "other",
      usage: Object.freeze(recordHistory ? readUsage(usage) : NO_USAGE),
      ...(model === undefined || !recordHistory ? {} : { model }),
      ...(providerTools.length === 0 ? {} : { providerTools: Object.freeze(providerTools.map(String)) }),
      ...(voided === undefined ? {} : { voided }),
    });
  }

  #begin(call: ModelCall): CallRun {
    const { parts, turn, offersBackground } = this.#host;
    const run = beginCall(parts, turn, withoutKind(call), this.#options);
    const taken = offersBackground ? takeBackgroundFlag(run.call, parts.registry) : undefined;
    if (taken === undefined) return run;
    run.call = taken.call;
    run.background = taken.background;
    return run;
  }

  #cancelAll(reason: string): void {
    for (const run of this.#runs) run.cancel(reason);
  }
}

function isEarly(run: AdmittedCall): boolean {
  const { effects, route, call, plan } = run;
  if (route.rules.isPretended || typeof call.input === "string" || plan.tool.composite === true) return false;
  if (effects.undeclared || effects.writes.length > 0 || effects.external || effects.destructive) return false;
  if (route.engine.order === "sequential" || plan.hasTurnRule) return false;
  return approvalNeed(run, false) === undefined;
}

/** A value that is not a call is recorded as it is, and answered as such. Only the kind of a provider's question says how a call is run. */
function withoutKind(call: ModelCall): ModelCall {
  if (typeof call !== "object" || call === null) return call;
  const { kind, ...rest } = call;
  return kind === "approval" ? call : rest;
}

/** The recorded message; an error when it cannot be recorded. */
function readSaid({ content, native }: RoundReply): SessionMessage | ToolError {
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
