/** Tells tools that are only described from those that something can run. */
import { ToolError } from "./error.ts";
import type { Tool } from "./tool.ts";

/** Handlers that stand for one that is missing, and why it is. */
const REASONS = new WeakMap<object, string>();

/** A handler for a tool that has none: each call of it ends `not_executable` with the reason, and simulations know that nothing would run. */
export function missingHandler(reason: string): () => never {
  const refuse = (): never => {
    throw new ToolError("not_executable", reason);
  };
  REASONS.set(refuse, reason);
  return refuse;
}

/** Why no handler of the tool can run; undefined when it has one. Whether an engine answers instead is not looked at. */
export function whyNoHandler({ execute }: Pick<Tool, "execute">): string | undefined {
  return execute === undefined ? "it has no handler" : REASONS.get(execute);
}
