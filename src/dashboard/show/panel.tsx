/** The panel next to a list, with the details of the chosen row. */
import { useEffect, useImperativeHandle, useRef, type ReactNode, type Ref, type RefObject } from "react";
import { pathWithoutBase } from "./address.ts";
import { Icon } from "./basic-components.tsx";
import { isTyping } from "./is-typing.ts";

interface PanelProps {
  readonly label: string;
  /** The word for its subject in the label of the close button: "job". */
  readonly subject: string;
  readonly title: ReactNode;
  /** Shown between the title and the close button. */
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly ref?: Ref<HTMLElement | null>;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

export function Panel({ label, subject, title, actions, className = "", ref, onClose, children }: PanelProps): ReactNode {
  const frame = useRef<HTMLElement>(null);
  useImperativeHandle<HTMLElement | null, HTMLElement | null>(ref, () => frame.current, []);
  useRestoreFocus();
  useKeepFocus(frame);
  useEscape(frame, onClose);
  return (
    <aside ref={frame} className={`panel ${className}`} aria-label={label} tabIndex={-1}>
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

/** Keeps the focus in the panel when the element that has it is removed, such as a button that is no longer offered. */
function useKeepFocus(frame: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const { current } = frame;
    if (current === null) return;
    let last: Node | undefined;
    const noteFocus = ({ target }: FocusEvent): void => {
      last = target instanceof Node && current.contains(target) ? target : undefined;
    };
    const observer = new MutationObserver(() => {
      if (last === undefined || last.isConnected) return;
      last = undefined;
      if (document.activeElement === document.body) current.focus();
    });
    document.addEventListener("focusin", noteFocus);
    observer.observe(current, { childList: true, subtree: true });
    return () => {
      document.removeEventListener("focusin", noteFocus);
      observer.disconnect();
    };
  }, [frame]);
}

/** Closes the panel with Escape, wherever the focus is. In a field of the panel, Escape only leaves the field: its text would be lost. */
function useEscape(frame: RefObject<HTMLElement | null>, onClose: () => void): void {
  const latest = useRef(onClose);
  latest.current = onClose;
  useEffect(() => {
    const handleKeyDown = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing) return;
      if (document.querySelector("dialog[open]") !== null) return; // the key closes the dialog
      if (!isTyping(event)) latest.current();
      else if (event.target instanceof Node && frame.current?.contains(event.target) === true) frame.current.focus();
    };
    document.addEventListener("keydown", handleKeyDown);
    return () => document.removeEventListener("keydown", handleKeyDown);
  }, [frame]);
}
