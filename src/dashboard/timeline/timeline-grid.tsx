/** The rows of a timeline: a treegrid that only renders the rows in view. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { handleRowKey } from "../show/row-keys.ts";
import { zoomAfterKey } from "./zoom-keys.ts";
import { CallRow } from "./call-row.tsx";
import { MessageRow } from "./message-row.tsx";
import { useVisibleRows } from "./use-visible-rows.ts";
import type { Row } from "./row-tree.ts";
import type { SessionLog } from "./session-log.ts";
import type { TimeAxis } from "./time-axis.ts";
import type { Zoom } from "./row-props.ts";

export interface GridProps {
  readonly rows: readonly Row[];
  readonly version: number;
  readonly axis: TimeAxis;
  readonly now: number;
  readonly zoom: Zoom;
  readonly log: SessionLog;
  readonly callId: string | undefined;
  readonly isFollowing: boolean;
  readonly onOpen: (id: string) => void;
  readonly onZoom: (zoom: Zoom) => void;
  readonly onFollow: () => void;
  readonly linkTo: (id: string) => string;
}

const ROW_HEIGHT = 32;

export function TimelineGrid(props: GridProps): ReactNode {
  const { rows, version, callId, isFollowing } = props;
  const frame = useRef<HTMLDivElement>(null);
  const [row, setRow] = useActiveRow(rows, version, callId);
  const { indexes, slots, scrollTo } = useVisibleRows(frame, { count: rows.length, rowHeight: ROW_HEIGHT });
  useEffect(() => {
    if (isFollowing && rows.length > 0) scrollTo(rows.length - 1);
  }, [isFollowing, rows.length, scrollTo]);
  useEffect(() => {
    if (row >= 0 && !isFollowing) scrollTo(row);
    // Runs when another row is chosen, not while the grid is scrolled.
  }, [row, isFollowing, scrollTo]);
  return (
    <div
      ref={frame}
      className="grid"
      role="treegrid"
      aria-label="Calls"
      aria-rowcount={rows.length}
      aria-readonly="true"
      aria-activedescendant={row < 0 ? undefined : `row-${row}`}
      tabIndex={0}
      onKeyDown={(event) => handleKey(event, props, row, setRow)}
    >
      <div className="grid-rows" role="rowgroup" style={{ height: rows.length * ROW_HEIGHT }}>
        {indexes.map((index) => {
          const one = rows[index];
          // The elements of rows that left the view are reused for rows that entered it.
          return one === undefined ? null : (
            <GridRow
              key={index % slots}
              {...props}
              row={one}
              index={index}
              top={index * ROW_HEIGHT}
              isActive={index === row}
              onChoose={() => setRow(index)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Returns the active row, which is first the row of the call in the address, and a function that sets it. */
function useActiveRow(rows: readonly Row[], version: number, callId: string | undefined): readonly [number, (row: number) => void] {
  const [row, setRow] = useState(-1);
  const found = useMemo(
    () => (callId === undefined ? -1 : rows.findIndex(({ entry }) => entry.id === callId)),
    [rows, version, callId], // the rows of a log are a single array, which grows
  );
  useEffect(() => {
    if (found >= 0) setRow(found);
  }, [found]);
  return [Math.min(row, rows.length - 1), setRow];
}

function handleKey(event: KeyboardEvent, props: GridProps, row: number, setRow: (row: number) => void): void {
  const { rows, callId, onOpen, onFollow, onZoom, zoom } = props;
  const openRow = (index: number): void => {
    const entry = rows[index]?.entry;
    if (entry?.kind === "call") onOpen(entry.id);
  };
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "f") return onFollow();
  const part = zoomAfterKey(event.key, zoom);
  if (part !== undefined) return onZoom(part);
  const move = (next: number): void => {
    setRow(next);
    if (callId !== undefined) openRow(next); // the panel follows the row
  };
  handleRowKey(event, { row, rows: rows.length, onMove: move, onOpen: openRow });
}

interface GridRowProps extends GridProps {
  readonly row: Row;
  readonly index: number;
  readonly top: number;
  readonly isActive: boolean;
  readonly onChoose: () => void;
}

function GridRow({ row: { entry, depth }, index, top, isActive, onChoose, ...props }: GridRowProps): ReactNode {
  const isOpen = entry.id === props.callId;
  const names = ["row", isActive ? "row-active" : "", isOpen ? "row-open" : "", entry.kind === "message" ? "row-message" : ""];
  return (
    <div
      id={`row-${index}`}
      role="row"
      className={names.filter((name) => name !== "").join(" ")}
      aria-level={depth + 1}
      aria-rowindex={index + 1}
      aria-selected={isOpen}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => {
        onChoose();
        if (entry.kind === "call") props.onOpen(entry.id);
      }}
    >
      {entry.kind === "call" ? <CallRow entry={entry} depth={depth} {...props} /> : <MessageRow entry={entry} {...props} />}
    </div>
  );
}
