/** One piece of work for a client that may ask the client something before it is done, over as many requests as that takes. */
import { cancelReason } from "../../core/cancel-reason.ts";
import { ToolError } from "../../core/error.ts";
import { onAbort } from "../../policy/attempts/deadline.ts";
import type { JsonObject, JsonValue } from "../../core/base/json.ts";
import type { McpLogLevel } from "./client.ts";

/** A request that is put to the client. */
export interface InputRequest {
  readonly method: "elicitation/create" | "sampling/createMessage" | "roots/list";
  readonly params: JsonObject;
}

/** One JSON-RPC request of the client: the one that began the work, or a later one that brings what was asked for. */
export interface ExchangeRound {
  readonly signal: AbortSignal;
  /** The answers that it brought, by key. Untrusted. */
  readonly answers: ReadonlyMap<string, unknown>;
  /** Puts a request to the client at once; undefined in the era whose servers cannot. */
  readonly send: ((request: InputRequest, signal: AbortSignal) => Promise<unknown>) | undefined;
  notify(method: string, params: JsonObject): void;
  /** Names the request in reports of its progress; undefined where the client wants none. */
  readonly progressToken: string | number | undefined;
  /** Dropped where the client does not want messages of this level. */
  log(level: McpLogLevel, data: JsonValue, logger: string | undefined): void;
}

/** The response to a round: the result, or the input that the client must bring first. */
export type ExchangeRoundEnd<T> =
  | { readonly done: true; readonly result: T }
  | { readonly done: false; readonly requests: ReadonlyMap<string, InputRequest> };

interface Waiting {
  readonly request: InputRequest;
  /** Takes an answer; false when it is none. */
  readonly take: (answer: unknown) => boolean;
  readonly fail: (error: ToolError) => void;
}

export interface AskOptions<T> {
  /** The name of the request among those of its work. */
  readonly key: string;
  /** Makes of an answer what the handler gets; undefined when it is not one. */
  readonly read: (answer: unknown) => T | undefined;
  /** Aborts when the answer is not waited for any more: the client is notified, or not asked at all. */
  readonly signal?: AbortSignal;
}

/** How work asks that becomes a task. */
export interface TaskQuestions {
  /** Makes a key that was never used of the one a question asks for. */
  readonly keyOf: (key: string) => string;
  /** Whether the task has begun, which the client gets next: the questions are those of the task then. */
  readonly hasBegun: () => boolean;
}

export class Exchange<T> {
  readonly #stop = new AbortController();
  readonly #waiting = new Map<string, Waiting>();
  readonly #work: Promise<ExchangeRoundEnd<T>>;
  #round: ExchangeRound | undefined;
  /** The keys of its answers that were taken: each is one to the question that the client was shown under this key, not to a later one. */
  #taken = new Set<string>();
  #wake: (() => void) | undefined;
  #over = false;
  /** The client was asked something while a round was open. */
  #hasSent = false;
  /** How many such questions have no answer yet. */
  #sending = 0;
  #task: TaskQuestions | undefined;
  /** Set once the client has been answered while the work continues: called when a question was added or is no longer asked. */
  #onChange: (() => void) | undefined;

  /** The work begins at once, in the first round. */
  constructor(round: ExchangeRound, work: (exchange: Exchange<T>) => Promise<T>) {
    this.#round = round;
    this.#work = this.#run(work);
    this.#work.catch(() => {}); // the waiter gets the error
  }

  /** Aborts when the client cancels the work, or the answer to a question does not come. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get over(): boolean {
    return this.#over;
  }

  /** The round that is open; undefined while no request waits for the work. */
  get round(): ExchangeRound | undefined {
    return this.#onChange === undefined ? this.#round : undefined;
  }

  /** Whether the client has a question before it. */
  get isAsking(): boolean {
    return this.#sending > 0 || this.#waiting.size > 0;
  }

  /** The questions that wait for an answer. */
  get requests(): ReadonlyMap<string, InputRequest> {
    return new Map(Array.from(this.#waiting, ([key, { request }]) => [key, request]));
  }

  /** The work is to become a task at once: as soon as that has begun, the client gets the task before any question. */
  expectTask(task: TaskQuestions): void {
    this.#task = task;
  }

  /** The client is answered now, and the work continues until `finish`: its questions wait for `deliver`. */
  detach(onChange: () => void): void {
    this.#onChange = onChange;
  }

  /** Takes answers that come by themselves. One that was not asked for is ignored; one that does not fit is asked for again. */
  deliver(answers: ReadonlyMap<string, unknown>): void {
    for (const [key, waiting] of this.#waiting) {
      if (!answers.has(key) || !waiting.take(answers.get(key))) continue;
      this.#taken.add(key);
      this.#waiting.delete(key);
    }
    this.#onChange?.();
  }

  /** The work is done: what the client is still asked is asked for nothing. */
  finish(): void {
    this.#over = true;
    if (this.#waiting.size > 0) this.refuseWaiting(calledOff());
    if (this.#hasSent) this.#stop.abort(calledOff());
  }

  /** Runs until the work is done or waits for the client. One round at a time. */
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

  /** Puts a request to the client and resolves to what `read` makes of the answer. */
  async ask<A>(request: InputRequest, options: AskOptions<A>): Promise<A> {
    const { key, read, signal } = options;
    if (this.#over || this.#stop.signal.aborted || signal?.aborted === true) throw calledOff();
    const send = this.round?.send;
    if (send !== undefined) {
      const answer = read(await this.#sent(send, request, signal));
      if (answer === undefined) throw new ToolError("invalid_output", `The client's answer to ${request.method} is none.`);
      return answer;
    }
    const early = this.#taken.has(key) ? undefined : this.round?.answers.get(key);
    const known = early === undefined ? undefined : read(early);
    if (known === undefined) return await this.#wait(request, options);
    this.#taken.add(key);
    return known;
  }

  /** Ends what waits for the client, and the work with it where it heeds its signal. */
  cancel(reason: string): void {
    if (this.#over || this.#stop.signal.aborted) return;
    this.#stop.abort(new ToolError("cancelled", reason));
    if (this.#waiting.size > 0) this.refuseWaiting(calledOff());
  }

  /** Ends only what waits; the work continues without it. */
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

  /** Other requests that the work makes in the same breath go out with this one. */
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
  return new ToolError("cancelled", "The client is gone, or the call is over: the question cannot be asked any more.");
}
