/** The keyboard shortcuts of all screens, and the dialog that lists all shortcuts. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useGo } from "../show/address.ts";
import { Icon } from "../show/basic-components.tsx";
import { isTyping } from "../show/is-typing.ts";

const GO_PATHS: Readonly<Record<string, string>> = {
  s: "/sessions",
  a: "/approvals",
  t: "/tools",
  j: "/jobs",
  e: "/agents",
  c: "/schedules",
  p: "/processes",
  u: "/audit",
  h: "/health",
  f: "/file",
};
const SEQUENCE_MS = 3_000;

/** The id of the element around the screen. */
export const SCREEN_ID = "screen";

const KEYS: readonly (readonly [keys: readonly string[], says: string])[] = [
  [["g", "s"], "Sessions"],
  [["g", "a"], "Approvals"],
  [["g", "t"], "Tools"],
  [["g", "j"], "Jobs"],
  [["g", "e"], "Agents"],
  [["g", "c"], "Schedules"],
  [["g", "p"], "Processes"],
  [["g", "u"], "Audit"],
  [["g", "h"], "Health"],
  [["g", "f"], "File"],
  [["Ctrl", "K"], "Go to anything (also ⌘ K)"],
  [["/"], "Search or filter"],
  [["j"], "Next row (also ↓)"],
  [["k"], "Previous row (also ↑)"],
  [["Home"], "First row"],
  [["End"], "Last row"],
  [["Enter"], "Open the row"],
  [["Esc"], "Leave the field, close what is open"],
  [["f"], "Follow a live timeline"],
  [["w", "s"], "Zoom in, zoom out"],
  [["a", "d"], "Move earlier, later"],
  [["0"], "Show the whole time range"],
  [["?"], "This list"],
];

/** Whether nothing has the focus, or the screen as a whole. */
function isOutsideLists(focused: Element | null): boolean {
  return focused === document.body || focused?.id === SCREEN_ID;
}

/** The dialog that is open over the screen. */
export type ShownDialog = "none" | "keys" | "palette";

export function useShellKeys(): readonly [ShownDialog, (shown: ShownDialog) => void] {
  const [shown, setShown] = useState<ShownDialog>("none");
  const go = useGo();
  const goRef = useRef(go);
  goRef.current = go;
  useEffect(() => {
    let goPressedAt = -Infinity;
    const handleKeyDown = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
        event.preventDefault(); // the browser has a shortcut of its own for it
        if (document.querySelector("dialog[open]") === null) setShown("palette");
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector("dialog[open]") !== null) return; // the screen behind the dialog does not react
      const isAfterGo = event.timeStamp - goPressedAt < SEQUENCE_MS;
      goPressedAt = -Infinity;
      const path = Object.hasOwn(GO_PATHS, event.key) ? GO_PATHS[event.key] : undefined;
      if (isAfterGo && path !== undefined) {
        event.preventDefault();
        event.stopImmediatePropagation(); // the screen must not handle the key too
        goRef.current(path);
      } else if (event.key === "j" && isOutsideLists(document.activeElement)) {
        event.stopImmediatePropagation();
        document.querySelector<HTMLElement>("[data-row], [role=treegrid]")?.focus();
      } else if (event.key === "g") goPressedAt = event.timeStamp;
      else if (event.key === "?") setShown("keys");
      else if (event.key === "/") {
        event.preventDefault();
        document.querySelector<HTMLInputElement>("[data-search]")?.focus();
      }
    };
    window.addEventListener("keydown", handleKeyDown, { capture: true });
    return () => window.removeEventListener("keydown", handleKeyDown, { capture: true });
  }, []);
  return [shown, setShown];
}

export function KeysDialog({ onClose }: { readonly onClose: () => void }): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="keys-title" onClose={onClose}>
      <div className="dialog-head">
        <h2 id="keys-title">Keys</h2>
        <button type="button" className="button button-icon" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="close" />
        </button>
      </div>
      <dl className="keys">
        {KEYS.map(([keys, says]) => (
          <div key={says} className="keys-row">
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
