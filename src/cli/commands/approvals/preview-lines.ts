/** Formats the preview of a call as lines for a terminal. */
import type { ApprovalPreview, PreviewedChange } from "../../../core/approvals/approval-preview.ts";
import { plural } from "../../../core/base/wording.ts";
import { formatChanges } from "../../print/print-simulation.ts";
import { toOneLine, safeText } from "../../terminal/terminal-text.ts";

const WIDTH = 100;
const MAX_LINES = 20;

export function previewLines(preview: ApprovalPreview): readonly string[] {
  if (!preview.available) return [`It is not known what it would change: ${toOneLine(preview.reason, Infinity).replace(/\.$/u, "")}.`];
  const { state, calls, writes, answer = "", isCut } = preview;
  const lines = [
    ...formatPart("state that would change", changesOf(state, isCut === true)),
    ...formatPart("would write", writes.map(safeText)),
    ...formatPart(
      "calls that it would make",
      calls.map(({ toolName, input, outcome }) => toOneLine(`${toolName} ${JSON.stringify(input)} ${outcome}`, WIDTH)),
    ),
    ...formatPart("would answer", answer === "" ? [] : answer.split(/\r\n|[\n\r]/u).map(safeText)),
  ];
  if (lines.length === 0) lines.push("It would change nothing.");
  return isCut === true ? [...lines, "Parts were left out: it is too long."] : lines;
}

function changesOf(state: readonly PreviewedChange[], isCut: boolean): readonly string[] {
  if (!isCut)
    return formatChanges(
      state.map((change) => ({ ...change, before: change.before, after: change.after })),
      WIDTH,
    );
  return state.flatMap(({ toolset, key, patch }) =>
    patch.map(({ op, path }) => `${safeText(toolset)} ${toOneLine(key + path, WIDTH)}: ${op}`),
  );
}

function formatPart(title: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  const hidden = lines.length - MAX_LINES;
  const shown = lines.slice(0, MAX_LINES).map((line) => `  ${line}`);
  return hidden > 0 ? [title, ...shown, `  … and ${plural(hidden, "more line")}`] : [title, ...shown];
}
