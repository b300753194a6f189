/** The panel next to a list, with the details of the chosen row. */
import { useEffect, useRef, type ReactNode, type Ref } from "react";
import { pathWithoutBase } from "./address.ts";
import { Icon } from "./basic-components.tsx";

interface PanelProps {
  readonly label: string;
  /** The word for its subject in the label of the close button: "job". */
  readonly subject: string;
  readonly title: ReactNode;
  /** Shown between the title and the close button. */
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly ref?: Ref<HTMLElement>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Panel({ label, subject, title, actions, className = "", ref, onClose, children }: PanelProps): ReactNode {
  useRestoreFocus();
  return (
    <aside
      ref={ref}
      className={`panel ${className}`}
      aria-label={label}
      tabIndex={-1}
      onKeyDown={({ key }) => key === "Escape" && onClose()}
    >
      <div className="panel-head">
        <h2>{title}</h2>
        {actions !== undefined && <div className="panel-actions">{actions}</div>}
        <button type="button" className="button button-icon" onClick={onClose} aria-label={`Close the ${subject}`}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </aside>
  );
}

/** Returns the focus to the panel's row in the list when the panel closes with the focus in it, unless another screen was opened. */
function useRestoreFocus(): void {
  const address = useRef("");
  useEffect(() => {
    address.current = pathWithoutBase();
  });
  useEffect(
    () => () => {
      const screenOf = (path: string): string | undefined => path.split("/")[1];
      if (document.activeElement !== document.body || screenOf(address.current) !== screenOf(pathWithoutBase())) return;
      const rows = [...document.querySelectorAll<HTMLAnchorElement>("a[data-row]")];
      const row = rows.find(({ pathname }) => pathWithoutBase(pathname) === address.current) ?? rows[0];
      (row ?? document.querySelector<HTMLElement>("[role=treegrid]") ?? document.getElementById("screen"))?.focus();
    },
    [],
  );
}
