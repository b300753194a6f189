/** Actions of the current screen, for the palette. */
import { useEffect, useRef } from "react";

export interface ScreenAction {
  readonly name: string;
  readonly run: () => void;
}

const offered = new Set<() => readonly ScreenAction[]>();

/** Offers actions while the component is mounted. */
export function useScreenActions(actions: readonly ScreenAction[]): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const give = (): readonly ScreenAction[] => latest.current;
    offered.add(give);
    return () => {
      offered.delete(give);
    };
  }, []);
}

export function screenActions(): readonly ScreenAction[] {
  return [...offered].flatMap((give) => give());
}
