/** The table of a list, with keyboard navigation between its rows. */
import type { ReactNode } from "react";
import { useListKeys } from "./use-list-keys.ts";

interface ListTableProps {
  readonly columns: readonly (readonly [name: string, className?: string])[];
  /** The rows, whose links have `data-row`. */
  readonly children: ReactNode;
}

export function ListTable({ columns, children }: ListTableProps): ReactNode {
  const keys = useListKeys();
  return (
    <div className="table-frame">
      <table className="table" onKeyDown={keys}>
        <thead>
          <tr>
            {columns.map(([name, className]) => (
              <th key={name} scope="col" className={className}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
