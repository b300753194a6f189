/** The seam for everything that answers calls: local functions, an MCP server, a REST service, a model. */
import type { ToolContext } from "./context.ts";
import type { JsonObject, JsonValue } from "./base/json.ts";
import type { ToolError } from "./error.ts";
import type { Clock, Log } from "./ports.ts";
import type { Origin } from "./result.ts";
import type { Tool } from "./tool.ts";

/** Answers the calls of a toolset. */
export interface Engine {
  /** The kind of engine, as in a configuration file: `local`, `mcp`. */
  readonly kind: string;
  /** `sequential`: a call starts when all earlier calls of its batch have settled. @default "parallel" */
  readonly order?: "parallel" | "sequential";
  /** Whether answers depend on the principal of a call: cached results are then kept separately for each principal. @default false */
  readonly perUser?: boolean;
  /**
   * Where the engine keeps a session's state. `value`: only in `context.state`, which is forked, rolled back and stored with the session. `remote`:
   * elsewhere (a browser, a shell): in a branch only reads reach it, unless the engine has `forkSession`. @default "none"
   */
  readonly state?: "none" | "value" | "remote";
  /**
   * Whether its calls change nothing but the session's state, so that a simulated call runs like any other. If `origin` is not live either, its calls
   * do not wait for calls of other sessions, whatever effects their tools declare. @default false
   */
  readonly effectFree?: boolean;
  /** The origin of the results of its calls. @default "live" */
  readonly origin?: Origin;
  /**
   * Connects and, if the engine provides its own tools, returns them. Called once, before any call. Rejects if the engine cannot be used; the signal
   * aborts when opening takes too long.
   */
  open?(context: EngineContext): Promise<readonly Tool[]>;
  /**
   * Lists the engine's tools again; they replace those of `open` completely. Called while open: at a refresh, and after `EngineContext.changed`.
   * Rejecting keeps the current tools.
   */
  list?(signal: AbortSignal): Promise<readonly Tool[]>;
  /**
   * Answers one attempt of a call: returns the output, a `ToolOutput`, a `RemoteJob`, or a promise of one of them. Throws `ToolError` to choose code,
   * retryability and outcome; anything else becomes `execution_failed`.
   */
  call(request: EngineRequest, context: ToolContext): unknown;
  /**
   * Continues work that `call` handed over as a `RemoteJob` with this id, in a process that has since ended. Otherwise like `call`; the request is
   * that of the call that started the work. Without this method, such a call is treated as interrupted.
   *
   * Throws ToolError `not_found` if the work no longer exists: the call is made again if it may be repeated, else it ends with `outcome_unknown`.
   */
  attach?(remoteId: string, request: EngineRequest, context: ToolContext): unknown;
  /**
   * Answers a simulated call that would write, without side effects; without this method the stand-in answers. Otherwise like `call`.
   */
  simulate?(request: EngineRequest, context: ToolContext): unknown;
  /** Opens a session, once, before its first call. Rejecting ends the call with `unavailable`; the next call tries again. */
  openSession?(session: EngineSession): void | Promise<void>;
  /** Closes a session that was opened, once. */
  closeSession?(sessionId: string): void | Promise<void>;
  /** Copies a session's current state for a branch; `openSession` is not called for the branch. */
  forkSession?(sessionId: string, branchId: string): void | Promise<void>;
  /** Returns a session's state as JSON for a snapshot; `openSession` gets it back. */
  snapshotSession?(sessionId: string): JsonValue | Promise<JsonValue>;
  /** Releases everything `open` acquired. Idempotent; never called while a call is running, unless time ran out. */
  close?(): Promise<void>;
}

/** The context that an engine is opened with. */
export interface EngineContext {
  /** The toolset the engine serves. */
  readonly toolset: string;
  /** How long opening may take, in milliseconds; reopening later has the same limit. 0 = no limit. */
  readonly openTimeoutMs?: number;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly clock: Clock;
  /** Reports that the engine's tools may have changed: `list` is called soon, once for several reports. Does nothing after `close`. */
  changed(): void;
  /** Reports that a connection to the engine's server has ended. */
  disconnected?(connection: EndedConnection): void;
}

/** A connection of an engine to its server that has ended. */
export interface EndedConnection {
  readonly durationMs: number;
  /** Facts about the server, as in `metadata.server` of its tools. */
  readonly server: JsonObject;
  /** Why it was lost; undefined if the engine closed it. */
  readonly error?: ToolError | undefined;
}

/** A call as an engine gets it: validated, and allowed to run. */
export interface EngineRequest {
  readonly tool: Tool;
  /** The validated input as JSON, deeply frozen. */
  readonly input: JsonObject;
  /** The input as parsed by the tool's own schema library; the same object as `input` without one. */
  readonly parsed: unknown;
  /**
   * Returns the definition of a tool in the session's history, by its qualified name, and of overloads the one that the input is meant for, or the
   * first without an input; undefined if it no longer exists.
   */
  readonly findTool?: (qualifiedName: string, input?: unknown) => Tool | undefined;
}

/** A session as an engine sees it. */
export interface EngineSession {
  readonly sessionId: string;
  /** Aborts when the call that opens the session is cancelled. */
  readonly signal: AbortSignal;
  /** The `setup` that the program gave the session: see `SessionStart.setup`. Frozen; empty if there is none. */
  readonly setup: Readonly<Record<string, unknown>>;
  /** The value that `snapshotSession` returned, if the session is restored from a snapshot. */
  readonly snapshot?: JsonValue;
}
