/** Distinguishes tools that are only described from those that can run. */
import { ToolError } from "../error.ts";
import type { Tool } from "../tool.ts";

/** The placeholder handlers, with the reason why the real handler is missing. */
const REASONS = new WeakMap<object, string>();

/** Returns a placeholder handler: each call of it ends with `not_executable` and the reason, and simulations know that nothing would run. */
export function createMissingHandler(reason: string): () => never {
  const refuse = (): never => {
    throw new ToolError("not_executable", reason);
  };
  REASONS.set(refuse, reason);
  return refuse;
}

/** Returns the error that ends each call of a tool without a handler, unless an engine answers it. */
export function noHandlerError(tool: Pick<Tool, "name" | "execute">): ToolError {
  const reason = tool.execute === undefined ? undefined : REASONS.get(tool.execute);
  if (reason !== undefined) return new ToolError("not_executable", reason);
  return new ToolError("not_executable", `The tool ${JSON.stringify(tool.name)} has no handler: it is described here and run elsewhere.`, {
    operatorHint: "Give it an execute function, or put it in a toolset whose engine answers its calls.",
  });
}

/** Returns why the tool has no handler that can run; undefined if it has one. Does not check whether an engine answers instead. */
export function findNoHandlerReason({ execute }: Pick<Tool, "execute">): string | undefined {
  return execute === undefined ? "it has no handler" : REASONS.get(execute);
}
