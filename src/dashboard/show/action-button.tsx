import type { ReactNode } from "react";

interface ActionButtonProps {
  /** Classes besides `button`. */
  readonly kind?: "button-main" | "button-danger" | "button-quiet" | "list-more";
  readonly type?: "button" | "submit";
  /** Whether it does nothing now, as its action runs or is not possible yet. */
  readonly isOff: boolean;
  readonly onClick?: () => void;
  readonly onBlur?: () => void;
  readonly children: ReactNode;
}

/** A button that keeps the focus while it is off. Browsers take the focus from an element that is disabled, and keyboard users lose their place. */
export function ActionButton({ kind, type = "button", isOff, onClick, onBlur, children }: ActionButtonProps): ReactNode {
  return (
    <button
      type={type}
      className={kind === undefined ? "button" : `button ${kind}`}
      aria-disabled={isOff}
      onBlur={onBlur}
      onClick={(event) => {
        if (isOff) event.preventDefault(); // the form is not submitted
        else onClick?.();
      }}
    >
      {children}
    </button>
  );
}
