/** A call that runs in the background: its output, its questions, and the waits for its end. */
import { ToolError } from "../../core/error.ts";
import type { SessionEvent } from "../../core/event.ts";
import {
  endState,
  type EndedJob,
  type JobMode,
  type JobOutput,
  type JobState,
  type JobStatus,
  type ReadJobOptions,
} from "../../core/job-status.ts";
import { detachedText } from "../../core/base/detached-text.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import type { ToolResult } from "../../core/result.ts";
import type { EventLog } from "../../core/store.ts";
import { isLow, type JobOutputBuffer } from "./job-output.ts";

/** The part of a call that its job uses. */
export interface JobCall {
  readonly callId: string;
  readonly toolName: string;
  readonly eventBase: { readonly callId: string; readonly sessionId: string; readonly turnId: string; readonly at: number };
  record(event: SessionEvent): void;
  /** Records an event of which listeners know already. */
  logEvent(event: SessionEvent): void;
  emit(event: SessionEvent): void;
  /** How many calls wait for approval: it, and those that were made in it. */
  readonly awaiting: number | undefined;
  /** The log that its end is written to; undefined where no caller waits for that. */
  readonly written: Written | undefined;
  /** Has what it wrote before it was a job, too. */
  readonly outputBuffer: JobOutputBuffer;
  cancel(reason: string): void;
  holdProcess(): void;
  releaseProcess(): void;
}

/** The log that the end of a job is written to. */
export type Written = Pick<EventLog, "whenDurable">;

export interface JobSettings {
  readonly mode: JobMode;
  readonly notify: boolean;
}

/** The record of a background job from before a crash. */
export interface EarlierJob extends JobSettings {
  readonly toolName: string;
  /** How many times it was begun to be run. */
  readonly starts: number;
  /** After how many of these it waits, or waited when its process ended, for an answer to what it had asked, or was handed over: it ended none. */
  readonly harmlessStarts: number;
  /** It waits for such an answer. */
  readonly isAsking: boolean;
  /** It is recorded that it waits for its place. */
  readonly isQueued: boolean;
  /** The start that comes is recorded already. */
  readonly isCounted?: boolean;
  /** The span of the call that began it, where that was traced. */
  readonly traceparent?: string | undefined;
}

/** How much of its output a session's log has, in UTF-16 units; listeners get all of it. */
const MAX_RECORDED_CHARS = 65_536;
/** Most inputs that wait until the job asks for them. */
const MAX_INPUTS = 100;

export class CallJob {
  readonly id: string;
  readonly sessionId: string;
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
  /** Those who wait for it, and whether a question ends their wait. */
  readonly #waits = new Map<() => void, boolean>();
  /** Set from its end until that is known to be durable. */
  #written: Written | undefined;
  #loss: ToolError | undefined;

  /** @param onAsk called when it asks something */
  constructor(call: JobCall, { mode, notify }: JobSettings, onAsk: () => void) {
    const { sessionId, at } = call.eventBase;
    this.id = call.callId;
    this.sessionId = sessionId;
    this.mode = mode;
    this.notify = notify;
    this.startedAt = at;
    this.#call = call;
    this.#toolName = call.toolName;
    this.#onAsk = onAsk;
    this.#output = call.outputBuffer;
  }

  get isOver(): boolean {
    return this.#call === undefined;
  }

  /** Qualified, once its tool is known. */
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
      state: this.#state === "running" && (this.#call?.awaiting ?? 0) > 0 ? "waiting" : this.#state,
      startedAt: this.startedAt,
      ...(this.#endedAt === undefined ? {} : { endedAt: this.#endedAt }),
      output: this.#output.written,
      preview: this.#output.preview,
      ...(this.#question === undefined ? {} : { question: this.#question }),
      ...(error === undefined ? {} : { error }),
    });
  }

  /** Its status and result; undefined while it runs. */
  get end(): EndedJob | undefined {
    const result = this.#result;
    return result === undefined ? undefined : Object.freeze({ ...(this.status as EndedJob), result }); // it has ended
  }

  /** It has its place. */
  started(): void {
    if (this.#state === "queued") this.#state = "running";
  }

  read(options: ReadJobOptions): JobOutput {
    return this.#output.read(options);
  }

  write(text: string): void {
    if (text !== "") this.#write(text, undefined);
  }

  /** Says something and waits for what is sent; inputs that were sent before are taken first. */
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
    if (this.#asking !== resolve) return promise; // a listener answered it, or ended the attempt
    this.#endWaits(true);
    this.#onAsk();
    if (this.#asking === resolve) this.#call?.releaseProcess(); // there may never be an answer
    return promise;
  }

  /** Ends what is being asked without an answer, because its attempt is over. */
  stopAsking(): void {
    const asking = this.#asking;
    if (asking === undefined) return;
    this.#answered();
    asking(null);
  }

  /** @throws ToolError `invalid_argument` for a job that has ended or is not talked to; `resource_busy` where too much waits */
  send(input: JsonValue, principal?: string): void {
    const call = this.#call;
    if (call === undefined)
      throw new ToolError("invalid_argument", `The job ${JSON.stringify(this.id)} has ended and takes no more input.`);
    if (this.mode !== "stateful")
      throw new ToolError("invalid_argument", `The job ${JSON.stringify(this.id)} of ${this.toolName} takes no input.`, {
        hint: "Only jobs of stateful tools do.",
      });
    if (this.#asking === undefined && (this.#inputs?.length ?? 0) >= MAX_INPUTS)
      throw new ToolError("resource_busy", `${MAX_INPUTS} inputs wait for the job ${JSON.stringify(this.id)} already.`, {
        retryable: true,
      });
    call.record({ ...call.eventBase, type: "job-input", input, ...omitUndefined({ principal }) });
    const asking = this.#asking;
    if (asking === undefined) {
      (this.#inputs ??= []).push(input);
      return;
    }
    this.#answered();
    asking(input);
  }

  /** Ends it; false when it has ended. */
  cancel(reason: string): boolean {
    if (this.#call === undefined) return false;
    this.#call.cancel(reason);
    return true;
  }

  #answered(): void {
    this.#asking = undefined;
    this.#question = undefined;
    this.#state = "running";
    this.#call?.holdProcess();
  }

  /** Its call has its result. Returns the event that says so, which belongs right behind that of the call; undefined when it had ended. */
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
    this.#written = call.written;
    if (status === "pending") this.#state = "cancelled";
    else this.#state = endState(status, result.error?.code);
    this.#endWaits(false);
    if (status === "pending") return undefined; // no result of a call
    return { ...call.eventBase, type: "job-end", toolName: this.#toolName, status, notify: this.notify };
  }

  /** Its end could not be recorded. */
  lose(error: ToolError): void {
    this.#loss = error;
  }

  /** Resolves when the end of one that is over is durable. @throws ToolError why it cannot be. By rejecting */
  async whenEndDurable(): Promise<void> {
    await this.#written?.whenDurable();
    if (this.#loss !== undefined) throw this.#loss;
    this.#written = undefined;
  }

  /** Records what its call had written before it was a job, of which listeners know. */
  recordEarlier(): void {
    const { text, from } = this.#output.read({ maxChars: MAX_RECORDED_CHARS });
    const length = Math.min(text.length, MAX_RECORDED_CHARS - from);
    if (this.#call !== undefined && length > 0)
      this.#call.logEvent(outputEvent(this.#call, { text: detachedText(text.slice(0, length)), position: from }));
  }

  get isAsking(): boolean {
    return this.#asking !== undefined;
  }

  /** Calls the listener once: when it has ended or, with `untilAsked`, asks something. The returned function forgets it, and so all it holds. */
  onPause(listener: () => void, untilAsked: boolean): () => void {
    if (this.isOver || (untilAsked && this.isAsking)) listener();
    else this.#waits.set(listener, untilAsked);
    return () => void this.#waits.delete(listener);
  }

  #endWaits(isAsking: boolean): void {
    for (const [listener, untilAsked] of this.#waits)
      if (!isAsking || untilAsked) {
        this.#waits.delete(listener);
        listener();
      }
  }

  /** The log has the first characters and every question; listeners are called with everything. */
  #write(text: string, asks: true | undefined): void {
    const call = this.#call;
    if (call === undefined) return;
    const position = this.#output.written.chars;
    this.#output.write(text);
    let room = asks === undefined ? Math.max(0, MAX_RECORDED_CHARS - position) : Infinity;
    if (text.length <= room) return call.record(outputEvent(call, { text: detachedText(text), position, asks }));
    if (room > 0 && isLow(text, room)) room--;
    if (room > 0) call.record(outputEvent(call, { text: detachedText(text.slice(0, room)), position }));
    call.emit(outputEvent(call, { text: text.slice(room), position: position + room }));
  }
}

interface Said {
  readonly text: string;
  readonly position: number;
  readonly asks?: true | undefined;
}

type Output = SessionEvent & { readonly type: "job-output" };

function outputEvent({ eventBase, toolName }: JobCall, { text, position, asks }: Said): Output {
  return { ...eventBase, type: "job-output", toolName, position, text, ...(asks === undefined ? {} : { asks }) };
}
