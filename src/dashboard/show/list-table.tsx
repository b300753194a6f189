/** The table of a list: its rows are gone through by keys. */
import type { ReactNode } from "react";
import { useListKeys } from "./use-list-keys.ts";

/** @param head the header cells @param children the rows, whose links have `data-row` */
export function ListTable({ head, children }: { readonly head: ReactNode; readonly children: ReactNode }): ReactNode {
  const keys = useListKeys();
  return (
    <div className="table-frame">
      <table className="table" onKeyDown={keys}>
        <thead>
          <tr>{head}</tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
