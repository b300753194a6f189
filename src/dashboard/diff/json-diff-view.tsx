/** Two JSON values side by side, with their differences marked by sign and colour. */
import { memo, useState, type ReactNode } from "react";
import { JsonLine } from "../show/untrusted-text.tsx";
import { formatPlural } from "../show/format.ts";
import { diffJsonLines, type DiffCell, type DiffRow } from "./json-diff.ts";

const FIRST_LINES = 400;

interface DiffViewProps {
  readonly before: unknown;
  readonly after: unknown;
  readonly label: string;
}

export const JsonDiffView = memo(function JsonDiffView({ before, after, label }: DiffViewProps): ReactNode {
  const [lines, setLines] = useState(FIRST_LINES);
  const { rows, isCut } = diffJsonLines(before, after, lines);
  return (
    <div className="json-diff" tabIndex={0} role="group" aria-label={label}>
      {rows.map((row, index) => (
        <Row key={index} row={row} />
      ))}
      {isCut && (
        <button type="button" className="button button-quiet" onClick={() => setLines(lines * 4)}>
          Show more
        </button>
      )}
    </div>
  );
});

function Row({ row }: { readonly row: DiffRow }): ReactNode {
  if (row.kind === "skip") return <div className="diff-skip">{formatPlural(row.lines, "line")} that both have</div>;
  if (row.kind === "same")
    return (
      <div className="diff-row">
        <Cell cell={row.cell} sign=" " />
        <span className="diff-twin" aria-hidden="true">
          <Cell cell={row.cell} sign=" " />
        </span>
      </div>
    );
  return (
    <div className="diff-row">
      <Cell cell={row.before} sign="−" />
      <Cell cell={row.after} sign="+" />
    </div>
  );
}

const CELL_CLASSES = { " ": "diff-cell", "−": "diff-cell diff-before", "+": "diff-cell diff-after" } as const;
const CELL_LABELS = { " ": "", "−": "before: ", "+": "after: " } as const;

function Cell({ cell, sign }: { readonly cell: DiffCell | undefined; readonly sign: keyof typeof CELL_CLASSES }): ReactNode {
  if (cell === undefined) return <span className="diff-cell diff-none" />;
  return (
    <span className={CELL_CLASSES[sign]}>
      <span className="diff-sign" aria-hidden="true">
        {sign}
      </span>
      <span className="visually-hidden">{CELL_LABELS[sign]}</span>
      <span className="diff-text" style={{ paddingInlineStart: `${Math.min(cell.depth, 20)}em` }}>
        <JsonLine text={cell.text} maxLength={4_100} />
      </span>
    </span>
  );
}
