/** Keeps a large answer whole for programs and `read_result`, and shows the model as much as its limit allows. */
import { truncateResult } from "../policy/truncate-result.ts";
import type { CallRun, StepEnd } from "./call-run.ts";
import { toolOf } from "./resolve-tool.ts";

export function limitSize(run: CallRun): StepEnd {
  const { maxResultBytes } = toolOf(run).settings;
  if (maxResultBytes === 0) return undefined;
  let handle: string | undefined;
  const shown = truncateResult(run.output, run.content, maxResultBytes, () => {
    handle ??= run.parts.keeper.keep(run.turn.session.id, run.callId, run.output, run.content);
    return `read the rest with read_result {"handle": "${handle}"}`;
  });
  if (!shown.cut) return undefined;
  run.output = shown.output;
  run.content = shown.content;
  run.truncation = { handle, totalBytes: shown.totalBytes, shownBytes: shown.shownBytes };
  return undefined;
}
