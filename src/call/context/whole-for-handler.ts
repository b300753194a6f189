/** The whole answers of calls outside of sessions that were cut for a model, until the handler that made the call has them. */
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import type { ToolResult } from "../../core/result.ts";

const wholes = new WeakMap<object, WholeResult>();

/** @param result what is given to the handler, also before it is complete */
export function keepForHandler(result: object, whole: WholeResult): void {
  wholes.set(result, whole);
}

/** Takes what was kept for a handler; undefined where nothing was. */
export function takeForHandler(result: ToolResult): WholeResult | undefined {
  const whole = wholes.get(result);
  wholes.delete(result);
  return whole;
}
