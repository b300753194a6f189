/** One call as a row: its name, its state, its time as a bar. */
import { memo, type ReactNode } from "react";
import { ToolName } from "../show/untrusted-text.tsx";
import { formatDuration } from "../show/format.ts";
import { Bar } from "./bar.tsx";
import { callName, type CallEntry } from "./call-entry.ts";
import { ORIGIN_LABELS, describeCallState } from "./call-labels.ts";
import type { RowProps } from "./row-props.ts";

export const CallRow = memo(function CallRow({
  entry,
  depth,
  axis,
  now,
  zoom,
  log,
  linkTo,
}: RowProps & { readonly entry: CallEntry; readonly depth: number }): ReactNode {
  const { tone, text } = describeCallState(entry);
  const origin = entry.result?.origin;
  const ms = (entry.endedAt ?? now) - entry.at;
  return (
    <>
      <div role="gridcell" className={`cell-name indent-${Math.min(depth, 6)}`}>
        <span className={`origin origin-${origin ?? "open"}`} title={origin === undefined ? "has not ended" : ORIGIN_LABELS[origin].text}>
          {origin === undefined ? "○" : ORIGIN_LABELS[origin].mark}
          <span className="visually-hidden">{origin ?? "open"}</span>
        </span>
        <ToolName name={callName(entry)} />
        {tone !== "good" && (
          <span className={`state state-${tone}`} title={text}>
            {text}
          </span>
        )}
        {(entry.result?.repairs.length ?? 0) > 0 && (
          <span className="state state-warn" title="Its input was repaired">
            repaired
          </span>
        )}
      </div>
      <div role="gridcell" className="cell-bar">
        <Bar entry={entry} axis={axis} now={now} zoom={zoom} log={log} linkTo={linkTo} />
      </div>
      <div role="gridcell" className="cell-time number">
        {log.isTimeless ? "" : formatDuration(Math.max(0, entry.result?.durationMs ?? ms))}
      </div>
    </>
  );
});
