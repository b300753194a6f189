/** Keeps a large answer whole for programs and `read_result`, and shows the model as much as its limit allows. */
import type { ToolResult } from "../core/result.ts";
import { truncateResult } from "../policy/truncate-result.ts";
import type { CallRun } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

/** The fields of a result that is being made. */
export type Shown = { -readonly [Key in "output" | "content" | "truncation"]?: ToolResult[Key] };

/** Cuts what the result shows. The whole is kept only in a session: without one, nobody could come back for it. */
export function limitSize(run: CallRun, result: Shown): void {
  const { maxResultBytes } = toolOf(run).settings;
  if (maxResultBytes === 0) return;
  let handle: string | undefined;
  const shown = truncateResult(result.output, result.content, maxResultBytes, () => {
    if (!run.turn.session.keepsResults) return "ask for less at a time";
    handle ??= run.parts.keeper.keep(run.turn.session.id, run.callId, result.output, result.content);
    return `Read the rest with read_result {"handle": "${handle}"}`;
  });
  if (!shown.cut) return;
  if (shown.output !== undefined) result.output = shown.output;
  if (shown.content !== undefined) result.content = shown.content;
  result.truncation = { handle, totalBytes: shown.totalBytes, shownBytes: shown.shownBytes };
}
