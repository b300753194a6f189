/** A call that runs in the background: its output, its questions, and the waits for its end. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import {
  toEndState,
  type EndedJob,
  type JobMode,
  type JobOutput,
  type JobState,
  type JobStatus,
  type ReadJobOptions,
} from "../../core/jobs/job-status.ts";
import { detachText } from "../../core/base/detach-text.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ToolResult } from "../../core/result.ts";
import type { EventLog } from "../../core/store/store.ts";
import { isLowSurrogate, type JobOutputBuffer } from "./job-output.ts";

/** The part of a call that its job uses. */
export interface JobCall {
  readonly callId: string;
  readonly toolName: string;
  readonly options: { readonly principal?: string | undefined };
  readonly eventBase: { readonly callId: string; readonly sessionId: string; readonly turnId: string; readonly at: number };
  record(event: SessionEvent): void;
  /** Records an event of which listeners have been notified already. */
  logEvent(event: SessionEvent): void;
  emit(event: SessionEvent): void;
  /** How many calls wait for approval: the job's call itself and its nested calls. */
  readonly pendingApprovals: number | undefined;
  /** The log to which its end is written durably; undefined if no caller waits for that. */
  readonly durableLog: DurableLog | undefined;
  /** Includes the output from before it became a job. */
  readonly outputBuffer: JobOutputBuffer;
  cancel(reason: string): void;
  holdProcess(): void;
  releaseProcess(): void;
}

/** The log that the end of a job is written to. */
export type DurableLog = Pick<EventLog, "whenDurable">;

export interface JobSettings {
  readonly mode: JobMode;
  readonly notify: boolean;
}

/** The record of a background job from before a crash. */
export interface EarlierJob extends JobSettings {
  readonly toolName: string;
  /** How many times it was started. */
  readonly starts: number;
  /** How many of its starts cannot have crashed the process: after them it waited for an answer or approval, or was handed over. */
  readonly safeStarts: number;
  /** Its last start is counted as harmless because all calls that it had made waited for approval; to be recorded with its next start. */
  readonly awaited?: true;
  /** The time of its last start; undefined for the first one. */
  readonly startedAt?: number;
  /** It waits for an answer. */
  readonly isAsking: boolean;
  /** It is recorded as queued. */
  readonly isQueued: boolean;
  /** The upcoming start is recorded already. */
  readonly isCounted?: boolean;
  /** The span of the call that began it, if it was traced. */
  readonly traceparent?: string | undefined;
}

/** How much of a job's output is kept in its session's log, in UTF-16 units; listeners get all of it. */
const MAX_RECORDED_CHARS = 65_536;
/** Maximum number of inputs that wait until the job asks for them. */
const MAX_INPUTS = 100;

export class CallJob {
  readonly id: string;
  readonly sessionId: string;
  /** The id of the principal for which its call was made. */
  readonly principal: string | undefined;
  readonly mode: JobMode;
  readonly notify: boolean;
  readonly startedAt: number;
  /** Undefined once it has ended. */
  #call: JobCall | undefined;
  #toolName: string;
  readonly #output: JobOutputBuffer;
  readonly #onAsk: () => void;
  #state: JobState = "queued";
  #endedAt: number | undefined;
  #result: ToolResult | undefined;
  #question: string | undefined;
  #inputs: JsonValue[] | undefined;
  #asking: ((input: JsonValue) => void) | undefined;
  /** The listeners that wait for the job, and whether a question ends their wait too. */
  readonly #waits = new Map<() => void, boolean>();
  /** Set from the job's end until that is durable. */
  #durableLog: DurableLog | undefined;
  #recordError: ToolError | undefined;

  /** @param onAsk called when the job asks something */
  constructor(call: JobCall, { mode, notify }: JobSettings, onAsk: () => void) {
    const { sessionId, at } = call.eventBase;
    this.id = call.callId;
    this.sessionId = sessionId;
    this.principal = call.options.principal;
    this.mode = mode;
    this.notify = notify;
    this.startedAt = at;
    this.#call = call;
    this.#toolName = call.toolName;
    this.#onAsk = onAsk;
    this.#output = call.outputBuffer;
  }

  get hasEnded(): boolean {
    return this.#call === undefined;
  }

  /** The qualified name, once its tool is known. */
  get toolName(): string {
    return this.#call?.toolName ?? this.#toolName;
  }

  get status(): JobStatus {
    const error = this.#result?.error;
    return Object.freeze({
      id: this.id,
      sessionId: this.sessionId,
      toolName: this.toolName,
      mode: this.mode,
      notify: this.notify,
      state: this.#state === "running" && (this.#call?.pendingApprovals ?? 0) > 0 ? "waiting" : this.#state,
      startedAt: this.startedAt,
      ...(this.#endedAt === undefined ? {} : { endedAt: this.#endedAt }),
      output: this.#output.written,
      preview: this.#output.preview,
      ...(this.#question === undefined ? {} : { question: this.#question }),
      ...(error === undefined ? {} : { error }),
    });
  }

  /** Its status and result; undefined until it has ended. */
  get end(): EndedJob | undefined {
    const result = this.#result;
    return result === undefined ? undefined : Object.freeze({ ...(this.status as EndedJob), result }); // it has ended
  }

  /** Marks a queued job as running. */
  markRunning(): void {
    if (this.#state === "queued") this.#state = "running";
  }

  read(options: ReadJobOptions): JobOutput {
    return this.#output.read(options);
  }

  write(text: string): void {
    if (text !== "") this.#write(text, undefined);
  }

  /** Writes a text and waits for an input; inputs that were sent before are used first. */
  ask(text: string): Promise<JsonValue> {
    const [first] = this.#inputs ?? [];
    if (first !== undefined) {
      this.#write(text, undefined);
      this.#inputs?.shift();
      return Promise.resolve(first);
    }
    const { promise, resolve } = Promise.withResolvers<JsonValue>();
    this.#asking = resolve;
    this.#state = "waiting";
    this.#question = text;
    this.#write(text, true);
    if (this.#asking !== resolve) return promise; // a listener has answered it or ended the attempt
    this.#notifyWaiters(true);
    this.#onAsk();
    if (this.#asking === resolve) this.#call?.releaseProcess(); // there may never be an answer
    return promise;
  }

  /** Ends an open question without an answer, because its attempt has ended. */
  stopAsking(): void {
    const asking = this.#asking;
    if (asking === undefined) return;
    this.#clearQuestion();
    asking(null);
  }

  /** @throws ToolError `invalid_argument` for a job that has ended or takes no input; `resource_busy` if too many inputs wait */
  send(input: JsonValue, principal?: string): void {
    const call = this.#call;
    if (call === undefined)
      throw new ToolError("invalid_argument", `The job ${JSON.stringify(this.id)} has ended and takes no more input.`);
    if (this.mode !== "stateful" && !this.isAsking)
      // it may ask although it began as another job: its tool was replaced meanwhile
      throw new ToolError("invalid_argument", `The job ${JSON.stringify(this.id)} of ${this.toolName} takes no input.`, {
        hint: "Only jobs of stateful tools do.",
      });
    if (this.#asking === undefined && (this.#inputs?.length ?? 0) >= MAX_INPUTS)
      throw new ToolError("resource_busy", `${MAX_INPUTS} inputs are already waiting for the job ${JSON.stringify(this.id)}.`, {
        retryable: true,
      });
    call.record({ ...call.eventBase, type: "job-input", input, ...omitUndefined({ principal }) });
    const asking = this.#asking;
    if (asking === undefined) {
      (this.#inputs ??= []).push(input);
      return;
    }
    this.#clearQuestion();
    asking(input);
  }

  /** Cancels the job; false if it has ended. */
  cancel(reason: string): boolean {
    if (this.#call === undefined) return false;
    this.#call.cancel(reason);
    return true;
  }

  #clearQuestion(): void {
    this.#asking = undefined;
    this.#question = undefined;
    this.#state = "running";
    this.#call?.holdProcess();
  }

  /** Ends the job with its call's result. Returns the `job-end`, to record directly after the `call-end`; undefined if it had ended before. */
  finish(result: ToolResult): SessionEvent | undefined {
    const call = this.#call;
    if (call === undefined) return undefined;
    const { status } = result;
    this.#toolName = call.toolName;
    this.#call = undefined;
    this.#result = result;
    this.#asking = undefined;
    this.#inputs = undefined;
    this.#question = undefined;
    this.#endedAt = call.eventBase.at;
    this.#durableLog = call.durableLog;
    if (status === "pending") this.#state = "cancelled";
    else this.#state = toEndState(status, result.error?.code);
    this.#notifyWaiters(false);
    if (status === "pending") return undefined; // a placeholder, not the result of a call
    return { ...call.eventBase, type: "job-end", toolName: this.#toolName, status, notify: this.notify };
  }

  /** Notes that its end could not be recorded. */
  setRecordError(error: ToolError): void {
    this.#recordError = error;
  }

  /** Resolves when the job's end is durable. @throws ToolError if it cannot be made durable, as a rejection */
  async whenEndDurable(): Promise<void> {
    await this.#durableLog?.whenDurable();
    if (this.#recordError !== undefined) throw this.#recordError;
    this.#durableLog = undefined;
  }

  /** Records the output that its call wrote before it was a job, which listeners have received already. */
  recordEarlierOutput(): void {
    const { text, from } = this.#output.read({ maxChars: MAX_RECORDED_CHARS });
    const length = Math.min(text.length, MAX_RECORDED_CHARS - from);
    if (this.#call !== undefined && length > 0)
      this.#call.logEvent(outputEvent(this.#call, { text: detachText(text.slice(0, length)), position: from }));
  }

  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** Calls the listener once, when the job has ended or, with `untilAsked`, asks something. The returned function removes the listener. */
  onPause(listener: () => void, untilAsked: boolean): () => void {
    if (this.hasEnded || (untilAsked && this.isAsking)) listener();
    else this.#waits.set(listener, untilAsked);
    return () => void this.#waits.delete(listener);
  }

  #notifyWaiters(isAsking: boolean): void {
    for (const [listener, untilAsked] of this.#waits)
      if (!isAsking || untilAsked) {
        this.#waits.delete(listener);
        listener();
      }
  }

  /** Writes output. The log gets the first characters and every question; listeners get everything. */
  #write(text: string, asks: true | undefined): void {
    const call = this.#call;
    if (call === undefined) return;
    const position = this.#output.written.chars;
    this.#output.write(text);
    let room = asks === undefined ? Math.max(0, MAX_RECORDED_CHARS - position) : Infinity;
    if (text.length <= room) return call.record(outputEvent(call, { text: detachText(text), position, asks }));
    if (room > 0 && isLowSurrogate(text, room)) room--;
    if (room > 0) call.record(outputEvent(call, { text: detachText(text.slice(0, room)), position }));
    call.emit(outputEvent(call, { text: text.slice(room), position: position + room }));
  }
}

interface OutputText {
  readonly text: string;
  readonly position: number;
  readonly asks?: true | undefined;
}

type Output = SessionEvent & { readonly type: "job-output" };

function outputEvent({ eventBase, toolName }: JobCall, { text, position, asks }: OutputText): Output {
  return { ...eventBase, type: "job-output", toolName, position, text, ...(asks === undefined ? {} : { asks }) };
}
