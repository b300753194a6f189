/** Keeps a large answer whole for programs and `read_result`, and shows the model as much as its limit allows. */
import type { JsonValue } from "../core/base/json.ts";
import type { ToolResult } from "../core/result.ts";
import { truncateResult } from "../policy/truncate-result.ts";
import type { CallRun } from "./call-run.ts";
import { READ_RESULT } from "../registry/read-result-tool.ts";
import { isVisible } from "../registry/visible-tool.ts";

/** The fields of a result that is being made. */
export type Shown = { -readonly [Key in "output" | "content" | "truncation"]?: ToolResult[Key] };

/** Cuts what the result shows. The whole is kept only in a session: without one, nobody could come back for it. */
export function limitSize(run: CallRun, maxResultBytes: number, result: Shown): void {
  if (maxResultBytes === 0) return;
  let handle: string | undefined;
  const shown = truncateResult(result.output, result.content, maxResultBytes, () => {
    if (!run.turn.session.keepsResults) return ASK_FOR_LESS;
    handle ??= keepWhole(run, result);
    if (!isVisible(run.parts.registry, READ_RESULT, run.options.visibility)) return ASK_FOR_LESS;
    return `Read the rest with read_result {"handle": "${handle}"}`;
  });
  if (!shown.cut) return;
  if (shown.output !== undefined) result.output = frozen(shown.output);
  if (shown.content !== undefined) result.content = Object.freeze(shown.content.map((part) => Object.freeze({ ...part })));
  result.truncation = Object.freeze({ handle, totalBytes: shown.totalBytes, shownBytes: shown.shownBytes });
}

/** What was cut is made anew, as far as the cut reaches. */
function frozen(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) frozen(item);
  return Object.freeze(value);
}

const ASK_FOR_LESS = "ask for less at a time";

/** In memory for as long as there is room, and where a store has the session, in its log for good. */
function keepWhole(run: CallRun, { output, content }: Shown): string {
  const { session } = run.turn;
  if (run.kept && session.eventLog !== undefined) {
    const whole = { ...(output === undefined ? {} : { output }), ...(content === undefined ? {} : { content }) };
    const event = Object.freeze({ ...run.eventBase, type: "output-keep", ...whole } as const);
    session.recordOutput(event);
    run.emit(event);
  }
  return run.parts.keeper.keep(session.id, run.callId, output, content);
}
