/** The seam by which what a runtime does becomes part of traces; `haft/telemetry` is behind it. */
import type { ToolError } from "./error.ts";
import type { SessionMessage } from "./message.ts";
import type { Clock } from "./ports.ts";
import type { Model, ModelReply, ModelRequest, TokenUsage } from "./model.ts";
import type { TraceHeaders } from "./trace-headers.ts";

/** Makes traces. Called only while one is set with `runtime.trace`. */
export interface Tracing {
  /** Runs `work` as part of the trace that a request names. @param read returns a field of the request, by its name in lower case */
  continueTrace<T>(read: (name: string) => string | undefined, work: () => T): T;
  /** Runs an attempt of a call, so that what its handler begins belongs to the call. */
  withinCall<T>(callId: string, work: () => T): T;
  /** Ends what is traced of a call that continues in another process. */
  leaveCall?(callId: string): void;
  /** The fields that continue the trace in a request that a call makes, without a call what runs now; undefined outside of a trace. */
  headersOf(callId?: string): TraceHeaders | undefined;
  beginRun(run: TracedRun): TracedWork<TracedRunEnd>;
  beginRequest(request: TracedRequest): TracedRequestWork;
}

/** Work that has begun and is ended once. */
export interface TracedWork<End> {
  /** Runs a part of it: what that begins belongs to it. */
  within<T>(work: () => T): T;
  end(end: End): void;
}

/** A request to a model that has begun. */
export interface TracedRequestWork extends TracedWork<TracedRequestEnd> {
  /** Called once, when the model has said the first of its message. */
  begun?(): void;
  /** Called for each later event of the message, but its end, and where the message begins again. */
  continued?(): void;
  /** Called for the first event after the model took back what it had said, as where it was asked again. */
  begunAgain?(): void;
}

/** A run of a loop, as it begins. */
export interface TracedRun {
  readonly clock: Clock;
  readonly sessionId: string;
  readonly agentName: string | undefined;
  /** The model, or its name. */
  readonly model: Model | string;
  /** The message that it was begun with; left out where it only continues. */
  readonly input?: SessionMessage | undefined;
  /** The spans in which the messages were sent that wait for it, each as the header `traceparent` has it. */
  readonly sentIn?: readonly string[];
}

/** The end of a run: how it stopped, or why it could not. */
export interface TracedRunEnd {
  readonly reason?: string;
  readonly usage?: TokenUsage;
  /** The last text of its model. */
  readonly text?: string;
  readonly error?: ToolError | undefined;
}

/** A request to a model, as it is sent. */
export interface TracedRequest {
  readonly clock: Clock;
  readonly sessionId: string;
  readonly model: Model;
  readonly request: ModelRequest;
}

/** The end of a request: the reply, or why there is none. */
export type TracedRequestEnd = { readonly reply: ModelReply } | { readonly error: ToolError };
