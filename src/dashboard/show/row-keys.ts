/** The keys of a list of rows: up, down, first, last, open. */
import type { KeyboardEvent } from "react";

const PAGE = 10;

/** Returns the row that a key moves to; undefined for other keys. */
function rowAfterKey(key: string, row: number, rows: number): number | undefined {
  const last = rows - 1;
  const clamp = (index: number): number => Math.max(0, Math.min(last, index));
  if (key === "ArrowDown" || key === "j") return clamp(row + 1);
  if (key === "ArrowUp" || key === "k") return clamp(row - 1);
  if (key === "PageDown") return clamp(row + PAGE);
  if (key === "PageUp") return clamp(row - PAGE);
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}

export interface RowKeys {
  readonly row: number;
  readonly rows: number;
  readonly onMove: (row: number) => void;
  readonly onOpen: (row: number) => void;
}

export function handleRowKey(event: KeyboardEvent, { row, rows, onMove, onOpen }: RowKeys): void {
  if (event.ctrlKey || event.metaKey || event.altKey || rows === 0) return;
  const next = rowAfterKey(event.key, row, rows);
  if (next !== undefined) onMove(next);
  else if (event.key === "Enter" && row >= 0) onOpen(row);
  else return;
  event.preventDefault();
}
