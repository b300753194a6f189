/** Tells tools that are only described from those that something can run. */
import { ToolError } from "./error.ts";
import type { Tool } from "./tool.ts";

/** Handlers that replace a missing one, and the reason why it is missing. */
const REASONS = new WeakMap<object, string>();

/** A handler for a tool that has none: each call of it ends `not_executable` with the reason, and simulations know that nothing would run. */
export function missingHandler(reason: string): () => never {
  const refuse = (): never => {
    throw new ToolError("not_executable", reason);
  };
  REASONS.set(refuse, reason);
  return refuse;
}

/** The error that ends each call of a tool without a handler, unless an engine answers it. */
export function noHandler(tool: Pick<Tool, "name" | "execute">): ToolError {
  const reason = tool.execute === undefined ? undefined : REASONS.get(tool.execute);
  if (reason !== undefined) return new ToolError("not_executable", reason);
  return new ToolError("not_executable", `The tool ${JSON.stringify(tool.name)} has no handler: it is described here and run elsewhere.`, {
    operatorHint: "Give it an execute function, or put it in a toolset whose engine answers its calls.",
  });
}

/** Why no handler of the tool can run; undefined when it has one. Whether an engine answers instead is not looked at. */
export function whyNoHandler({ execute }: Pick<Tool, "execute">): string | undefined {
  return execute === undefined ? "it has no handler" : REASONS.get(execute);
}
