/** Work for a client that may need answers of the client before it is done, over any number of requests. */
import { formatCancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import { onAbort } from "../../core/base/on-abort.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";
import type { McpLogLevel } from "./client.ts";

export interface InputRequest {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params: JsonObject;
}

/** One JSON-RPC request of the client: the one that began the work, or a later one that brings answers. */
export interface ExchangeRound {
  readonly signal: AbortSignal;
  /** The answers in this request, by key. Untrusted. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Sends a request to the client at once; undefined in the era whose servers cannot. */
  readonly send: ((request: InputRequest, signal: AbortSignal) => Promise<unknown>) | undefined;
  notify(method: string, params: JsonObject): void;
  /** The token for progress reports; undefined if the client wants none. */
  readonly progressToken: string | number | undefined;
  /** Sends a log message, unless the client does not want messages of this level. */
  log(level: McpLogLevel, data: JsonValue, logger: string | undefined): void;
}

/** The response to a round: the result, or the input that the client must bring first. */
export type RoundResult<T> =
  | { readonly done: true; readonly result: T }
  | { readonly done: false; readonly requests: ReadonlyMap<string, InputRequest> };

interface PendingQuestion {
  readonly request: InputRequest;
  /** Takes an answer; returns false if it is invalid. */
  readonly accept: (answer: unknown) => boolean;
  readonly fail: (error: ToolError) => void;
}

export interface AskOptions<T> {
  /** The name of the request among those of its work. */
  readonly key: string;
  /** Converts an answer for the handler; undefined if it is invalid. */
  readonly read: (answer: unknown) => T | undefined;
  /** Its abort withdraws the request: the client is notified, or not asked at all. */
  readonly signal?: AbortSignal;
}

/** Questions of work that becomes a task. */
export interface TaskQuestions {
  /** Makes a key that was never used before from the key of a question. */
  readonly keyOf: (key: string) => string;
  /** Whether the task has begun: the client gets the task next, and questions then belong to the task. */
  readonly hasStarted: () => boolean;
}

export class Exchange<T> {
  readonly #abortController = new AbortController();
  readonly #pending = new Map<string, PendingQuestion>();
  readonly #work: Promise<RoundResult<T>>;
  #round: ExchangeRound | undefined;
  /** Keys of answers of this round that were taken. An answer belongs to the question that the client was shown under its key, not to a later one. */
  #usedKeys = new Set<string>();
  #respond: (() => void) | undefined;
  #hasEnded = false;
  /** Whether the client was sent a question while a round was open. */
  #hasSent = false;
  /** Number of sent questions without an answer. */
  #openQuestions = 0;
  #task: TaskQuestions | undefined;
  /** Set once the client has its response while the work continues. Called when a question is added or withdrawn. */
  #onChange: (() => void) | undefined;

  /** Begins the work at once, in the first round. */
  constructor(round: ExchangeRound, work: (exchange: Exchange<T>) => Promise<T>) {
    this.#round = round;
    this.#work = this.#run(work);
    this.#work.catch(() => {}); // the waiter gets the error
  }

  /** Aborts when the client cancels the work, or an answer does not arrive in time. */
  get signal(): AbortSignal {
    return this.#abortController.signal;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** The open round; undefined while no request waits for the work. */
  get round(): ExchangeRound | undefined {
    return this.#onChange === undefined ? this.#round : undefined;
  }

  /** Whether the client has an unanswered question. */
  get isAsking(): boolean {
    return this.#openQuestions > 0 || this.#pending.size > 0;
  }

  /** Questions that wait for an answer, by key. */
  get requests(): ReadonlyMap<string, InputRequest> {
    return new Map(Array.from(this.#pending, ([key, { request }]) => [key, request]));
  }

  /** Makes the work a task as soon as possible: once the task has begun, the client gets it before any question. */
  expectTask(task: TaskQuestions): void {
    this.#task = task;
  }

  /** Lets the work continue until `finish` although the client is answered now: its questions wait for `deliverAnswers`. */
  detach(onChange: () => void): void {
    this.#onChange = onChange;
  }

  /** Takes answers that arrive outside a round. Answers to no question are ignored; the question of an invalid answer is asked again. */
  deliverAnswers(answers: ReadonlyMap<string, unknown>): void {
    for (const [key, waiting] of this.#pending) {
      if (!answers.has(key) || !waiting.accept(answers.get(key))) continue;
      this.#usedKeys.add(key);
      this.#pending.delete(key);
    }
    this.#onChange?.();
  }

  /** Ends the work, and withdraws the questions that the client has not answered. */
  finish(): void {
    this.#hasEnded = true;
    if (this.#pending.size > 0) this.refusePending(cancelledError());
    if (this.#hasSent) this.#abortController.abort(cancelledError());
  }

  /** Runs until the work is done or waits for the client. Only one round may run at a time. */
  async runRound(round: ExchangeRound): Promise<RoundResult<T>> {
    this.#round = round;
    this.#usedKeys = new Set();
    const forget = onAbort(round.signal, () => this.cancel(formatCancelReason(round.signal, "the client cancelled it")));
    try {
      const needed = new Promise<void>((resolve) => {
        this.#respond = () => {
          if (this.#pending.size > 0) resolve();
        };
      });
      this.deliverAnswers(round.answers);
      if (this.#pending.size > 0) this.#respondSoon();
      return await Promise.race([this.#work, needed.then(() => this.#inputNeeded())]);
    } finally {
      forget();
      this.#round = undefined;
      this.#respond = undefined;
    }
  }

  /** Sends a request to the client. Resolves to what `read` returns for its answer. */
  async ask<A>(request: InputRequest, options: AskOptions<A>): Promise<A> {
    const { key, read, signal } = options;
    if (this.#hasEnded || this.#abortController.signal.aborted || signal?.aborted === true) throw cancelledError();
    const send = this.round?.send;
    if (send !== undefined) {
      const answer = read(await this.#sendNow(send, request, signal));
      if (answer === undefined) throw new ToolError("invalid_output", `The client did not give a valid answer to ${request.method}.`);
      return answer;
    }
    const early = this.#usedKeys.has(key) ? undefined : this.round?.answers.get(key);
    const known = early === undefined ? undefined : read(early);
    if (known === undefined) return await this.#queueQuestion(request, options);
    this.#usedKeys.add(key);
    return known;
  }

  /** Cancels all waiting questions, and the work if it observes its signal. */
  cancel(reason: string): void {
    if (this.#hasEnded || this.#abortController.signal.aborted) return;
    this.#abortController.abort(new ToolError("cancelled", reason));
    if (this.#pending.size > 0) this.refusePending(cancelledError());
  }

  /** Fails the waiting questions only; the work continues. */
  refusePending(error: ToolError): void {
    for (const waiting of this.#pending.values()) waiting.fail(error);
    this.#pending.clear();
  }

  async #run(work: (exchange: Exchange<T>) => Promise<T>): Promise<RoundResult<T>> {
    try {
      return { done: true, result: await work(this) };
    } finally {
      if (this.#onChange === undefined) this.finish();
    }
  }

  async #sendNow(send: NonNullable<ExchangeRound["send"]>, request: InputRequest, signal: AbortSignal | undefined): Promise<unknown> {
    this.#hasSent = true;
    this.#openQuestions++;
    try {
      return await send(
        request,
        signal === undefined ? this.#abortController.signal : AbortSignal.any([this.#abortController.signal, signal]),
      );
    } finally {
      this.#openQuestions--;
    }
  }

  async #queueQuestion<A>(request: InputRequest, { key, read, signal }: AskOptions<A>): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    let unique = this.#task?.keyOf(key) ?? key;
    for (let count = 2; this.#pending.has(unique); count++) unique = `${key}_${count}`;
    const accept = (answer: unknown): boolean => {
      const value = read(answer);
      if (value === undefined) return false;
      resolve(value);
      return true;
    };
    this.#pending.set(unique, { request, accept, fail: reject });
    const withdraw = (): void => {
      if (!this.#pending.delete(unique)) return;
      reject(cancelledError());
      this.#onChange?.();
    };
    signal?.addEventListener("abort", withdraw, { once: true });
    if (this.#onChange === undefined) this.#respondSoon();
    else this.#onChange();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", withdraw);
    }
  }

  /** Delays the response, so that requests made in the same turn are sent together. */
  #respondSoon(): void {
    onNextTurn(() => {
      if (this.#task?.hasStarted() !== true) this.#respond?.();
    });
  }

  #inputNeeded(): RoundResult<T> | Promise<RoundResult<T>> {
    if (this.#pending.size === 0) return this.#work;
    return { done: false, requests: this.requests };
  }
}

function cancelledError(): ToolError {
  return new ToolError("cancelled", "The client has disconnected, or the call has ended: the question cannot be asked any more.");
}
