/** Runs one program: makes its calls in order, and settles them in the same order. */
import { Fifo } from "../../core/collections/fifo.ts";
import { ToolError } from "../../core/error.ts";
import type { ToolCall } from "../../core/call.ts";
import type { Clock } from "../../core/ports.ts";
import { modelDetails, type ToolResult } from "../../core/result.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import { ProgramThread } from "../../processes/program/program-thread.ts";
import type { ProgramCall, ProgramEnd, ProgramStart, SettledCall, ToThread } from "../../processes/program/thread-messages.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { findRoundedIntegers, restoreDigits } from "./rounded-integers.ts";
import { answerOf, wholeResult } from "../sequence/whole-result.ts";

/** Maximum number of calls of one program that run at a time; further ones wait. */
const MAX_CONCURRENT_CALLS = 64;

export interface ProgramOptions extends ProgramStart {
  /** Makes a call. A rejection ends the program with the error. */
  readonly execute: (call: ToolCall, signal: AbortSignal) => Promise<ToolResult>;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** The end of a program, and its calls. */
export interface ProgramOutcome {
  /** `waiting`: the program waits although none of its calls is running, so it would never end. */
  readonly end: ProgramEnd | { readonly kind: "waiting" };
  readonly log: string;
  /** In call order. */
  readonly results: readonly ToolResult[];
  /** The indexes in `results` of calls that had not ended when the program returned. */
  readonly unawaited: readonly number[];
}

/**
 * Resolves when the program and all its calls have ended.
 *
 * @throws the error that `execute` rejects with, or the reason of the signal; `unavailable` if no program can be run, as a rejection
 */
export async function runProgram(options: ProgramOptions): Promise<ProgramOutcome> {
  const { execute: _execute, signal, clock, ...start } = options;
  signal.throwIfAborted();
  const thread = new ProgramThread(start, clock);
  const calls = new ProgramCalls(options);
  const reason = (): unknown => (signal.reason instanceof Error ? signal.reason : new ToolError("cancelled", "The program was cancelled."));
  const unlessAborted = <T>(work: Promise<T>): Promise<T> => rejectOnAbort(work, signal, reason);
  try {
    let log = "";
    let message = await unlessAborted(thread.next());
    let isReady = false;
    while (message.end === undefined) {
      let ended: ToThread = [];
      if (isReady) {
        calls.startCalls(message.calls);
        if (calls.waiting === 0) return { end: { kind: "waiting" }, log, results: calls.results, unawaited: [] };
        ended = await unlessAborted(calls.waitForEnded());
      }
      isReady = true;
      thread.resume(ended);
      message = await unlessAborted(thread.next());
      log += message.log;
    }
    // Calls that it began and did not wait for are still made, unless the program was stopped.
    if (message.end.kind === "returned") calls.startCalls(message.calls);
    else calls.cancel();
    const unawaited = message.end.kind === "returned" ? calls.unsettled : [];
    await calls.waitForAll();
    return { end: message.end, log, results: calls.results, unawaited };
  } catch (thrown: unknown) {
    if (!signal.aborted) await calls.stop();
    throw thrown;
  } finally {
    await thread.stop();
  }
}

interface RunningCall {
  readonly call: ProgramCall;
  readonly done: Promise<ToolResult>;
  result: ToolResult | undefined;
}

class ProgramCalls {
  readonly #options: ProgramOptions;
  readonly #controller = new AbortController();
  readonly #roundedIntegers: ReadonlyMap<string, string>;
  /** In call order; the first is the next call that is settled in the program. */
  readonly #queue = new Fifo<RunningCall>();
  readonly #results: (ToolResult | undefined)[] = [];
  readonly #waitingForSlot = new Fifo<() => void>();
  #running = 0;
  #wallTime: number;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#roundedIntegers = findRoundedIntegers(options.code);
    this.#wallTime = options.wallTime;
  }

  get waiting(): number {
    return this.#queue.length;
  }

  /** The numbers of the calls that are not settled in the program. */
  get unsettled(): readonly number[] {
    return Array.from(this.#queue, ({ call }) => call.number);
  }

  get results(): readonly ToolResult[] {
    return this.#results.filter((result) => result !== undefined);
  }

  startCalls(calls: readonly ProgramCall[]): void {
    for (const call of calls) {
      const running: RunningCall = { call, done: this.#execute(call), result: undefined };
      void this.#storeResult(running);
      this.#queue.push(running);
    }
  }

  async #storeResult(running: RunningCall): Promise<void> {
    try {
      running.result = this.#results[running.call.number] = await running.done;
    } catch {
      // thrown where the call is waited for
    }
  }

  /** Waits for the oldest call, then takes it and the calls after it that have ended as well. */
  async waitForEnded(): Promise<ToThread> {
    await this.#queue.first?.done;
    const ended: SettledCall[] = [];
    for (let first = this.#queue.first; first?.result !== undefined; first = this.#queue.first) {
      this.#queue.shift();
      // From the recorded duration, so that the program sees the same time when it is run again.
      this.#wallTime = Math.max(this.#wallTime, Math.round(first.call.madeAt + first.result.durationMs));
      ended.push({ number: first.call.number, wallTime: this.#wallTime, ...toSettledCall(first.result) });
    }
    return ended;
  }

  cancel(): void {
    this.#controller.abort(new ToolError("cancelled", "The program that made this call was stopped."));
  }

  /** @throws the error that a call was rejected with */
  async waitForAll(): Promise<void> {
    for (const { done } of this.#queue) await done;
  }

  /** Cancels the running calls and waits until all have settled. */
  async stop(): Promise<void> {
    this.cancel();
    await Promise.allSettled(Array.from(this.#queue, ({ done }) => done));
  }

  async #execute({ name, input }: ProgramCall): Promise<ToolResult> {
    if (this.#running >= MAX_CONCURRENT_CALLS) await new Promise<void>((resolve) => this.#waitingForSlot.push(resolve));
    else this.#running++;
    try {
      return await this.#options.execute({ name, input: readInput(input, this.#roundedIntegers) }, this.#controller.signal);
    } finally {
      const next = this.#waitingForSlot.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/** Returns the text itself if it is too deep or too large to parse, or has a rounded integer; the check of the call then refuses it. */
function readInput(text: string, rounded: ReadonlyMap<string, string>): unknown {
  const restored = restoreDigits(text, rounded);
  try {
    return parseJson(restored, { longIntegers: restored === text ? "round" : "refuse" });
  } catch {
    return restored;
  }
}

function toSettledCall(result: ToolResult): Pick<SettledCall, "succeeded" | "text"> {
  const { status, error, name } = result;
  const answer = answerOf(result) ?? null;
  const whole = wholeResult(undefined, result);
  if (status === "ok" && typeof whole === "string") {
    const hint = "Ask it for less at a time, or make fewer such calls at once.";
    return { succeeded: false, text: JSON.stringify({ code: "too_large", message: `${whole}.`, hint, outcome: "unknown", tool: name }) };
  }
  if (status === "ok") return { succeeded: true, text: JSON.stringify(answer) };
  if (status === "pending") {
    const message = `${name} takes messages while it runs, and continues in the background.`;
    return { succeeded: false, text: JSON.stringify({ code: "not_executable", message, tool: name }) };
  }
  const { code, message, hint, retryable, outcome } = error;
  const details = modelDetails(error);
  const fields = {
    code,
    message,
    hint,
    ...(details.length === 0 ? {} : { details }),
    retryable,
    outcome,
    tool: name,
    ...(answer === null ? {} : { output: answer }),
  };
  return { succeeded: false, text: JSON.stringify(fields) };
}
