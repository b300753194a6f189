/** Code that looks at every call and every result, and may change or stop it. */
import type { ToolCall } from "./call.ts";
import type { ToolResult } from "./result.ts";

export interface Hook {
  readonly name: string;
  /** Lower runs first; equal ones in the order given. @default 0 */
  readonly priority?: number;
  /**
   * Before the name is resolved. Return a changed call, `{ veto: reason }` to stop it with that reason as the
   * model's result, or nothing to leave it. A hook that throws is logged and skipped.
   */
  beforeCall?(call: ToolCall, context: HookContext): HookDecision | Promise<HookDecision>;
  /** Before the result is recorded. Return a changed result or nothing. Not run for calls that never began. */
  afterCall?(result: ToolResult, context: HookContext): ToolResult | undefined | void | Promise<ToolResult | undefined | void>;
}

export type HookDecision = ToolCall | { readonly veto: string } | undefined | void;

export interface HookContext {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
}
