/** The whole answers of truncated calls outside of sessions, kept until the handler that made the call takes them. */
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import type { ToolResult } from "../../core/result.ts";

const wholeResults = new WeakMap<object, WholeResult>();

/** @param result the result that the handler gets; it may still be incomplete */
export function storeWholeResult(result: object, whole: WholeResult): void {
  wholeResults.set(result, whole);
}

/** Takes the whole answer that was kept for a result; undefined if there is none. */
export function takeWholeResult(result: ToolResult): WholeResult | undefined {
  const whole = wholeResults.get(result);
  wholeResults.delete(result);
  return whole;
}
