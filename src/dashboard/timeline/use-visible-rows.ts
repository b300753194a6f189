/** The rows of a scrolling frame that are in view, and a few above and below. All rows have the same height. */
import { useCallback, useLayoutEffect, useState, type RefObject } from "react";
import { flushSync } from "react-dom";

const OVERSCAN_ROWS = 4;

interface View {
  /** The first visible row, and the number of rows that fit. */
  readonly first: number;
  readonly room: number;
}

interface VisibleRows {
  readonly indexes: readonly number[];
  /** No two of the rows have the same index modulo this. */
  readonly slots: number;
  /** Scrolls as little as possible to show a row. */
  readonly scrollTo: (index: number) => void;
}

export function useVisibleRows(
  frame: RefObject<HTMLElement | null>,
  { count, rowHeight }: { readonly count: number; readonly rowHeight: number },
): VisibleRows {
  const [view, setView] = useState<View>({ first: 0, room: 0 });
  useLayoutEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const updateView = (): void =>
      setView((last) => {
        const first = Math.floor(element.scrollTop / rowHeight);
        const room = Math.ceil(element.clientHeight / rowHeight) + 1;
        return first === last.first && room === last.room ? last : { first, room };
      });
    const updateViewNow = (): void => flushSync(updateView); // in the frame that shows the new scroll position
    const sizes = new ResizeObserver(updateView);
    updateView();
    sizes.observe(element);
    element.addEventListener("scroll", updateViewNow, { passive: true });
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", updateViewNow);
    };
  }, [frame, rowHeight]);
  const scrollTo = useCallback(
    (index: number) => {
      const element = frame.current;
      if (element === null) return;
      const top = index * rowHeight;
      if (top < element.scrollTop) element.scrollTop = top;
      else element.scrollTop = Math.max(element.scrollTop, top + rowHeight - element.clientHeight);
    },
    [frame, rowHeight],
  );
  const first = Math.max(0, Math.min(view.first, count - view.room) - OVERSCAN_ROWS);
  const after = Math.min(count, view.first + view.room + OVERSCAN_ROWS);
  const indexes = Array.from({ length: Math.max(0, after - first) }, (_, index) => first + index);
  return { indexes, slots: view.room + 2 * OVERSCAN_ROWS, scrollTo };
}
