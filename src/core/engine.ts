/** The seam behind which calls are answered: local functions, an MCP server, a REST service, a model. */
import type { ToolContext } from "./context.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { Clock, Log } from "./ports.ts";
import type { Origin } from "./result.ts";
import type { Tool } from "./tool.ts";

/** Answers the calls of a toolset: the seam behind which a tool may be anything. */
export interface Engine {
  /** The kind, as in a config file: `local`, `mcp`. */
  readonly kind: string;
  /** `sequential`: a call starts when every earlier call of its batch has settled. @default "parallel" */
  readonly order?: "parallel" | "sequential";
  /** Answers differ by the principal of a call: results in a cache are kept for each principal by itself. @default false */
  readonly perUser?: boolean;
  /**
   * Where it keeps what it remembers of a session. `value`: in `context.state` only, which forks, rolls back and is stored with
   * the session. `remote`: in a place of its own (a browser, a shell): in a branch only reads reach it, unless it has
   * `forkSession`. @default "none"
   */
  readonly state?: "none" | "value" | "remote";
  /**
   * Its calls change nothing but the session's state, so a simulated one runs like any other. Where `origin` is not live either, its
   * calls wait for no call of another session, whatever effects their tools declare. @default false
   */
  readonly effectFree?: boolean;
  /** The origin that the results of its calls carry. @default "live" */
  readonly origin?: Origin;
  /**
   * Connects and, where the engine brings its own tools, returns them. Called once before any call.
   * Rejects when the engine cannot be used; the signal aborts when opening takes too long.
   */
  open?(context: EngineContext): Promise<readonly Tool[]>;
  /**
   * Lists its tools again; they replace those of `open` as a whole. Called while open: at a refresh, and after
   * `EngineContext.changed`. Rejecting leaves the tools as they are.
   */
  list?(signal: AbortSignal): Promise<readonly Tool[]>;
  /**
   * Answers one attempt of one call: returns the output, a `ToolOutput`, a `RemoteJob`, or a promise of one of them.
   * Throws `ToolError` to choose code, retryability and outcome; anything else is `execution_failed`.
   */
  call(request: EngineRequest, context: ToolContext): unknown;
  /**
   * Asks for work that `call` handed over as a `RemoteJob` of this id, in a process that has ended since. As `call` in everything else;
   * the request is that of the call which began the work. Without it, such a call is treated as one that was cut off.
   *
   * Throws ToolError `not_found` where there is no such work any more: the call is then made again if it may be repeated, and ends
   * `outcome_unknown` otherwise.
   */
  attach?(remoteId: string, request: EngineRequest, context: ToolContext): unknown;
  /**
   * Answers a call of a simulation that would write, without touching the world; without it the stand-in answers.
   * As `call` in everything else.
   */
  simulate?(request: EngineRequest, context: ToolContext): unknown;
  /** Begins with a session, once, before its first call. Rejecting ends the call as `unavailable`; the next call tries again. */
  openSession?(session: EngineSession): void | Promise<void>;
  /** Ends with a session that was opened, once. */
  closeSession?(sessionId: string): void | Promise<void>;
  /** Copies what it remembers of one session for a branch, as it is at the moment of this call; `openSession` is not called for the branch. */
  forkSession?(sessionId: string, branchId: string): void | Promise<void>;
  /** Returns the state of a session, as JSON, for a snapshot; `openSession` is given it back. */
  snapshotSession?(sessionId: string): JsonValue | Promise<JsonValue>;
  /** Releases everything `open` took. Idempotent; never called while a call is under way, unless time ran out. */
  close?(): Promise<void>;
}

/** The context that an engine is opened with. */
export interface EngineContext {
  /** The toolset the engine serves. */
  readonly toolset: string;
  /** How long it may take to open, in milliseconds: what it opens again later has as long. 0 = no limit. */
  readonly openTimeoutMs?: number;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  /** Says that the tools it brings may have changed: `list` is called soon, once for several changes. Does nothing after `close`. */
  changed(): void;
}

/** A call as an engine is given it: checked, and allowed to run. */
export interface EngineRequest {
  readonly tool: Tool;
  /** The validated input as JSON, deeply frozen. */
  readonly input: JsonObject;
  /** The input as the tool's own schema library parsed it; the same object as `input` where there is none. */
  readonly parsed: unknown;
  /** The definition of another tool that the session's history names, by its qualified name; undefined where there is none any more. */
  readonly toolNamed?: (qualifiedName: string) => Tool | undefined;
}

/** A session as an engine sees it. */
export interface EngineSession {
  readonly sessionId: string;
  /** Aborts when the call that needs the session is cancelled. */
  readonly signal: AbortSignal;
  /** The `setup` that the program gives the session: see `SessionStart.setup`. Frozen; empty where there is none. */
  readonly setup: Readonly<Record<string, unknown>>;
  /** The value that `snapshotSession` gave, when the session is restored from a snapshot. */
  readonly snapshot?: JsonValue;
}
