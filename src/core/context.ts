/** What a handler is given besides its input. */
import type { QuestionAnswer, Question } from "./ask.ts";
import type { HistoryEntry } from "./history.ts";
import type { JsonValue } from "./base/json.ts";
import type { LogFields } from "./ports.ts";

export interface ToolContext {
  /** The runtime's id of the call; the same over all attempts. */
  readonly callId: string;
  /** The qualified name of the tool that was called. */
  readonly toolName: string;
  readonly sessionId: string;
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
  /** True when the call is tried without a trace: nothing outside the session's own state may be changed. */
  readonly simulated: boolean;
  /**
   * The session's calls before this one, the oldest first: those that had ended when the batch began, and for an engine with
   * `order: "sequential"` the earlier ones of the batch as well. Made when asked for.
   */
  readonly history: readonly HistoryEntry[];
  /** When this attempt ends, on the runtime's monotonic clock; `Infinity` = no limit. */
  readonly deadline: number;
  /** The session's state, private to this tool's toolset. What the calls of a voided message or of a batch that was rolled back changed is taken back. */
  readonly state: ToolState;
  /**
   * Whether the model still has the result of an earlier call of the session, or of one in the same message: false once its message was
   * voided, its batch rolled back, or the result trimmed, superseded or dropped with an old turn from the history that the model was
   * given. A tool that remembers what it showed keeps the `callId` beside it, and asks here before it relies on it.
   *
   * The history is the one given as `shown` with these calls, as a loop does; without it, nothing counts as trimmed.
   */
  readonly isShown: (callId: string) => boolean;
  /** What the program gave the runtime or this `execute` for its handlers, such as a user or a database. */
  readonly data: Readonly<Record<string, unknown>>;
  /**
   * Asks a person, through the caller; the call's time goes on meanwhile. Answers `cancel` in a simulation, where nobody
   * can be asked, and after the call has ended. Never rejects.
   *
   * @param asker who asks, if not the tool itself
   */
  readonly ask: (question: Question, asker?: string) => Promise<QuestionAnswer>;
  /** Tells listeners how far the call is. Ignored after the call has ended. */
  readonly progress: (update: ProgressUpdate) => void;
  readonly log: (message: string, fields?: LogFields) => void;
}

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
