/** The seam for traces of what a runtime does; implemented by `haft/telemetry`. */
import type { ToolError } from "./error.ts";
import type { SessionMessage } from "./message.ts";
import type { Clock } from "./ports.ts";
import type { Model, ModelReply, ModelRequest, TokenUsage } from "./model.ts";
import type { TraceHeaders } from "./formats/trace-headers.ts";

/** Creates traces. Called only while set with `runtime.trace`. */
export interface Tracing {
  /** Runs `work` in the trace that a request continues. @param read returns a header of the request, by its name in lower case */
  continueTrace<T>(read: (name: string) => string | undefined, work: () => T): T;
  /** Runs an attempt of a call, so that spans of its handler belong to the call. */
  runInCall<T>(callId: string, work: () => T): T;
  /**
   * Called for a call that another process began, before it continues here.
   *
   * @param traceparent the span of the call if it continued in the background, otherwise the span in which it was made
   */
  resumeCall?(callId: string, traceparent: string): void;
  /**
   * Called with the error of each attempt that fails, before the events that report it: these have no cause. Not called for calls without events,
   * such as simulated ones. Must not throw.
   */
  failAttempt?(callId: string, error: ToolError): void;
  /** Ends the spans of a call that continues in another process. */
  detachCall?(callId: string): void;
  /** Returns the headers that continue the trace in a request that a call makes, or without a call id the current span; undefined outside a trace. */
  headersOf(callId?: string): TraceHeaders | undefined;
  /** Measures a request or a session of an MCP client that the runtime served. Called at its end. Must not throw. */
  recordServed?(served: ServedRequest | ServedSession): void;
  beginRun(run: TracedRun): TracedWork<TracedRunEnd>;
  beginRequest(request: TracedRequest): TracedRequestWork;
}

/** A span that has begun and is ended once. */
export interface TracedWork<End> {
  /** Runs a part of the work: spans that it begins are children of this one. */
  run<T>(work: () => T): T;
  end(end: End): void;
}

/** A model request that has begun. */
export interface TracedRequestWork extends TracedWork<TracedRequestEnd> {
  /** Called once, at the first event of the model's message. */
  onFirstEvent?(): void;
  /** Called for each later event of the message, except its end and events after which it starts again. */
  onNextEvent?(): void;
  /** Called for the first event after the model voided its message, for example because it was asked again. */
  onRestart?(): void;
}

/** A run of a loop, at its beginning. */
export interface TracedRun {
  readonly clock: Clock;
  readonly sessionId: string;
  readonly agentName: string | undefined;
  /** The model, or its name. */
  readonly model: Model | string;
  /** The message that the run starts with; left out if the run only continues. */
  readonly input?: SessionMessage | undefined;
  /** The spans in which the pending messages of the run were sent, each as a `traceparent` header. */
  readonly sentInSpans?: readonly string[];
}

/** The end of a run: why it stopped, or the error. */
export interface TracedRunEnd {
  readonly reason?: string;
  readonly usage?: TokenUsage;
  /** The last text of the run's model. */
  readonly text?: string;
  readonly error?: ToolError | undefined;
}

/** A model request, as it is sent. */
export interface TracedRequest {
  readonly clock: Clock;
  readonly sessionId: string;
  readonly model: Model;
  readonly request: ModelRequest;
}

/** The end of a model request: the reply, or the error. */
export type TracedRequestEnd = { readonly reply: ModelReply } | { readonly error: ToolError };

/** A session of an MCP client that has ended: a connection over stdio, or a session over HTTP of a revision that has them. */
export interface ServedSession {
  readonly of: "session";
  readonly durationMs: number;
  /** The negotiated revision of the protocol. */
  readonly protocolVersion: string;
  readonly transport: "stdio" | "http";
  /** Why it ended, unless the client or the server ended it. */
  readonly error?: ToolError | undefined;
}

/** A request of an MCP client that was answered. */
export interface ServedRequest extends Omit<ServedSession, "of" | "error"> {
  readonly of: "request";
  readonly method: string;
  /** The name of the tool to call; undefined if it does not exist. */
  readonly toolName?: string | undefined;
  /** The name of the prompt that was returned. */
  readonly promptName?: string | undefined;
  /** How it failed: the code of the JSON-RPC error, or `tool-error` if the call of the tool failed. */
  readonly failure?: number | "tool-error" | undefined;
}
