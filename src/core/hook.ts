/** Code that looks at every call and every result, and may change or stop it. */
import type { ToolCall } from "./call.ts";
import type { OptionNames } from "./known-keys.ts";
import type { ToolResult } from "./result.ts";
import type { Tool } from "./tool.ts";

/** A command of a hook: a tool whose description and schema may be left out. Without a schema it takes any input. */
export interface HookCommand extends Omit<Tool, "description" | "inputSchema" | "execute"> {
  /** Its description for the prompt. @default nothing but its name */
  readonly description?: string;
  readonly inputSchema?: Tool["inputSchema"];
  readonly execute: NonNullable<Tool["execute"]>;
}

/** Watches, changes or refuses calls. */
export interface Hook {
  readonly name: string;
  /** Lower runs first; equal ones in the order given. @default 0 */
  readonly priority?: number;
  /**
   * How it behaves in a simulation. `run`: it leaves no trace of its own, or looks at `context.simulated`; `skip`: it is
   * left out. Said of neither, calls of a simulation are refused rather than run past it or through it.
   */
  readonly inSimulation?: "run" | "skip";
  /**
   * How a call continues whose hook throws or does not answer in time. `skip`: that is logged, and the call continues without it;
   * `stop`: the call ends as `vetoed`, and after it ran without its answer, for a hook that judges calls. @default "skip"
   */
  readonly onFailure?: "skip" | "stop";
  /** Longest time it may take for one call, in milliseconds. Integer ≥ 1. @default 10_000 */
  readonly timeoutMs?: number;
  /**
   * Commands that it adds for models, as tools of the toolset `commands`: models without tool calls write them in their text format, such as
   * `[/name …]`, all others call them. A name that a tool of the runtime has is refused when the runtime is made.
   */
  readonly commands?: readonly HookCommand[];
  /**
   * Before the name is resolved. Return a changed call, `{ veto: reason }` to stop it with that reason as the
   * model's result, or nothing to leave it. A hook that fails is skipped, unless its
   * `onFailure` says otherwise; an answer that is neither a call nor a veto stops the call.
   */
  beforeCall?(call: ToolCall, context: HookContext): HookDecision | Promise<HookDecision>;
  /**
   * Before the result is cut to size and recorded. Return nothing, or a whole changed result: an `output`, `content`,
   * `error` or `metadata` it lacks is gone. Which call it belongs to, its origin, attempts, time and repairs stay.
   * Not run for a name that is not a tool.
   *
   * A hook that gives what is no result is logged and skipped, as one that fails is, unless its `onFailure` says otherwise. When the call
   * is cancelled or its deadline passes before all hooks have seen its answer or its error, it ends without it. The partial output of a
   * call that was cancelled is shown to the hooks first.
   */
  afterCall?(result: ToolResult, context: HookContext): ToolResult | undefined | void | Promise<ToolResult | undefined | void>;
}

/** The names of all parts of a hook. */
export const HOOK_PARTS: OptionNames<Hook> = {
  name: true,
  priority: true,
  inSimulation: true,
  onFailure: true,
  timeoutMs: true,
  commands: true,
  beforeCall: true,
  afterCall: true,
};

/** The decision of a hook before a call: another call, a refusal, or nothing. */
export type HookDecision = ToolCall | { readonly veto: string } | undefined | void;

/** The facts of the call that a hook is given. */
export interface HookContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly simulated: boolean;
}
