/** Work for a client that may need answers of the client before it is done, over any number of requests. */
import { cancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import { onAbort } from "../../policy/attempts/deadline.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
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
export type ExchangeRoundEnd<T> =
  | { readonly done: true; readonly result: T }
  | { readonly done: false; readonly requests: ReadonlyMap<string, InputRequest> };

interface Waiting {
  readonly request: InputRequest;
  /** Takes an answer; returns false if it is invalid. */
  readonly take: (answer: unknown) => boolean;
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
  readonly hasBegun: () => boolean;
}

export class Exchange<T> {
  readonly #stop = new AbortController();
  readonly #waiting = new Map<string, Waiting>();
  readonly #work: Promise<ExchangeRoundEnd<T>>;
  #round: ExchangeRound | undefined;
  /** Keys of answers of this round that were taken. An answer belongs to the question that the client was shown under its key, not to a later one. */
  #taken = new Set<string>();
  #wake: (() => void) | undefined;
  #over = false;
  /** Whether the client was sent a question while a round was open. */
  #hasSent = false;
  /** Number of sent questions without an answer. */
  #sending = 0;
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
    return this.#stop.signal;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The open round; undefined while no request waits for the work. */
  get round(): ExchangeRound | undefined {
    return this.#onChange === undefined ? this.#round : undefined;
  }

  /** Whether the client has an unanswered question. */
  get isAsking(): boolean {
    return this.#sending > 0 || this.#waiting.size > 0;
  }

  /** Questions that wait for an answer, by key. */
  get requests(): ReadonlyMap<string, InputRequest> {
    return new Map(Array.from(this.#waiting, ([key, { request }]) => [key, request]));
  }

  /** Makes the work a task as soon as possible: once the task has begun, the client gets it before any question. */
  expectTask(task: TaskQuestions): void {
    this.#task = task;
  }

  /** Lets the work continue until `finish` although the client is answered now: its questions wait for `deliver`. */
  detach(onChange: () => void): void {
    this.#onChange = onChange;
  }

  /** Takes answers that arrive outside a round. Answers to no question are ignored; the question of an invalid answer is asked again. */
  deliver(answers: ReadonlyMap<string, unknown>): void {
    for (const [key, waiting] of this.#waiting) {
      if (!answers.has(key) || !waiting.take(answers.get(key))) continue;
      this.#taken.add(key);
      this.#waiting.delete(key);
    }
    this.#onChange?.();
  }

  /** Ends the work, and withdraws the questions that the client has not answered. */
  finish(): void {
    this.#over = true;
    if (this.#waiting.size > 0) this.refuseWaiting(calledOff());
    if (this.#hasSent) this.#stop.abort(calledOff());
  }

  /** Runs until the work is done or waits for the client. Only one round may run at a time. */
  async serve(round: ExchangeRound): Promise<ExchangeRoundEnd<T>> {
    this.#round = round;
    this.#taken = new Set();
    const forget = onAbort(round.signal, () => this.cancel(cancelReason(round.signal, "the client cancelled it")));
    try {
      const needed = new Promise<void>((resolve) => {
        this.#wake = () => {
          if (this.#waiting.size > 0) resolve();
        };
      });
      this.deliver(round.answers);
      if (this.#waiting.size > 0) this.#wakeSoon();
      return await Promise.race([this.#work, needed.then(() => this.#needs())]);
    } finally {
      forget();
      this.#round = undefined;
      this.#wake = undefined;
    }
  }

  /** Sends a request to the client. Resolves to what `read` returns for its answer. */
  async ask<A>(request: InputRequest, options: AskOptions<A>): Promise<A> {
    const { key, read, signal } = options;
    if (this.#over || this.#stop.signal.aborted || signal?.aborted === true) throw calledOff();
    const send = this.round?.send;
    if (send !== undefined) {
      const answer = read(await this.#sent(send, request, signal));
      if (answer === undefined) throw new ToolError("invalid_output", `The client did not give a valid answer to ${request.method}.`);
      return answer;
    }
    const early = this.#taken.has(key) ? undefined : this.round?.answers.get(key);
    const known = early === undefined ? undefined : read(early);
    if (known === undefined) return await this.#wait(request, options);
    this.#taken.add(key);
    return known;
  }

  /** Cancels all waiting questions, and the work if it observes its signal. */
  cancel(reason: string): void {
    if (this.#over || this.#stop.signal.aborted) return;
    this.#stop.abort(new ToolError("cancelled", reason));
    if (this.#waiting.size > 0) this.refuseWaiting(calledOff());
  }

  /** Fails the waiting questions only; the work continues. */
  refuseWaiting(error: ToolError): void {
    for (const waiting of this.#waiting.values()) waiting.fail(error);
    this.#waiting.clear();
  }

  async #run(work: (exchange: Exchange<T>) => Promise<T>): Promise<ExchangeRoundEnd<T>> {
    try {
      return { done: true, result: await work(this) };
    } finally {
      if (this.#onChange === undefined) this.finish();
    }
  }

  async #sent(send: NonNullable<ExchangeRound["send"]>, request: InputRequest, signal: AbortSignal | undefined): Promise<unknown> {
    this.#hasSent = true;
    this.#sending++;
    try {
      return await send(request, signal === undefined ? this.#stop.signal : AbortSignal.any([this.#stop.signal, signal]));
    } finally {
      this.#sending--;
    }
  }

  async #wait<A>(request: InputRequest, { key, read, signal }: AskOptions<A>): Promise<A> {
    const { promise, resolve, reject } = Promise.withResolvers<A>();
    let unique = this.#task?.keyOf(key) ?? key;
    for (let count = 2; this.#waiting.has(unique); count++) unique = `${key}_${count}`;
    const take = (answer: unknown): boolean => {
      const value = read(answer);
      if (value === undefined) return false;
      resolve(value);
      return true;
    };
    this.#waiting.set(unique, { request, take, fail: reject });
    const withdraw = (): void => {
      if (!this.#waiting.delete(unique)) return;
      reject(calledOff());
      this.#onChange?.();
    };
    signal?.addEventListener("abort", withdraw, { once: true });
    if (this.#onChange === undefined) this.#wakeSoon();
    else this.#onChange();
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", withdraw);
    }
  }

  /** Delays the response, so that requests made in the same turn are sent together. */
  #wakeSoon(): void {
    setImmediate(() => {
      if (this.#task?.hasBegun() !== true) this.#wake?.();
    });
  }

  #needs(): ExchangeRoundEnd<T> | Promise<ExchangeRoundEnd<T>> {
    if (this.#waiting.size === 0) return this.#work;
    return { done: false, requests: this.requests };
  }
}

function calledOff(): ToolError {
  return new ToolError("cancelled", "The client has disconnected, or the call has ended: the question cannot be asked any more.");
}
