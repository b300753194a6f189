import type { QuestionAnswer, Question } from "./approvals/ask.ts";
import type { ToolCall } from "./call.ts";
import type { HistoryEntry } from "./history.ts";
import type { JsonValue } from "./base/json.ts";
import type { LogFields } from "./ports.ts";
import type { ToolResult } from "./result.ts";
import type { TraceHeaders } from "./formats/trace-headers.ts";

/** The context that a handler gets in addition to its input. */
export interface ToolContext {
  /** The runtime's id of the call; the same for all attempts. */
  readonly callId: string;
  /** The qualified name of the tool that was called. */
  readonly toolName: string;
  /** The tool that was called, with everything that it declares. Must not be changed. */
  readonly tool: {
    /** The unqualified name. */
    readonly name: string;
    readonly description: string;
    readonly inputSchema: boolean | { readonly [keyword: string]: unknown };
    readonly outputSchema?: boolean | { readonly [keyword: string]: unknown };
    readonly tags?: readonly string[];
    readonly metadata?: Readonly<Record<string, unknown>>;
  };
  /** The name of the agent that the tools belong to: `createRuntime({ agentName })`. */
  readonly agentName: string | undefined;
  /**
   * The absolute folder that relative paths start from: the tool's, else the session's, else `createRuntime({ workingFolder })`, else the process's.
   */
  readonly workingFolder: string;
  /** Returns a path as an absolute one; a relative path starts from `workingFolder`. The result may be outside that folder: this is no protection. */
  readonly resolvePath: (path: string) => string;
  /** The variables that the session and the tool set for programs that the handler starts; those of the process are not included. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * The id of the session that the call belongs to. In a branch, it is the id of the session that the branch comes from if the engine keeps its state
   * elsewhere. Each `execute` of a runtime itself has a session of its own, of which nothing is kept.
   */
  readonly sessionId: string;
  /** The same for all calls of one turn; calls that a handler makes are a turn of their own. */
  readonly turnId: string;
  /** The number of this attempt; the first is 1. */
  readonly attempt: number;
  /** Aborts when the attempt times out or the caller cancels. Created on first use. */
  readonly signal: AbortSignal;
  /**
   * Identifies the call, for services that recognize repeated requests: the same for all attempts and after a crash, different for any other call.
   */
  readonly idempotencyKey: string;
  /**
   * For a `shared` toolset: a number greater than that of every earlier lease on the same resources, in all processes. A service that remembers the
   * greatest number it has seen for a resource, and refuses lower ones, is safe from a process that was stopped, lost its lease and comes back.
   * Undefined for other toolsets, and for a call that uses leases of several calls.
   */
  readonly fence?: number | undefined;
  /** Fields that continue the call's trace in other requests: HTTP headers, or `_meta` in MCP. Undefined if not traced; see `haft/telemetry`. */
  readonly traceHeaders?: TraceHeaders | undefined;
  /** Whether the call is part of a simulation: nothing outside the session's own state may be changed. */
  readonly simulated: boolean;
  /**
   * The session's earlier calls, oldest first: those that had ended when the batch began and, for an engine with `order: "sequential"`, the earlier
   * calls of the batch. For a session in a store, only those whose events are in memory (see `Session.history`). Created on first use.
   */
  readonly history: readonly HistoryEntry[];
  /** When this attempt times out, on the runtime's monotonic clock; `Infinity` = no limit. */
  readonly deadline: number;
  /** The session's state, private to this tool's toolset. Changes by calls of a voided message, or of a batch that was rolled back, are reverted. */
  readonly state: ToolState;
  /** Like `state`, but private to this tool: `session.state("toolset::tool", key)` reads it. */
  readonly toolState: ToolState;
  /**
   * Whether the model still sees the result of an earlier call of the session, or of one in the same message. False once the call's message was
   * voided, its batch rolled back, or the result trimmed, superseded or dropped with an old turn from the model's history. A tool that remembers what
   * it has shown keeps the `callId` with it, and checks here before it relies on it.
   *
   * The history is the one passed as `shown` with these calls, as a loop does; without it, no result counts as trimmed.
   */
  readonly isShown: (callId: string) => boolean;
  /** The data that the program gave to the runtime or to this `execute` for handlers, such as a user or a database. */
  readonly data: Readonly<Record<string, unknown>>;
  /**
   * A value set by the caller that engines with generated answers mix into their seed, so that the same call can get another answer. `""` if not set.
   */
  readonly variation?: string;
  /**
   * Asks a person, through the caller; the call's time keeps running. Resolves to `cancel` in a simulation, where no one can be asked, after the call
   * has ended, and for content that the question's `schema` does not allow. Fields that were left out have their `default`. Never rejects.
   *
   * @param asker the name of the asker, if not the tool itself
   */
  readonly ask: (question: Question, asker?: string) => Promise<QuestionAnswer>;
  /**
   * Makes calls as part of this one: in its session or branch, with its caller's rights, cancelled with it, and simulated if it is simulated. Each is
   * checked, approved, locked, retried and recorded like any other. Results are complete, even if a model sees less of them. In a session, calls of a
   * composite tool (`Tool.composite`) are remembered: if it is run again after a crash, the same calls in the same order get their first results.
   *
   * @throws ToolError `invalid_argument` after the call has ended, and as `execute` of the session, as a rejection
   */
  readonly execute: CallTools;
  /** Reports progress to listeners. Ignored after the call has ended. */
  readonly progress: (update: ProgressUpdate) => void;
  /**
   * Writes output to show while the call runs, such as the lines of a build: passed to listeners, and kept for a background job, to be read by
   * position. Bytes are UTF-8; a character may be split over writes, and is dropped if its end is never written. Ignored after the call has ended.
   */
  readonly output: (text: string | Uint8Array) => void;
  /**
   * Sets the output so far. If the call is cancelled or times out, its result has the latest one as output, with the error. JSON, or a `ToolOutput`
   * with output and metadata; other values are dropped. Ignored after the call has ended.
   */
  readonly partial: (output: unknown) => void;
  /** Writes a debug line to the log of the runtime, with the id of the call and the name of the tool. */
  readonly log: (message: string, fields?: LogFields) => void;
}

/** Makes calls: one call returns its result, an array returns an array in the same order. */
export interface CallTools {
  (call: ToolCall, options?: NestedCallOptions): Promise<ToolResult>;
  (calls: readonly ToolCall[], options?: NestedCallOptions): Promise<readonly ToolResult[]>;
}

/** Options for the calls of a handler. */
export interface NestedCallOptions {
  /** Cancels these calls when it aborts. They are also cancelled when the handler's own call ends. */
  readonly signal?: AbortSignal;
  /** As in `execute`: true for background jobs, false to wait for results even if the tool's mode is `background`. */
  readonly background?: boolean;
}

/** The progress of a call. */
export interface ProgressUpdate {
  readonly message?: string;
  readonly done?: number;
  readonly total?: number;
}

/** Session state: immutable values by key, changed only by a function of the previous value. */
export interface ToolState {
  get(key: string): JsonValue | undefined;
  /**
   * Replaces the value of `key` with what `change` returns; `undefined` deletes it. Synchronous, so without races. Throws once the attempt has ended.
   */
  update(key: string, change: (before: JsonValue | undefined) => JsonValue | undefined): void;
}
