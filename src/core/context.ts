/** The context of a handler, besides its input. */
import type { QuestionAnswer, Question } from "./ask.ts";
import type { ToolCall } from "./call.ts";
import type { HistoryEntry } from "./history.ts";
import type { JsonValue } from "./base/json.ts";
import type { LogFields } from "./ports.ts";
import type { ToolResult } from "./result.ts";
import type { TraceHeaders } from "./trace-headers.ts";

/** The context that a tool is given besides its input. */
export interface ToolContext {
  /** The runtime's id of the call; the same over all attempts. */
  readonly callId: string;
  /** The qualified name of the tool that was called. */
  readonly toolName: string;
  /** The tool that was called, with whatever else it declares. Not to be changed. */
  readonly tool: {
    /** Unqualified. */
    readonly name: string;
    readonly description: string;
    readonly inputSchema: boolean | { readonly [keyword: string]: unknown };
    readonly outputSchema?: boolean | { readonly [keyword: string]: unknown };
    readonly tags?: readonly string[];
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  /** The name of the agent whose tools these are: `createRuntime({ agentName })`. */
  readonly agentName: string | undefined;
  /** The folder that relative paths start at, absolute: that of the tool, else of the session, else `createRuntime({ workingFolder })`, else that of the process. */
  readonly workingFolder: string;
  /** A path as an absolute one, where a relative one starts at `workingFolder`. It may lead out of that folder: this is no guard. */
  readonly resolvePath: (path: string) => string;
  /** The variables that the session and the tool have for programs that it starts; those of the process are not among them. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Of the session that the call belongs to; of a branch, that of the session it comes from where the engine keeps its state elsewhere.
   * Each `execute` of a runtime itself has a session of its own, of which nothing is kept.
   */
  readonly sessionId: string;
  /** The same for all calls of one turn; those that a handler makes are a turn of their own. */
  readonly turnId: string;
  /** Which attempt this is; the first is 1. */
  readonly attempt: number;
  /** Aborts when the attempt's time is up or the caller cancels. Made on first use. */
  readonly signal: AbortSignal;
  /**
   * The same over all attempts of the call and after a crash, new for every other call: give it to a service that
   * recognises repeated requests.
   */
  readonly idempotencyKey: string;
  /**
   * A number that is greater than that of every earlier lease on the same resources, in all processes: of a toolset that is `shared`. A service
   * that keeps the greatest it has seen of a resource, and refuses a lesser one, is safe from a process that was stopped, lost its lease,
   * and comes back. Undefined for other toolsets, and for a call that uses leases of several calls.
   */
  readonly fence?: number | undefined;
  /**
   * The fields that continue the trace of the call in a request to another service: headers of HTTP, `_meta` of MCP. Undefined where it is part
   * of none; see `haft/telemetry`.
   */
  readonly traceHeaders?: TraceHeaders | undefined;
  /** True when the call is tried without a trace: nothing outside the session's own state may be changed. */
  readonly simulated: boolean;
  /**
   * The session's calls before this one, the oldest first: those that had ended when the batch began, and for an engine with
   * `order: "sequential"` the earlier ones of the batch as well. Made when asked for.
   */
  readonly history: readonly HistoryEntry[];
  /** When this attempt ends, on the runtime's monotonic clock; `Infinity` = no limit. */
  readonly deadline: number;
  /** The session's state, private to this tool's toolset. Changes by the calls of a voided message, or of a batch that was rolled back, are reverted. */
  readonly state: ToolState;
  /** As `state`, private to this tool alone: `session.state("toolset::tool", key)` reads it. */
  readonly toolState: ToolState;
  /**
   * Whether the model still has the result of an earlier call of the session, or of one in the same message: false once its message was
   * voided, its batch rolled back, or the result trimmed, superseded or dropped with an old turn from the history that the model was
   * given. A tool that remembers what it showed keeps the `callId` with it, and asks here before it relies on it.
   *
   * The history is the one given as `shown` with these calls, as a loop does; without it, nothing counts as trimmed.
   */
  readonly isShown: (callId: string) => boolean;
  /** The data that the program gave the runtime or this `execute` for its handlers, such as a user or a database. */
  readonly data: Readonly<Record<string, unknown>>;
  /** Given with the call: an engine that invents answers mixes it into its seed, so that the same call can be answered differently. `""` where none was given. */
  readonly variation?: string;
  /**
   * Asks a person, through the caller; the call's time keeps running. Answers `cancel` in a simulation, where no one
   * can be asked, and after the call has ended. Never rejects.
   *
   * @param asker who asks, if not the tool itself
   */
  readonly ask: (question: Question, asker?: string) => Promise<QuestionAnswer>;
  /**
   * Makes calls as part of this one: in its session or branch, with the rights of its caller, cancelled with it, and simulated where it is
   * simulated. Each is checked, approved, locked, retried and recorded like any other; results are whole, also where a model is
   * shown less of them. Those of a composite tool (`Tool.composite`) are
   * remembered in a session: where the tool is run again after a crash, the same calls in the same order have their first results.
   *
   * @throws ToolError `invalid_argument` after the call has ended, and as `execute` of the session. By rejecting
   */
  readonly execute: CallTools;
  /** Tells listeners how far the call is. Ignored after the call has ended. */
  readonly progress: (update: ProgressUpdate) => void;
  /**
   * Writes what the call has to show while it runs, such as the lines of a build: kept for a background job, where it can be read by
   * position, and passed to listeners. Bytes are UTF-8; a character may be split over several writes, and is left out where its end is
   * never written. Ignored after the call has ended.
   */
  readonly output: (text: string | Uint8Array) => void;
  /**
   * Sets the output so far. The result of a call that is cancelled or times out has the latest one as its output, with the error. JSON,
   * or a `ToolOutput` with output and metadata; other values are left out. Ignored after the call has ended.
   */
  readonly partial: (output: unknown) => void;
  /** Writes a debug line to the log of the runtime, with the id of the call and the name of the tool. */
  readonly log: (message: string, fields?: LogFields) => void;
}

/** Makes calls: one gives its result, a list gives a list in the same order. */
export interface CallTools {
  (call: ToolCall, options?: NestedCallOptions): Promise<ToolResult>;
  (calls: readonly ToolCall[], options?: NestedCallOptions): Promise<readonly ToolResult[]>;
}

/** How the calls of a handler are run. */
export interface NestedCallOptions {
  /** Cancels these calls, as the end of the handler's own call does. */
  readonly signal?: AbortSignal;
  /** As in `execute`: true for background jobs, false to wait also for tools whose mode is `background`. */
  readonly background?: boolean;
}

/** How far a call is. */
export interface ProgressUpdate {
  readonly message?: string;
  readonly done?: number;
  readonly total?: number;
}

/** Session state: immutable values under keys, changed only by a function of the value before. */
export interface ToolState {
  get(key: string): JsonValue | undefined;
  /** Replaces the value of `key` by what `change` returns; `undefined` removes it. Synchronous, so nothing comes between. Throws once the attempt has ended. */
  update(key: string, change: (before: JsonValue | undefined) => JsonValue | undefined): void;
}
