/** Moves the focus between the links of a table's rows with the keys of a list. */
import type { KeyboardEvent } from "react";
import { handleRowKey } from "./row-keys.ts";

/** Rows are links that have `data-row`; Enter is theirs. */
export function useListKeys(): (event: KeyboardEvent<HTMLElement>) => void {
  return (event) => {
    const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-row]")];
    const row = rows.findIndex((link) => link === document.activeElement);
    if (event.key === "Enter") return;
    handleRowKey(event, { row, rows: rows.length, onMove: (next) => rows[next]?.focus(), onOpen: () => {} });
  };
}
