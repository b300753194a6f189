/** The seam behind which calls are answered: local functions, an MCP server, a REST service, a model. */
import type { ToolContext } from "./context.ts";
import type { JsonObject } from "./json.ts";
import type { Log } from "./ports.ts";
import type { Tool } from "./tool.ts";

export interface Engine {
  /** The kind, as in a config file: `local`, `mcp`. */
  readonly kind: string;
  /** `sequential`: a call starts when every earlier call of its batch has settled. @default "parallel" */
  readonly order?: "parallel" | "sequential";
  /**
   * Connects and, where the engine brings its own tools, returns them. Called once before any call.
   * Rejects when the engine cannot be used; the signal aborts when opening takes too long.
   */
  open?(context: EngineContext): Promise<readonly Tool[]>;
  /**
   * Answers one attempt of one call: returns the output, a `ToolOutput`, or a promise of either.
   * Throws `ToolError` to choose code, retryability and outcome; anything else is `execution_failed`.
   */
  call(request: EngineRequest, context: ToolContext): unknown;
  /** Releases everything `open` took. Idempotent; never called while a call is under way, unless time ran out. */
  close?(): Promise<void>;
}

export interface EngineContext {
  /** The toolset the engine serves. */
  readonly toolset: string;
  readonly signal: AbortSignal;
  readonly log: Log;
}

export interface EngineRequest {
  readonly tool: Tool;
  /** The validated input as JSON, deeply frozen. */
  readonly input: JsonObject;
  /** What the tool's own schema library made of it; the same object as `input` where there is none. */
  readonly parsed: unknown;
}
