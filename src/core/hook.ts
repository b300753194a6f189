/** Code that looks at every call and every result, and may change or stop it. */
import type { ToolCall } from "./call.ts";
import type { OptionNames } from "./known-keys.ts";
import type { ToolResult } from "./result.ts";
import type { Tool } from "./tool.ts";

/** A command of a hook: a tool whose description and schema are optional. Without a schema it accepts any input. */
export interface HookCommand extends Omit<Tool, "description" | "inputSchema" | "execute"> {
  /** The description for the prompt. @default only the name */
  readonly description?: string;
  readonly inputSchema?: Tool["inputSchema"];
  readonly execute: NonNullable<Tool["execute"]>;
}

/** Watches, changes or refuses calls. */
export interface Hook {
  readonly name: string;
  /** Lower runs first; hooks of the same priority in the order given. @default 0 */
  readonly priority?: number;
  /**
   * Whether the hook runs in a simulation. `run`: it leaves no trace of its own, or checks `context.simulated`; `skip`: it is skipped. If left out,
   * simulated calls are refused.
   */
  readonly inSimulation?: "run" | "skip";
  /**
   * The consequence for a call if the hook throws or does not answer in time. `skip`: that is logged, and the call continues without the hook;
   * `stop`, for a hook that judges calls: the call ends as `vetoed`, without its answer if it had already run. @default "skip"
   */
  readonly onFailure?: "skip" | "stop";
  /** Maximum time for one call, in milliseconds. Integer ≥ 1. @default 10_000 */
  readonly timeoutMs?: number;
  /**
   * Commands that the hook provides for models, as tools of the toolset `commands`: models without tool calls write them in their text format, such
   * as `[/name …]`, all others call them. Creating the runtime fails if one of its tools has the same name.
   */
  readonly commands?: readonly HookCommand[];
  /**
   * Called before the name is resolved. Return a changed call, `{ veto: reason }` to stop the call with that reason as the model's result, or nothing
   * to leave it unchanged. A hook that fails is skipped, unless its `onFailure` says otherwise; any other answer stops the call.
   */
  beforeCall?(call: ToolCall, context: HookContext): HookDecision | Promise<HookDecision>;
  /**
   * Called before the result is truncated and recorded. Return nothing, or a complete changed result: an `output`, `content`, `error` or `metadata`
   * that it lacks is removed. Call, origin, attempts, duration and repairs cannot be changed. Not called for a name that is not a tool.
   *
   * A hook that returns something else than a result is logged and skipped, like one that fails, unless its `onFailure` says otherwise. If the call
   * is cancelled or its deadline passes before all hooks have seen its answer or error, it ends without these. The partial output of a cancelled call
   * is passed to the hooks first.
   */
  afterCall?(result: ToolResult, context: HookContext): ToolResult | undefined | void | Promise<ToolResult | undefined | void>;
}

export const HOOK_FIELDS: OptionNames<Hook> = {
  name: true,
  priority: true,
  inSimulation: true,
  onFailure: true,
  timeoutMs: true,
  commands: true,
  beforeCall: true,
  afterCall: true,
};

/** The decision of a hook before a call: another call, a veto, or nothing. */
export type HookDecision = ToolCall | { readonly veto: string } | undefined | void;

/** The facts about the call that a hook gets. */
export interface HookContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly simulated: boolean;
}
