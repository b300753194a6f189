import type { KeyboardEvent } from "react";
import { handleRowKey } from "./row-keys.ts";

/** Moves the focus between the rows of a table with the keys of a list. Rows are links that have `data-row`; they handle Enter themselves. */
export function useListKeys(): (event: KeyboardEvent<HTMLElement>) => void {
  return (event) => {
    const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
    const row = rows.findIndex((link) => link === document.activeElement);
    if (event.key === "Enter") return;
    handleRowKey(event, { row, rows: rows.length, onMove: (next) => rows[next]?.focus(), onOpen: () => {} });
  };
}
