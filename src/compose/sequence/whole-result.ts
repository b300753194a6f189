import type { JsonValue } from "../../core/base/json.ts";
import { partText, type ToolResult } from "../../core/result.ts";
import type { WholeResult } from "../../policy/results/large-result-store.ts";
import type { RuntimeSession } from "../../runtime/runtime-session.ts";

/** Returns the whole answer of a call whose result was cut, or why it is not kept. @param session undefined if the result has all that is kept */
export function wholeResult(session: RuntimeSession | undefined, { name, output, content, truncation }: ToolResult): WholeResult | string {
  if (truncation === undefined || (output !== undefined && content !== undefined)) return { output, content };
  const { handle, shownBytes, totalBytes } = truncation;
  const whole = handle === undefined ? undefined : session?.wholeResult(handle);
  return whole ?? `the output of ${name} was cut to ${shownBytes} of ${totalBytes} bytes, and the rest is not kept`;
}

/** The answer that code uses: the output, even if it is null, or the text of an answer with content only. */
export function answerOf({ output, content }: Partial<WholeResult>): JsonValue | undefined {
  return output === undefined ? content?.map(partText).join("\n") : output;
}
